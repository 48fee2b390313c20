/* NarrowTiles.h - tiles of processors with 16 vector registers, for numbers of 4 bytes (AVX2).
 * SPDX-License-Identifier: Apache-2.0
 *
 * A number is a float, or four bytes that one instruction multiplies with four integers. Whoever includes
 * this says before what a `vector` of sums is, and defines `broadcast`, `load`, `store`, `none`, ADD and
 * BlockInputs, how many numbers of a row a block has.
 */

#ifndef ATTNC_COMPILER_EMIT_SHIM_NARROWTILES_H
#define ATTNC_COMPILER_EMIT_SHIM_NARROWTILES_H

#include "NarrowVectors.h"

enum {
  VectorBytes = 32,
  WideRows = 3,   /* by a panel: 12 sums, an input of each row and a vector of weights are 16 registers */
  NarrowRows = 6, /* by half a panel: 12 sums, two vectors of weights, an input */
  MostSums = 12,
  Unrolled = 4 /* inputs, with which lines are asked for */
};

/* A block of inputs, as a tile sees it. */
typedef struct {
  const uint8_t *rows, *weights;
  uint8_t *sums;
  long rowBytes, sumBytes;
  int inputs, isLater;
} part;

/* Adds one input's products: each vector of weights meets all rows. */
TILE addWide(const uint8_t *row, long rowBytes, const uint8_t *weights, vector *sums, const int height,
             const int vectors) {
  vector numbers[WideRows];
  UNROLL for (int i = 0; i < height; ++i) numbers[i] = broadcast(row + i * rowBytes);
  UNROLL for (int j = 0; j < vectors; ++j) {
    vector weight = load(weights + j * VectorBytes);
    STAY(weight);
    UNROLL for (int i = 0; i < height; ++i) ADD(sums[i * vectors + j], numbers[i], weight)
  }
}

/* Each row meets all vectors of weights, of which there are two. */
TILE addNarrow(const uint8_t *row, long rowBytes, const uint8_t *weights, vector *sums, const int height) {
  vector left = load(weights), right = load(weights + VectorBytes);
  STAY(left);
  STAY(right);
  UNROLL for (int i = 0; i < height; ++i) {
    vector number = broadcast(row + i * rowBytes);
    ADD(sums[i * 2], number, left)
    ADD(sums[i * 2 + 1], number, right)
  }
}

TILE addInput(const uint8_t *row, long rowBytes, const uint8_t *weights, vector *sums, const int height,
              const int vectors) {
  if (height <= WideRows)
    addWide(row, rowBytes, weights, sums, height, vectors);
  else
    addNarrow(row, rowBytes, weights, sums, height);
}

/* A tile of `height` rows by `vectors` of columns, which are known where this is inlined: sums become
 * registers. */
TILE multiplyTile(const part *p, lines *wanted, const int height, const int vectors) {
  vector sums[MostSums];
  UNROLL for (int i = 0; i < height; ++i) {
    UNROLL for (int j = 0; j < vectors; ++j) {
      const uint8_t *sum = p->sums + i * p->sumBytes + j * VectorBytes;
      sums[i * vectors + j] = p->isLater ? load(sum) : none();
    }
  }
  const uint8_t *row = p->rows, *weights = p->weights;
  int left = p->inputs;
  for (; left >= Unrolled; left -= Unrolled) {
    fetchSome(wanted);
    UNROLL for (int k = 0; k < Unrolled; ++k)
        addInput(row + k * InputBytes, p->rowBytes, weights + k * GroupBytes, sums, height, vectors);
    row += Unrolled * InputBytes;
    weights += Unrolled * GroupBytes;
  }
  for (; left > 0; --left, row += InputBytes, weights += GroupBytes)
    addInput(row, p->rowBytes, weights, sums, height, vectors);
  UNROLL for (int i = 0; i < height; ++i) {
    UNROLL for (int j = 0; j < vectors; ++j)
        store(p->sums + i * p->sumBytes + j * VectorBytes, sums[i * vectors + j]);
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

/* All panels of a block, whose rows have `width` numbers. */
static void multiplyPanels(const block *b, int width) {
  for (int panel = 0; panel < b->panelCount && b->count > 0; ++panel)
    for (int first = 0; first < width; first += BlockInputs) {
      part p = {.rows = b->rows + first * InputBytes,
                .weights = b->panels + panel * b->panelBytes + first * GroupBytes,
                .sums = b->sums + panel * GroupBytes,
                .rowBytes = b->rowBytes,
                .sumBytes = b->sumBytes,
                .inputs = width - first < BlockInputs ? width - first : BlockInputs,
                .isLater = first > 0};
      multiplyRows(&p, b->count, b->after ? p.weights + p.inputs * GroupBytes : 0, p.inputs * GroupBytes);
    }
}

#endif /* ATTNC_COMPILER_EMIT_SHIM_NARROWTILES_H */
