/* WideFloatVectors.c - sums of products of bfloat16 by vectors of floats (AVX-512).
 * SPDX-License-Identifier: Apache-2.0
 *
 * Weights are widened in registers, for a tile of up to twelve rows at a time; rows before, once for all
 * columns of a block. A sum is added up input by input whatever the tile, as Halide's tiles do, which serve
 * few rows.
 */

#include "ExternalStage.h"

/* Makes floats of `count` numbers, floats already or bfloat16, and zeros up to `width`. */
static inline void widenRow(const uint8_t *from, int bytes, int count, uint8_t *to, int width) {
  for (int i = 0; i < width; i += 16) {
    __mmask16 mask = i + 16 <= count ? 0xffff : i < count ? (__mmask16)((1u << (count - i)) - 1) : 0;
    __m512i numbers;
    if (bytes == FloatBytes)
      numbers = _mm512_maskz_loadu_epi32(mask, from + i * FloatBytes);
    else
      numbers = _mm512_slli_epi32(
          _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, from + i * BfloatBytes)), 16);
    _mm512_store_si512(to + i * FloatBytes, numbers);
  }
}

enum { PreparedBytes = FloatBytes };
#define prepareRow widenRow
#include "PreparedRows.h"

static inline __m512i addProducts(__m512i sums, __m512i numbers, __m512i weights) {
  return (__m512i)_mm512_fmadd_ps((__m512)numbers, (__m512)weights, (__m512)sums);
}
/* Of words of pairs, the weights of a pair's number. */
static inline __m512i weightsOf(__m512i words, int number) {
  return number ? _mm512_and_si512(words, _mm512_set1_epi32((int)0xffff0000)) : _mm512_slli_epi32(words, 16);
}
enum { OneRowPanels = 4, GroupNumbers = 2 };
#include "WideTiles.h"

static void multiplyBlock(const block *b) {
  static const reading ahead = {.stripes = usualStripes, .asksFrom = 3};
  multiplyStripes(b, &ahead);
}

/* rows: floats or bfloat16 x `width`; panels: 32 x pairs x panels of words; sums: float columns x rows. */
int attnc_multiply_widened_vectors_wide(buffer *rows, buffer *panels, int width, buffer *sums) {
  return multiplyPairs(rows, panels, width, sums, multiplyBlock);
}
