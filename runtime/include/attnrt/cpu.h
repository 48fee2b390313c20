/* cpu.h - what this machine can run, for C99 on. SPDX-License-Identifier: Apache-2.0
 *
 * On x86-64 the processor is asked itself (cpuid), and the operating system through XCR0 whether it keeps the
 * registers from one thread to the next. On other machines only variants without features run. Asking takes
 * microseconds, and tens of them in a virtual machine. Where a program has this file twice, the first one
 * counts. */
#ifndef ATTNRT_CPU_H
#define ATTNRT_CPU_H

#include <stddef.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Whether this process may use what a processor may have. */
typedef enum attnrt_cpu_answer {
  ATTNRT_CPU_YES,
  ATTNRT_CPU_NO,
  ATTNRT_CPU_FORBIDDEN /* the processor has it, the system does not let this process use it */
} attnrt_cpu_answer;

#if defined(__x86_64__) && defined(__GNUC__)

/* Leaves of cpuid, the last one 7 with subleaf 1, and its words: eax, ebx, ecx, edx. */
enum {
  ATTNRT_CPU_LEAF_1,
  ATTNRT_CPU_LEAF_7,
  ATTNRT_CPU_LEAF_80000001,
  ATTNRT_CPU_LEAF_7_1,
  ATTNRT_CPU_LEAVES
};
enum { ATTNRT_CPU_EAX, ATTNRT_CPU_EBX, ATTNRT_CPU_ECX, ATTNRT_CPU_EDX, ATTNRT_CPU_WORDS };

enum {
  ATTNRT_CPU_AVX = 0x6,     /* bits of XCR0: registers of 32 bytes, */
  ATTNRT_CPU_AVX512 = 0xe6, /* of 64 bytes and of masks, */
  ATTNRT_CPU_AMX = 0x60000  /* and tiles */
};

typedef struct attnrt_cpu_feature {
  const char *name;    /* as in /proc/cpuinfo */
  int leaf, word, bit; /* of cpuid */
  unsigned saved;      /* bits of XCR0 that must be set */
} attnrt_cpu_feature;

/* What a processor and its system say. */
typedef struct attnrt_cpu {
  unsigned leaves[ATTNRT_CPU_LEAVES][ATTNRT_CPU_WORDS];
  unsigned saved; /* XCR0 */
} attnrt_cpu;

