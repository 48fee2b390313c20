/* WideTiles.h - tiles of processors with 32 registers of 16 sums (AVX-512).
 * SPDX-License-Identifier: Apache-2.0
 *
 * An input is 4 bytes, some numbers that an instruction multiplies with as many weights of a column and adds
 * to a sum. Whoever includes this defines before: `weightsOf` (a group's weights for one of its numbers),
 * `addProducts` (to 16 columns' sums), GroupNumbers (numbers in a word of weights, each with inputs of its
 * own) and OneRowPanels (panels that one row usually meets at once, for as many sums under way as the
 * instruction's latency asks for). A tile's sums stay in registers, and are added up input by input whatever
 * the tile, so that a row's do not depend on how many there are.
 */

#ifndef ATTNC_COMPILER_EMIT_SHIM_WIDETILES_H
#define ATTNC_COMPILER_EMIT_SHIM_WIDETILES_H

#include "ExternalStage.h"
#include "compiler/kernels/StageLimits.h"

enum {
  MostTileRows = 12,
  MostFewRows = 8, /* they read a panel at a time, and wait for it */
  StepLines = StepBytes / LineBytes,
  MostSums = 24, /* of 32 registers; weights and inputs take the others */
  MostPanels = 8,
  PanelVectors = GroupBytes / TileBytes,
  StepInputs = TileBytes / InputBytes
};

/* Lines that a tile asks for while it multiplies, of each step of a panel, from `ahead` of it; for the first
 * (0) or the second cache (1). */
typedef struct {
  long ahead;
  int16_t first, end, cache;
} lines;

/* Multiplies as many rows as it is for, from `row` on, with all panels. */
typedef void (*stripe)(const block *b, int row, lines wanted);

/* How a core reads weights best. */
typedef struct {
  const stripe *stripes; /* of 1 to MostTileRows rows */
  int asksFrom;          /* from so many rows on, weights are asked for ahead */
  int16_t cache;         /* for the first (0) or the second one (1) */
} reading;

/* Asks for lines of a step of `width` panels, which begin `apart` bytes after each other. */
static inline __attribute__((always_inline)) void askForStep(const uint8_t *step, long apart, const int width,
                                                             lines wanted) {
  if (wanted.cache == 0)
    for (int line = wanted.first; line < wanted.end; ++line)
      UNROLL for (int j = 0; j < width; ++j) FETCH(0, step + j * apart + line * LineBytes);
  else
    for (int line = wanted.first; line < wanted.end; ++line)
      UNROLL for (int j = 0; j < width; ++j) FETCH(1, step + j * apart + line * LineBytes);
}

/* A tile of `height` rows by `width` panels, which are known where this is inlined: sums become registers. A
 * row's inputs begin `inputsApart` bytes after each other. */
