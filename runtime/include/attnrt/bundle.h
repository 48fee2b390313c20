/* bundle.h - what a bundle's library offers the runtime: the binary interface between generated code and its
 * caller. SPDX-License-Identifier: Apache-2.0
 *
 * `attnc compile` writes one `attnrt_descriptor` per bundle, named `<bundle>_descriptor`. Everything that a
 * program needs to know besides (names, types, formulas as text, hashes) stands in the bundle's
 * manifest.json. */
#ifndef ATTNRT_BUNDLE_H
#define ATTNRT_BUNDLE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ATTNRT_ABI_VERSION 3

/* Services for the kernels of one session; its address is the user context of every kernel. A null user
 * context is allowed: loops then run serially and errors are only return codes. So is a null function. */
typedef struct attnrt_kernel_context attnrt_kernel_context;
typedef int (*attnrt_task)(attnrt_kernel_context *context, int index, uint8_t *closure);
struct attnrt_kernel_context {
  /* Runs task(context, i, closure) for i in [begin, begin + count), in any order; 0, or the first failure.
   * Kernels go on after a failure: whoever has one keeps it, and asks for it when the entry has returned. */
  int (*parallel_for)(attnrt_kernel_context *context, attnrt_task task, int begin, int count,
                      uint8_t *closure);
  /* Keeps the message for the caller; returns. */
  void (*report_error)(attnrt_kernel_context *context, const char *message);
  /* Null, or told after each kernel that an entry called: its number in the table, the multiplications and
   * additions of its matmuls, and the bytes it has to read and write. */
  void (*watch)(attnrt_kernel_context *context, int32_t kernel, int64_t operations, int64_t bytes);
};

/* What an entry returns that has done nothing because the sizes are not within the manifest's bounds. */
#define ATTNRT_SIZES_OUT_OF_RANGE (-1000)

/* One call of an entry. The entry allocates nothing and is reentrant. */
typedef struct attnrt_invocation {
  attnrt_kernel_context *context; /* may be null */
  void *const *tensors;           /* arguments, then results, in the order of the manifest */
  const int64_t *sizes;           /* all sizes of the bundle, in the order of the manifest */
  char *arena;                    /* arena_bytes(sizes) bytes, aligned to 64; content is not kept */
  char *state;                    /* state_bytes(sizes) bytes, aligned to 64; kept between calls */
  const char *weights;            /* data part of weights.safetensors, aligned to 64 */
  void *const *kernels;           /* of the chosen variant */
} attnrt_invocation;

typedef struct attnrt_entry {
  const char *name;
  int32_t (*run)(const attnrt_invocation *invocation); /* 0, ATTNRT_SIZES_OUT_OF_RANGE, or a Halide code */
  int64_t (*arena_bytes)(const int64_t *sizes);
} attnrt_entry;

/* Kernels compiled for one set of CPU features. Variants are ordered from the least to the most demanding. */
typedef struct attnrt_variant {
  const char *name;     /* x86-64, avx2, avx512, ... */
  const char *features; /* names as in /proc/cpuinfo, separated by spaces: all must be there */
  void *const *kernels;
} attnrt_variant;

typedef struct attnrt_descriptor {
  uint32_t abi_version; /* ATTNRT_ABI_VERSION */
  uint32_t entry_count;
  uint32_t variant_count;
  uint32_t kernel_count;
  const char *name;
  const attnrt_entry *entries;
  const attnrt_variant *variants;
  int64_t (*state_bytes)(const int64_t *sizes);
  const char
      *manifest_hash; /* XXH3-128 of manifest.json, 32 hexadecimal digits: code and data belong together */
} attnrt_descriptor;

#ifdef __cplusplus
}
#endif
#endif /* ATTNRT_BUNDLE_H */
