/* BfloatVectors.c - sums of products of bfloat16 by vectors (AVX512_BF16).
 * SPDX-License-Identifier: Apache-2.0
 *
 * An instruction adds the products of two inputs to each of 16 sums. Rows are rounded once for all columns of
 * a block, inside the loops that Halide makes, where it has no such stage.
 */

#include "BoundedAttention.h"

static inline __m512i addProducts(__m512i sums, __m512i pair, __m512i weights) {
  return (__m512i)_mm512_dpbf16_ps((__m512)sums, (__m512bh)pair, (__m512bh)weights);
}
static inline __m512i weightsOf(__m512i weights, int number) {
  (void)number;
  return weights;
}
enum { OneRowPanels = 8, GroupNumbers = 1 };
#include "WideTiles.h"

static void multiplyBlock(const block *b) {
  static const reading asksForNothing = {.stripes = usualStripes, .asksFrom = MostRows + 1};
  multiplyStripes(b, &asksForNothing);
}

DEFINE_STRIPE(onePanel1, 1, 1)
DEFINE_STRIPE(onePanel2, 2, 1)
static const stripe oneByOne[MostTileRows] = {onePanel1, onePanel2, stripe3, stripe4,  stripe5,  stripe6,
                                              stripe7,   stripe8,   stripe9, stripe10, stripe11, stripe12};

/* Zen 4 itself fetches one panel after the other as fast as memory gives it, but not where six rows and more
 * multiply meanwhile. */
static void multiplyForZen4(const block *b) {
  static const reading zen4 = {.stripes = oneByOne, .asksFrom = 6, .cache = 1};
  multiplyStripes(b, &zen4);
}

static void multiplyForZen5(const block *b) {
  static const reading zen5 = {.stripes = usualStripes, .asksFrom = 3};
  multiplyStripes(b, &zen5);
}

/* rows: floats or bfloat16 x `width`; panels: 32 x pairs x panels of words; sums: float columns x rows. */
int attnc_multiply_bfloat_vectors_zen4(buffer *rows, buffer *panels, int width, buffer *sums) {
  return multiplyPairs(rows, panels, width, sums, multiplyForZen4);
}

/* The same, and the same sums. */
int attnc_multiply_bfloat_vectors_zen5(buffer *rows, buffer *panels, int width, buffer *sums) {
  return multiplyPairs(rows, panels, width, sums, multiplyForZen5);
}

/* Weights of 32 queries, as `weigh` lays them: a pair's are side by side. */
static void multiplyWeights(const block *b) {
  const lines none = {0, 0, 0, 0};
  for (int panel = 0; panel < b->panelCount; ++panel) {
    multiplyTile(b, 0, panel, none, 11, 1, GroupBytes);
    multiplyTile(b, 11, panel, none, 11, 1, GroupBytes);
    multiplyTile(b, 22, panel, none, 10, 1, GroupBytes);
  }
}

static void readPairs(block *b, const uint8_t *weights, uint8_t *spare) {
  (void)spare;
  b->rows = weights;
  b->rowBytes = InputBytes;
}

/* Attention: see turnRounded, scoreRounded and mixRounded. */
int attnc_turn_bfloat_vectors(buffer *queries, int width, buffer *words) {
  return turnRounded(queries, width, words);
}

int attnc_score_bfloat_vectors(buffer *input, buffer *queries, int width, int keys, int group, int count,
                               buffer *sums) {
  scoring s = {input, queries, width, keys, group, count, sums};
  return scoreRounded(&s, multiplyBlock);
}

int attnc_mix_bfloat_vectors(buffer *scores, buffer *maxima, buffer *input, buffer *range, int width,
                             int keys, int group, int queries, buffer *context, buffer *sums) {
  mixing m = {scores, maxima, input, range, width, keys, group, queries, context, sums};
  return mixRounded(&m, readPairs, multiplyWeights);
}

static void multiplyPanel(const block *all, int panel) {
  block b = *all;
  b.panels += panel * b.panelBytes;
  b.sums += panel * GroupBytes;
  b.panelCount = 1;
  multiplyBlock(&b);
}

/* Attention where bounds alone hide keys: see attend. */
int attnc_attend_bfloat_vectors(buffer *queries, buffer *bounds, buffer *keys, buffer *values, int width,
                                int valueWidth, int keyGroup, int valueGroup, int count, buffer *context) {
  attention a = {queries, bounds, keys, values, width, valueWidth, keyGroup, valueGroup, count, context};
  if (asksForBounds(&a))
    return askForAttention(&a);
  return attend(&a, multiplyPanel);
}