static inline __attribute__((always_inline)) void multiplyTile(const block *b, int row, int panel,
                                                               lines wanted, const int height,
                                                               const int width, const int inputsApart) {
  const int vectors = width * PanelVectors;
  const uint8_t *rows = b->rows + row * b->rowBytes, *columns = b->panels + panel * b->panelBytes;
  uint8_t *to = b->sums + row * b->sumBytes + panel * GroupBytes;
  __m512i sums[MostSums];
  UNROLL for (int i = 0; i < height; ++i) {
    UNROLL for (int j = 0; j < vectors; ++j) {
      const uint8_t *sum = to + i * b->sumBytes + j * TileBytes;
      sums[i * vectors + j] = b->isLater ? _mm512_loadu_si512(sum) : _mm512_setzero_si512();
    }
  }
  for (int step = 0; step < b->steps; ++step) {
    askForStep(columns + wanted.ahead + step * StepBytes, b->panelBytes, width, wanted);
    _Pragma("GCC unroll 4") for (int input = 0; input < StepInputs; ++input) {
      const uint8_t *group = columns + step * StepBytes + input * GroupBytes;
      const uint8_t *inputs = rows + (step * StepInputs + input) * (long)inputsApart;
      __m512i weights[MostPanels * PanelVectors];
      UNROLL for (int j = 0; j < vectors; ++j) {
        const uint8_t *lanes = group + j / PanelVectors * b->panelBytes + j % PanelVectors * TileBytes;
        weights[j] = _mm512_loadu_si512(lanes);
      }
      UNROLL for (int number = 0; number < GroupNumbers; ++number) {
        __m512i ofNumber[MostPanels * PanelVectors];
        UNROLL for (int j = 0; j < vectors; ++j) ofNumber[j] = weightsOf(weights[j], number);
        UNROLL for (int i = 0; i < height; ++i) {
          __m512i numbers = _mm512_set1_epi32(fourBytes(inputs + i * b->rowBytes + number * InputBytes));
          UNROLL for (int j = 0; j < vectors; ++j) sums[i * vectors + j] =
              addProducts(sums[i * vectors + j], numbers, ofNumber[j]);
        }
      }
    }
  }
  UNROLL for (int i = 0; i < height; ++i) {
    UNROLL for (int j = 0; j < vectors; ++j)
        _mm512_storeu_si512(to + i * b->sumBytes + j * TileBytes, sums[i * vectors + j]);
  }
}

#define DEFINE_STRIPE(name, height, width)                                                                   \
  static void name(const block *b, int row, lines wanted) {                                                  \
    int panel = 0;                                                                                           \
    for (; panel + width <= b->panelCount; panel += width)                                                   \
      multiplyTile(b, row, panel, wanted, height, width, GroupNumbers * InputBytes);                         \
    for (; panel < b->panelCount; ++panel)                                                                   \
      multiplyTile(b, row, panel, wanted, height, 1, GroupNumbers * InputBytes);                             \
  }

/* One and two rows are summed up for more panels at once, for as many sums under way. */
DEFINE_STRIPE(stripe1, 1, OneRowPanels)
DEFINE_STRIPE(stripe2, 2, 4)
DEFINE_STRIPE(stripe3, 3, 1)
DEFINE_STRIPE(stripe4, 4, 1)
DEFINE_STRIPE(stripe5, 5, 1)
DEFINE_STRIPE(stripe6, 6, 1)
DEFINE_STRIPE(stripe7, 7, 1)
DEFINE_STRIPE(stripe8, 8, 1)
DEFINE_STRIPE(stripe9, 9, 1)
DEFINE_STRIPE(stripe10, 10, 1)
DEFINE_STRIPE(stripe11, 11, 1)
DEFINE_STRIPE(stripe12, 12, 1)

static const stripe usualStripes[MostTileRows] = {stripe1, stripe2, stripe3, stripe4,  stripe5,  stripe6,
                                                  stripe7, stripe8, stripe9, stripe10, stripe11, stripe12};

/* What tile `tile` of `tiles` asks for: of many rows, its share of the weights that are multiplied after
 * these; of few, which wait for memory, all of what comes soon. */
static lines linesToFetch(const block *b, const reading *r, int tile, int tiles) {
  if (b->count < r->asksFrom || !b->after)
    return (lines){0, 0, 0, 0};
  if (b->count <= MostFewRows)
    return (lines){BytesAhead, 0, StepLines, r->cache};
  return (lines){b->after - b->panels, (int16_t)(StepLines * tile / tiles),
                 (int16_t)(StepLines * (tile + 1) / tiles), r->cache};
}

/* Rows are shared out evenly among as few tiles as there can be. */
static inline void multiplyStripes(const block *b, const reading *r) {
  int tiles = (b->count + MostTileRows - 1) / MostTileRows;
  for (int tile = 0; tile < tiles; ++tile) {
    int row = b->count * tile / tiles, end = b->count * (tile + 1) / tiles;
    r->stripes[end - row - 1](b, row, linesToFetch(b, r, tile, tiles));
  }
}

#endif /* ATTNC_COMPILER_EMIT_SHIM_WIDETILES_H */
