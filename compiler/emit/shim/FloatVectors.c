/* FloatVectors.c - sums of products of floats and of bfloat16 by vectors (AVX2 and FMA).
 * SPDX-License-Identifier: Apache-2.0
 *
 * Bfloat16 is widened, a block of inputs of all rows and then of each panel.
 * A sum is added up input by input whatever the tile, as Halide's tiles do, which serve other counts of rows.
 */

#include "ExternalStage.h"

enum { BlockInputs = 512 /* of a panel: 64 KiB */ };
typedef __m256 vector;
static inline vector none(void) { return _mm256_setzero_ps(); }
static inline vector broadcast(const uint8_t *number) { return _mm256_broadcast_ss((const float *)number); }
static inline vector load(const uint8_t *from) { return _mm256_loadu_ps((const float *)from); }
static inline void store(uint8_t *to, vector sums) { _mm256_storeu_ps((float *)to, sums); }
#define ADD(sum, number, weight)                                                                             \
  {                                                                                                          \
    sum = _mm256_fmadd_ps(number, weight, sum);                                                              \
    STAY(sum);                                                                                               \
  }
#include "NarrowTiles.h"

/* rows: floats x `width`; panels: 32 x inputs x panels of floats; sums: float columns x rows. */
int attnc_multiply_float_vectors(buffer *rows, buffer *panels, int width, buffer *sums) {
  if (isBoundsQuery(rows, panels, sums))
    return answer(rows, panels, sums, width, width);
  block b = place(rows, panels, sums, FloatBytes);
  multiplyPanels(&b, width);
  return 0;
}

enum { PairInputs = 2, WidenedInputs = 128 /* of a block: 16 KiB of floats */ };

/* Words of pairs of inputs, of all columns of a panel, become floats, an input after the other. */
static void widenWeights(const uint8_t *pairs, int count, float (*to)[PanelColumns]) {
  const __m256i upper = _mm256_set1_epi32((int)0xffff0000);
  for (int pair = 0; pair < count; ++pair)
    UNROLL for (int column = 0; column < PanelColumns; column += VectorBytes / FloatBytes) {
      const uint8_t *from = pairs + pair * GroupBytes + column * FloatBytes;
      __m256i words = _mm256_loadu_si256((const __m256i *)from);
      _mm256_store_ps(to[PairInputs * pair] + column, _mm256_castsi256_ps(_mm256_slli_epi32(words, 16)));
      _mm256_store_ps(to[PairInputs * pair + 1] + column,
                      _mm256_castsi256_ps(_mm256_and_si256(words, upper)));
    }
}

static void widenRow(const uint8_t *from, int count, float *to) {
  int i = 0;
  for (; i + 8 <= count; i += 8) {
    __m256i words = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(from + i * BfloatBytes)));
    _mm256_store_ps(to + i, _mm256_castsi256_ps(_mm256_slli_epi32(words, 16)));
  }
  for (; i < count; ++i) {
    uint32_t word = (uint32_t)from[i * BfloatBytes] << 16 | (uint32_t)from[i * BfloatBytes + 1] << 24;
    __builtin_memcpy(to + i, &word, sizeof word);
  }
}

/* A block of inputs of all panels. `bytes`: of a row's number; `after`: what comes after the block, or null.
 */
static void multiplyWidened(const block *b, int first, int inputs, int bytes, const uint8_t *after) {
  float rows[MostRows][WidenedInputs] __attribute__((aligned(32)));
  float weights[WidenedInputs][PanelColumns] __attribute__((aligned(32)));
  part p = {.rows = b->rows + first * bytes,
            .weights = (const uint8_t *)weights,
            .rowBytes = b->rowBytes,
            .sumBytes = b->sumBytes,
            .inputs = inputs,
            .isLater = first > 0};
  if (bytes == BfloatBytes) {
    for (int row = 0; row < b->count; ++row)
      widenRow(p.rows + row * b->rowBytes, inputs, rows[row]);
    p.rows = (const uint8_t *)rows;
    p.rowBytes = sizeof rows[0];
  }
  for (int panel = 0; panel < b->panelCount; ++panel) {
    const uint8_t *pairs = b->panels + panel * b->panelBytes + first / PairInputs * GroupBytes;
    int isLast = panel + 1 == b->panelCount, groups = (inputs + PairInputs - 1) / PairInputs;
    const uint8_t *next = isLast ? after : pairs + b->panelBytes;
    widenWeights(pairs, groups, weights);
    p.sums = b->sums + panel * GroupBytes;
    multiplyRows(&p, b->count, after ? next : 0, (isLast ? WidenedInputs / PairInputs : groups) * GroupBytes);
  }
}

/* The same of bfloat16. rows: floats or bfloat16 x `width`; panels: 32 x pairs x panels of words. */
int attnc_multiply_widened_vectors(buffer *rows, buffer *panels, int width, buffer *sums) {
  if (isBoundsQuery(rows, panels, sums))
    return answer(rows, panels, sums, width, stepsOf(width) * TileRows);
  int bytes = bytesOf(rows);
  block b = place(rows, panels, sums, bytes);
  for (int first = 0; first < width && b.count > 0 && b.panelCount > 0; first += WidenedInputs) {
    int inputs = width - first < WidenedInputs ? width - first : WidenedInputs;
    const uint8_t *later = b.panels + (first + WidenedInputs) / PairInputs * GroupBytes;
    multiplyWidened(&b, first, inputs, bytes, b.after && first + WidenedInputs < width ? later : b.after);
  }
  return 0;
}
