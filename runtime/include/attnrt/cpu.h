/* cpu.h - what this machine can run. SPDX-License-Identifier: Apache-2.0
 *
 * On x86-64 the processor is asked itself (cpuid), and the operating system through XCR0 whether it keeps the
 * registers from one thread to the next. On other machines only variants without features run. */
#ifndef ATTNRT_CPU_H
#define ATTNRT_CPU_H

#include <stddef.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Whether this process may use what a processor may have. */
typedef enum attnrt_cpu_answer {
  ATTNRT_CPU_YES,
  ATTNRT_CPU_NO,
  ATTNRT_CPU_FORBIDDEN /* the processor has it, the system does not let this process use it */
} attnrt_cpu_answer;

#if defined(__x86_64__)

enum {
  ATTNRT_CPU_AVX = 0x6,     /* bits of XCR0: registers of 32 bytes, */
  ATTNRT_CPU_AVX512 = 0xe6, /* of 64 bytes and of masks, */
  ATTNRT_CPU_AMX = 0x60000  /* and tiles */
};

typedef struct attnrt_cpu_feature {
  const char *name;                  /* as in /proc/cpuinfo */
  unsigned leaf, subleaf, word, bit; /* of cpuid; words are eax, ebx, ecx, edx */
  unsigned saved;                    /* bits of XCR0 that must be set */
} attnrt_cpu_feature;

/* The feature called `name`, of `length` bytes; null where it is unknown. */
static inline const attnrt_cpu_feature *attnrt_cpu_find(const char *name, size_t length) {
  enum { eax, ebx, ecx, edx };
  static const attnrt_cpu_feature features[] = {
      {"sse2", 1, 0, edx, 26, 0},
      {"pni", 1, 0, ecx, 0, 0},
      {"ssse3", 1, 0, ecx, 9, 0},
      {"fma", 1, 0, ecx, 12, ATTNRT_CPU_AVX},
      {"sse4_1", 1, 0, ecx, 19, 0},
      {"sse4_2", 1, 0, ecx, 20, 0},
      {"movbe", 1, 0, ecx, 22, 0},
      {"popcnt", 1, 0, ecx, 23, 0},
      {"avx", 1, 0, ecx, 28, ATTNRT_CPU_AVX},
      {"f16c", 1, 0, ecx, 29, ATTNRT_CPU_AVX},
      {"bmi1", 7, 0, ebx, 3, 0},
      {"avx2", 7, 0, ebx, 5, ATTNRT_CPU_AVX},
      {"bmi2", 7, 0, ebx, 8, 0},
      {"avx512f", 7, 0, ebx, 16, ATTNRT_CPU_AVX512},
      {"avx512dq", 7, 0, ebx, 17, ATTNRT_CPU_AVX512},
      {"avx512ifma", 7, 0, ebx, 21, ATTNRT_CPU_AVX512},
      {"avx512cd", 7, 0, ebx, 28, ATTNRT_CPU_AVX512},
      {"avx512bw", 7, 0, ebx, 30, ATTNRT_CPU_AVX512},
      {"avx512vl", 7, 0, ebx, 31, ATTNRT_CPU_AVX512},
      {"avx512vbmi", 7, 0, ecx, 1, ATTNRT_CPU_AVX512},
      {"avx512_vbmi2", 7, 0, ecx, 6, ATTNRT_CPU_AVX512},
      {"gfni", 7, 0, ecx, 8, 0},
      {"avx512_vnni", 7, 0, ecx, 11, ATTNRT_CPU_AVX512},
      {"avx512_bitalg", 7, 0, ecx, 12, ATTNRT_CPU_AVX512},
      {"avx512_vpopcntdq", 7, 0, ecx, 14, ATTNRT_CPU_AVX512},
      {"amx_bf16", 7, 0, edx, 22, ATTNRT_CPU_AMX},
      {"avx512_fp16", 7, 0, edx, 23, ATTNRT_CPU_AVX512},
      {"amx_tile", 7, 0, edx, 24, ATTNRT_CPU_AMX},
      {"amx_int8", 7, 0, edx, 25, ATTNRT_CPU_AMX},
      {"avx_vnni", 7, 1, eax, 4, ATTNRT_CPU_AVX},
      {"avx512_bf16", 7, 1, eax, 5, ATTNRT_CPU_AVX512},
      {"abm", 0x80000001u, 0, ecx, 5, 0},
      {"sse4a", 0x80000001u, 0, ecx, 6, 0},
  };
  for (size_t i = 0; i < sizeof features / sizeof *features; ++i)
    if (strlen(features[i].name) == length && !memcmp(features[i].name, name, length))
      return &features[i];
  return 0;
}

/* XCR0: the registers that the system saves. */
static inline unsigned attnrt_cpu_saved(void) {
  const unsigned has_xgetbv = 1u << 27;
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx & has_xgetbv))
    return 0;
  __asm__ volatile("xgetbv" : "=a"(eax), "=d"(edx) : "c"(0));
  return eax;
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

static inline attnrt_cpu_answer attnrt_cpu_has(const char *name, size_t length) {
  const attnrt_cpu_feature *feature = attnrt_cpu_find(name, length);
  unsigned words[4] = {0, 0, 0, 0};
  if (!feature ||
      !__get_cpuid_count(feature->leaf, feature->subleaf, &words[0], &words[1], &words[2], &words[3]) ||
      !(words[feature->word] >> feature->bit & 1))
    return ATTNRT_CPU_NO;
  if ((attnrt_cpu_saved() & feature->saved) != feature->saved)
    return ATTNRT_CPU_FORBIDDEN;
  if (feature->saved == ATTNRT_CPU_AMX && !attnrt_cpu_may_use_tiles())
    return ATTNRT_CPU_FORBIDDEN;
  return ATTNRT_CPU_YES;
}

#else

static inline attnrt_cpu_answer attnrt_cpu_has(const char *name, size_t length) {
  (void)name, (void)length;
  return ATTNRT_CPU_NO;
}

#endif

/* The place in `features` (names as in /proc/cpuinfo, separated by spaces) of the first that this process may
 * not use, with its length, and why not; null where it may use them all. Unknown ones count as lacking. */
static inline const char *attnrt_cpu_missing(const char *features, size_t *length, attnrt_cpu_answer *why) {
  for (features += strspn(features, " "); *features; features += strspn(features, " ")) {
    *length = strcspn(features, " ");
    *why = attnrt_cpu_has(features, *length);
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