/* The feature called `name`, of `length` bytes; null where it is unknown. */
static inline const attnrt_cpu_feature *attnrt_cpu_find(const char *name, size_t length) {
  static const attnrt_cpu_feature features[] = {
      {"sse2", ATTNRT_CPU_LEAF_1, ATTNRT_CPU_EDX, 26, 0},
      {"pni", ATTNRT_CPU_LEAF_1, ATTNRT_CPU_ECX, 0, 0},
      {"ssse3", ATTNRT_CPU_LEAF_1, ATTNRT_CPU_ECX, 9, 0},
      {"fma", ATTNRT_CPU_LEAF_1, ATTNRT_CPU_ECX, 12, ATTNRT_CPU_AVX},
      {"sse4_1", ATTNRT_CPU_LEAF_1, ATTNRT_CPU_ECX, 19, 0},
      {"sse4_2", ATTNRT_CPU_LEAF_1, ATTNRT_CPU_ECX, 20, 0},
      {"movbe", ATTNRT_CPU_LEAF_1, ATTNRT_CPU_ECX, 22, 0},
      {"popcnt", ATTNRT_CPU_LEAF_1, ATTNRT_CPU_ECX, 23, 0},
      {"avx", ATTNRT_CPU_LEAF_1, ATTNRT_CPU_ECX, 28, ATTNRT_CPU_AVX},
      {"f16c", ATTNRT_CPU_LEAF_1, ATTNRT_CPU_ECX, 29, ATTNRT_CPU_AVX},
      {"bmi1", ATTNRT_CPU_LEAF_7, ATTNRT_CPU_EBX, 3, 0},
      {"avx2", ATTNRT_CPU_LEAF_7, ATTNRT_CPU_EBX, 5, ATTNRT_CPU_AVX},
      {"bmi2", ATTNRT_CPU_LEAF_7, ATTNRT_CPU_EBX, 8, 0},
      {"avx512f", ATTNRT_CPU_LEAF_7, ATTNRT_CPU_EBX, 16, ATTNRT_CPU_AVX512},
      {"avx512dq", ATTNRT_CPU_LEAF_7, ATTNRT_CPU_EBX, 17, ATTNRT_CPU_AVX512},
      {"avx512ifma", ATTNRT_CPU_LEAF_7, ATTNRT_CPU_EBX, 21, ATTNRT_CPU_AVX512},
      {"avx512cd", ATTNRT_CPU_LEAF_7, ATTNRT_CPU_EBX, 28, ATTNRT_CPU_AVX512},
      {"avx512bw", ATTNRT_CPU_LEAF_7, ATTNRT_CPU_EBX, 30, ATTNRT_CPU_AVX512},
      {"avx512vl", ATTNRT_CPU_LEAF_7, ATTNRT_CPU_EBX, 31, ATTNRT_CPU_AVX512},
      {"avx512vbmi", ATTNRT_CPU_LEAF_7, ATTNRT_CPU_ECX, 1, ATTNRT_CPU_AVX512},
      {"avx512_vbmi2", ATTNRT_CPU_LEAF_7, ATTNRT_CPU_ECX, 6, ATTNRT_CPU_AVX512},
      {"gfni", ATTNRT_CPU_LEAF_7, ATTNRT_CPU_ECX, 8, 0},
      {"avx512_vnni", ATTNRT_CPU_LEAF_7, ATTNRT_CPU_ECX, 11, ATTNRT_CPU_AVX512},
      {"avx512_bitalg", ATTNRT_CPU_LEAF_7, ATTNRT_CPU_ECX, 12, ATTNRT_CPU_AVX512},
      {"avx512_vpopcntdq", ATTNRT_CPU_LEAF_7, ATTNRT_CPU_ECX, 14, ATTNRT_CPU_AVX512},
      {"amx_bf16", ATTNRT_CPU_LEAF_7, ATTNRT_CPU_EDX, 22, ATTNRT_CPU_AMX},
      {"avx512_fp16", ATTNRT_CPU_LEAF_7, ATTNRT_CPU_EDX, 23, ATTNRT_CPU_AVX512},
      {"amx_tile", ATTNRT_CPU_LEAF_7, ATTNRT_CPU_EDX, 24, ATTNRT_CPU_AMX},
      {"amx_int8", ATTNRT_CPU_LEAF_7, ATTNRT_CPU_EDX, 25, ATTNRT_CPU_AMX},
      {"avx_vnni", ATTNRT_CPU_LEAF_7_1, ATTNRT_CPU_EAX, 4, ATTNRT_CPU_AVX},
      {"avx512_bf16", ATTNRT_CPU_LEAF_7_1, ATTNRT_CPU_EAX, 5, ATTNRT_CPU_AVX512},
      {"abm", ATTNRT_CPU_LEAF_80000001, ATTNRT_CPU_ECX, 5, 0},
      {"sse4a", ATTNRT_CPU_LEAF_80000001, ATTNRT_CPU_ECX, 6, 0},
  };
  for (size_t i = 0; i < sizeof features / sizeof *features; ++i)
    if (strlen(features[i].name) == length && !memcmp(features[i].name, name, length))
      return &features[i];
  return 0;
}

/* A leaf of cpuid; zeros where the processor has not so many. */
static inline void attnrt_cpu_read(unsigned leaf, unsigned subleaf, unsigned *words) {
  unsigned last = leaf & 0x80000000u, ebx, ecx = 0, edx;
  __asm__ volatile("cpuid" : "+a"(last), "=b"(ebx), "+c"(ecx), "=d"(edx));
  if (last < leaf)
    words[0] = words[1] = words[2] = words[3] = 0;
  else
    __asm__ volatile("cpuid"
                     : "=a"(words[0]), "=b"(words[1]), "=c"(words[2]), "=d"(words[3])
                     : "a"(leaf), "c"(subleaf));
}

