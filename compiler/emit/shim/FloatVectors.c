/* FloatVectors.c - sums of products of floats and of bfloat16 by vectors (AVX2 and FMA).
 * SPDX-License-Identifier: Apache-2.0
 *
 * Bfloat16 is widened, a block of inputs of all rows and then of each panel.
 * A sum is added up input by input whatever the tile, as Halide's tiles do, which serve other counts of rows.
 */

#include "NarrowVectors.h"

enum {
  WideRows = 3,   /* by a panel: 12 sums, an input of each row and a vector of weights are 16 registers */
  NarrowRows = 6, /* by half a panel: 12 sums, two vectors of weights, an input */
  MostSums = 12,
  Unrolled = 4,     /* inputs, with which lines are asked for */
  BlockInputs = 256 /* of a panel of floats: 32 KiB */
};

/* A block of inputs, as a tile sees it. */
typedef struct {
  const uint8_t *rows, *weights;
  uint8_t *sums;
  long rowBytes, sumBytes;
  int inputs, isLater;
} part;

static inline __m256 broadcast(const uint8_t *row) { return _mm256_broadcast_ss((const float *)row); }
static inline __m256 load(const uint8_t *vector) { return _mm256_loadu_ps((const float *)vector); }

#define ADD(sum, number, weight)                                                                             \
  {                                                                                                          \
    sum = _mm256_fmadd_ps(number, weight, sum);                                                              \
    STAY(sum);                                                                                               \
  }

/* Adds one input's products: each vector of weights meets all rows. */
TILE addWide(const uint8_t *row, long rowBytes, const uint8_t *weights, __m256 *sums, const int height,
             const int vectors) {
  __m256 numbers[WideRows];
  UNROLL for (int i = 0; i < height; ++i) numbers[i] = broadcast(row + i * rowBytes);
  UNROLL for (int j = 0; j < vectors; ++j) {
    __m256 weight = load(weights + j * VectorBytes);
    STAY(weight);
    UNROLL for (int i = 0; i < height; ++i) ADD(sums[i * vectors + j], numbers[i], weight)
  }
}

/* Each row meets all vectors of weights, of which there are two. */
TILE addNarrow(const uint8_t *row, long rowBytes, const uint8_t *weights, __m256 *sums, const int height) {
  __m256 left = load(weights), right = load(weights + VectorBytes);
  STAY(left);
  STAY(right);
  UNROLL for (int i = 0; i < height; ++i) {
    __m256 number = broadcast(row + i * rowBytes);
    ADD(sums[i * 2], number, left)
    ADD(sums[i * 2 + 1], number, right)
  }
}

TILE addInput(const uint8_t *row, long rowBytes, const uint8_t *weights, __m256 *sums, const int height,
              const int vectors) {
  if (height <= WideRows)
    addWide(row, rowBytes, weights, sums, height, vectors);
  else
    addNarrow(row, rowBytes, weights, sums, height);
}

/* A tile of `height` rows by `vectors` of columns, which are known where this is inlined: sums become
 * registers. */
TILE multiplyTile(const part *p, lines *wanted, const int height, const int vectors) {
  __m256 sums[MostSums];
  UNROLL for (int i = 0; i < height; ++i) {
    UNROLL for (int j = 0; j < vectors; ++j) {
      const uint8_t *sum = p->sums + i * p->sumBytes + j * VectorBytes;
      sums[i * vectors + j] = p->isLater ? load(sum) : _mm256_setzero_ps();
    }
  }
  const uint8_t *row = p->rows, *weights = p->weights;
  int left = p->inputs;
  for (; left >= Unrolled; left -= Unrolled) {
    fetchSome(wanted);
    UNROLL for (int k = 0; k < Unrolled; ++k)
        addInput(row + k * FloatBytes, p->rowBytes, weights + k * GroupBytes, sums, height, vectors);
    row += Unrolled * FloatBytes;
    weights += Unrolled * GroupBytes;
  }
  for (; left > 0; --left, row += FloatBytes, weights += GroupBytes)
    addInput(row, p->rowBytes, weights, sums, height, vectors);
  UNROLL for (int i = 0; i < height; ++i) {
    UNROLL for (int j = 0; j < vectors; ++j)
        _mm256_storeu_ps((float *)(p->sums + i * p->sumBytes + j * VectorBytes), sums[i * vectors + j]);
  }
}

