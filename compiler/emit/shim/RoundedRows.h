/* RoundedRows.h - rows of external stages that multiply bfloat16 (AVX512_BF16).
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef ATTNC_COMPILER_EMIT_SHIM_ROUNDEDROWS_H
#define ATTNC_COMPILER_EMIT_SHIM_ROUNDEDROWS_H

#include "ExternalStage.h"

/* Rounds 32 numbers to bfloat16. */
static inline void roundVectors(__m512 first, __m512 second, uint8_t *to) {
  _mm512_store_si512((void *)to, (__m512i)_mm512_cvtne2ps_pbh(second, first));
}

/* 16 numbers from the one at `place` on, of which those in `mask` are there. */
static inline __m512 load(const uint8_t *from, int bytes, long place, __mmask16 mask) {
  if (bytes == FloatBytes)
    return _mm512_maskz_loadu_ps(mask, from + place * FloatBytes);
  __m256i halves = _mm256_maskz_loadu_epi16(mask, from + place * BfloatBytes);
  return (__m512)_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16);
}

/* Rounds `count` floats to bfloat16, or takes what is rounded, and fills up with zeros to `width`, a multiple
 * of StepWidth. */
static inline void roundRow(const uint8_t *from, int bytes, int count, uint8_t *to, int width) {
  int i = 0, whole = bytes == FloatBytes ? (count < width ? count : width) / StepWidth * StepWidth : 0;
  for (; i < whole; i += StepWidth) { /* nearly all, without masks */
    const float *numbers = (const float *)from + i;
    roundVectors(_mm512_loadu_ps(numbers), _mm512_loadu_ps(numbers + 16), to + 2 * i);
  }
  for (; i < width; i += StepWidth) {
    unsigned mask = i + StepWidth <= count ? ~0u : i < count ? (1u << (count - i)) - 1 : 0;
    roundVectors(load(from, bytes, i, (__mmask16)mask), load(from, bytes, i + 16, (__mmask16)(mask >> 16)),
                 to + 2 * i);
  }
}

enum { PreparedBytes = BfloatBytes };
#define prepareRow roundRow
#include "PreparedRows.h"

#endif /* ATTNC_COMPILER_EMIT_SHIM_ROUNDEDROWS_H */