static inline void attnrt_cpu_ask(attnrt_cpu *cpu) {
  const unsigned has_xgetbv = 1u << 27;
  unsigned high;
  attnrt_cpu_read(1, 0, cpu->leaves[ATTNRT_CPU_LEAF_1]);
  attnrt_cpu_read(7, 0, cpu->leaves[ATTNRT_CPU_LEAF_7]);
  attnrt_cpu_read(7, 1, cpu->leaves[ATTNRT_CPU_LEAF_7_1]);
  attnrt_cpu_read(0x80000001u, 0, cpu->leaves[ATTNRT_CPU_LEAF_80000001]);
  cpu->saved = 0;
  if (cpu->leaves[ATTNRT_CPU_LEAF_1][ATTNRT_CPU_ECX] & has_xgetbv)
    __asm__ volatile("xgetbv" : "=a"(cpu->saved), "=d"(high) : "c"(0));
}

/* Linux gives tiles to processes that ask for them, all of their threads included. Asked without the C
 * library, whose syscall() strict C does not declare. */
static inline int attnrt_cpu_may_use_tiles(void) {
#if defined(__linux__)
  const long arch_prctl = 158, request_permission = 0x1023, tile_data = 18;
  long result;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(arch_prctl), "D"(request_permission), "S"(tile_data)
                   : "rcx", "r11", "memory");
  return result == 0;
#else
  return 0;
#endif
}

/* Whether the processor has the feature called `name`, of `length` bytes, and the system saves its registers.
 */
static inline attnrt_cpu_answer attnrt_cpu_has(const attnrt_cpu *cpu, const char *name, size_t length) {
  const attnrt_cpu_feature *feature = attnrt_cpu_find(name, length);
  if (!feature || !(cpu->leaves[feature->leaf][feature->word] >> feature->bit & 1))
    return ATTNRT_CPU_NO;
  if ((cpu->saved & feature->saved) != feature->saved)
    return ATTNRT_CPU_FORBIDDEN;
  return feature->saved != ATTNRT_CPU_AMX || attnrt_cpu_may_use_tiles() ? ATTNRT_CPU_YES
                                                                        : ATTNRT_CPU_FORBIDDEN;
}

#else

typedef struct attnrt_cpu {
  int nothing;
} attnrt_cpu;

static inline void attnrt_cpu_ask(attnrt_cpu *cpu) { cpu->nothing = 0; }

static inline attnrt_cpu_answer attnrt_cpu_has(const attnrt_cpu *cpu, const char *name, size_t length) {
  (void)cpu, (void)name, (void)length;
  return ATTNRT_CPU_NO;
}

#endif

/* The place in `features` (names as in /proc/cpuinfo, separated by spaces) of the first that this process may
 * not use, with its length, and why not; null where it may use them all. Unknown ones count as lacking. */
static inline const char *attnrt_cpu_missing(const char *features, size_t *length, attnrt_cpu_answer *why) {
  attnrt_cpu cpu;
  attnrt_cpu_ask(&cpu);
  for (features += strspn(features, " "); *features; features += strspn(features, " ")) {
    *length = strcspn(features, " ");
    *why = attnrt_cpu_has(&cpu, features, *length);
    if (*why != ATTNRT_CPU_YES)
      return features;
    features += *length;
  }
  return 0;
}

/* Whether this process may use all of `features`: those of a variant of bundle.h, that its kernels can run.
 */
static inline int attnrt_cpu_runs(const char *features) {
  size_t length;
  attnrt_cpu_answer why;
  return !attnrt_cpu_missing(features, &length, &why);
}

#ifdef __cplusplus
}
#endif
#endif /* ATTNRT_CPU_H */
