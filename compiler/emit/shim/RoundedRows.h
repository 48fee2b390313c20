/* RoundedRows.h - rows of external stages that multiply bfloat16 (AVX512_BF16).
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef ATTNC_COMPILER_EMIT_SHIM_ROUNDEDROWS_H
#define ATTNC_COMPILER_EMIT_SHIM_ROUNDEDROWS_H

#include "ExternalStage.h"

enum { BlockSteps = 16, BlockWidth = BlockSteps * TileBytes / 2 };

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
 * of 32. */
static inline void roundRow(const uint8_t *from, int bytes, int count, uint8_t *to, int width) {
  int i = 0, whole = bytes == FloatBytes ? (count < width ? count : width) / 32 * 32 : 0;
  for (; i < whole; i += 32) { /* nearly all, without masks */
    const float *numbers = (const float *)from + i;
    roundVectors(_mm512_loadu_ps(numbers), _mm512_loadu_ps(numbers + 16), to + 2 * i);
  }
  for (; i < width; i += 32) {
    unsigned mask = i + 32 <= count ? ~0u : i < count ? (1u << (count - i)) - 1 : 0;
    roundVectors(load(from, bytes, i, (__mmask16)mask), load(from, bytes, i + 16, (__mmask16)(mask >> 16)),
                 to + 2 * i);
  }
}

/* Has `multiply` add up a block whose rows are numbers of so many bytes, floats rounded block by block of
 * inputs, in an order that depends on the width alone. */
static inline void multiplyBlockRounded(block b, int bytes, int width, void (*multiply)(const block *)) {
  int steps = (width + 31) / 32;
  if (bytes == BfloatBytes && width % 32 == 0) {
    b.steps = steps;
    if (b.count > 0 && b.panelCount > 0)
      multiply(&b);
    return;
  }
  uint8_t rounded[MostRows][BlockWidth * 2] __attribute__((aligned(64)));
  const uint8_t *from = b.rows, *columns = b.panels, *after = b.after;
  long fromBytes = b.rowBytes;
  b.rows = rounded[0];
  b.rowBytes = sizeof rounded[0];
  for (int first = 0; first < steps && b.count > 0 && b.panelCount > 0; first += BlockSteps) {
    b.steps = steps - first < BlockSteps ? steps - first : BlockSteps;
    for (int row = 0; row < b.count; ++row)
      roundRow(from + row * fromBytes + first * 32 * bytes, bytes, width - first * 32, rounded[row],
               b.steps * 32);
    WRITE_OUT();
    b.panels = columns + first * StepBytes;
    b.isLater = first > 0;
    if (after) /* the next block of inputs, or the next columns */
      b.after = first + BlockSteps < steps ? b.panels + BlockSteps * StepBytes : after;
    multiply(&b);
  }
}

/* rows: floats or bfloat16 x `width`; panels: 32 x pairs x panels of words; sums: float columns x rows. */
static inline int multiplyRounded(buffer *rows, buffer *panels, int width, buffer *sums,
                                  void (*multiply)(const block *)) {
  if (!rows->host || !panels->host || !sums->host)
    return answer(rows, panels, sums, width, (width + 31) / 32 * TileRows);
  multiplyBlockRounded(place(rows, panels, sums, bytesOf(rows)), bytesOf(rows), width, multiply);
  return 0;
}

#endif /* ATTNC_COMPILER_EMIT_SHIM_ROUNDEDROWS_H */