#define DEFINE_TILE(name, height, vectors)                                                                   \
  static void name##height(const part *p, lines *wanted) { multiplyTile(p, wanted, height, vectors); }
DEFINE_TILE(wide, 1, 4)
DEFINE_TILE(wide, 2, 4)
DEFINE_TILE(wide, 3, 4)
DEFINE_TILE(narrow, 4, 2)
DEFINE_TILE(narrow, 5, 2)
DEFINE_TILE(narrow, 6, 2)
static void (*const tiles[])(const part *, lines *) = {wide1, wide2, wide3, narrow4, narrow5, narrow6};

/* Rows are shared out evenly: among narrow tiles where those are high enough to pay, else among wide ones.
 * `next`: the block that comes next, of `bytes`, or null. */
static void multiplyRows(const part *all, int count, const uint8_t *next, int bytes) {
  int narrow = (count + NarrowRows - 1) / NarrowRows;
  int isNarrow = count == NarrowRows - 2 || count >= (NarrowRows - 1) * narrow;
  int stripes = isNarrow ? narrow : (count + WideRows - 1) / WideRows, halves = isNarrow ? 2 : 1;
  lines wanted = spreadLines(next, bytes, all->inputs / Unrolled * stripes * halves);
  for (int half = 0; half < halves; ++half)
    for (int stripe = 0; stripe < stripes; ++stripe) {
      int row = count * stripe / stripes, end = count * (stripe + 1) / stripes;
      part p = *all;
      p.rows += row * p.rowBytes;
      p.weights += half * GroupBytes / 2;
      p.sums += row * p.sumBytes + half * GroupBytes / 2;
      tiles[end - row - 1](&p, &wanted);
    }
}

/* rows: floats x `width`; panels: 32 x inputs x panels of floats; sums: float columns x rows. */
int attnc_multiply_float_vectors(buffer *rows, buffer *panels, int width, buffer *sums) {
  if (!rows->host || !panels->host || !sums->host)
    return answer(rows, panels, sums, width, width);
  block b = place(rows, panels, sums, FloatBytes);
  for (int panel = 0; panel < b.panelCount && b.count > 0; ++panel)
    for (int first = 0; first < width; first += BlockInputs) {
      part p = {.rows = b.rows + first * FloatBytes,
                .weights = b.panels + panel * b.panelBytes + first * GroupBytes,
                .sums = b.sums + panel * GroupBytes,
                .rowBytes = b.rowBytes,
                .sumBytes = b.sumBytes,
                .inputs = width - first < BlockInputs ? width - first : BlockInputs,
                .isLater = first > 0};
      multiplyRows(&p, b.count, b.after ? p.weights + BlockInputs * GroupBytes : 0, p.inputs * GroupBytes);
    }
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
  if (!rows->host || !panels->host || !sums->host)
    return answer(rows, panels, sums, width, (width + 31) / 32 * TileRows);
  int bytes = bytesOf(rows);
  block b = place(rows, panels, sums, bytes);
  for (int first = 0; first < width && b.count > 0 && b.panelCount > 0; first += WidenedInputs) {
    int inputs = width - first < WidenedInputs ? width - first : WidenedInputs;
    const uint8_t *later = b.panels + (first + WidenedInputs) / PairInputs * GroupBytes;
    multiplyWidened(&b, first, inputs, bytes, b.after && first + WidenedInputs < width ? later : b.after);
  }
  return 0;
}
