/* BfloatVectors.c - sums of products of bfloat16 by vectors (AVX512_BF16).
 * SPDX-License-Identifier: Apache-2.0
 *
 * An instruction adds the products of two inputs to each of 16 sums. A tile's sums stay in registers. Rows
 * are rounded once for all columns of a block, inside the loops that Halide makes, where it has no such
 * stage. A sum is added up input by input whatever the tile, so that a row's do not depend on how many there
 * are.
 */

#include "ExternalAttention.h"

enum {
  MostTileRows = 12,
  FewRows = 3, /* to MostFewRows: they read one panel at a time, and wait for it */
  MostFewRows = 8,
  BytesAhead = 12 << 10, /* as in PrefetchPanels.h, of a panel of up to 512 inputs */
  StepLines = StepBytes / LineBytes,
  MostSums = 24, /* of 32 registers; weights and inputs take the others */
  MostPanels = 8,
  PanelVectors = GroupBytes / TileBytes,
  PairBytes = 4,
  StepPairs = TileBytes / PairBytes
};

static inline __m512i broadcastPair(const uint8_t *pair) {
  int32_t both;
  __builtin_memcpy(&both, pair, sizeof both);
  return _mm512_set1_epi32(both);
}

/* Lines that a tile asks for while it multiplies, of each step of a panel, from `ahead` of it. */
typedef struct {
  long ahead;
  int first, end;
} lines;

/* A tile of `height` rows by `width` panels, which are known where this is inlined: sums become registers. */
static inline __attribute__((always_inline)) void multiplyTile(const block *b, int row, int panel,
                                                               lines wanted, const int height,
                                                               const int width, const int pairBytes) {
  const int vectors = width * PanelVectors;
  const uint8_t *rows = b->rows + row * b->rowBytes, *columns = b->panels + panel * b->panelBytes;
  uint8_t *to = b->sums + row * b->sumBytes + panel * GroupBytes;
  __m512 sums[MostSums];
  UNROLL for (int i = 0; i < height; ++i) {
    UNROLL for (int j = 0; j < vectors; ++j) {
      const uint8_t *sum = to + i * b->sumBytes + j * TileBytes;
      sums[i * vectors + j] = b->isLater ? _mm512_loadu_ps(sum) : _mm512_setzero_ps();
    }
  }
  for (int step = 0; step < b->steps; ++step) {
    for (int line = wanted.first; line < wanted.end; ++line)
      UNROLL for (int j = 0; j < width; ++j)
          FETCH(0, columns + wanted.ahead + j * b->panelBytes + step * StepBytes + line * LineBytes);
    _Pragma("GCC unroll 4") for (int pair = 0; pair < StepPairs; ++pair) {
      const uint8_t *group = columns + step * StepBytes + pair * GroupBytes;
      const uint8_t *inputs = rows + (step * StepPairs + pair) * (long)pairBytes;
      __m512i weights[MostPanels * PanelVectors];
      UNROLL for (int j = 0; j < vectors; ++j) {
        const uint8_t *lanes = group + j / PanelVectors * b->panelBytes + j % PanelVectors * TileBytes;
        weights[j] = _mm512_loadu_si512(lanes);
      }
      UNROLL for (int i = 0; i < height; ++i) {
        __m512i both = broadcastPair(inputs + i * b->rowBytes);
        UNROLL for (int j = 0; j < vectors; ++j) {
          __m512 *sum = &sums[i * vectors + j];
          *sum = _mm512_dpbf16_ps(*sum, (__m512bh)both, (__m512bh)weights[j]);
        }
      }
    }
  }
  UNROLL for (int i = 0; i < height; ++i) {
    UNROLL for (int j = 0; j < vectors; ++j)
        _mm512_storeu_ps(to + i * b->sumBytes + j * TileBytes, sums[i * vectors + j]);
  }
}

#define DEFINE_STRIPE(height, width)                                                                         \
  static void stripe##height(const block *b, int row, lines wanted) {                                        \
    int panel = 0;                                                                                           \
    for (; panel + width <= b->panelCount; panel += width)                                                   \
      multiplyTile(b, row, panel, wanted, height, width, PairBytes);                                         \
    for (; panel < b->panelCount; ++panel)                                                                   \
      multiplyTile(b, row, panel, wanted, height, 1, PairBytes);                                             \
  }

/* One and two rows are summed up for more panels at once, for as many sums under way. */
DEFINE_STRIPE(1, 8)
DEFINE_STRIPE(2, 4)
DEFINE_STRIPE(3, 1)
DEFINE_STRIPE(4, 1)
DEFINE_STRIPE(5, 1)
DEFINE_STRIPE(6, 1)
DEFINE_STRIPE(7, 1)
DEFINE_STRIPE(8, 1)
DEFINE_STRIPE(9, 1)
DEFINE_STRIPE(10, 1)
DEFINE_STRIPE(11, 1)
DEFINE_STRIPE(12, 1)

static void (*const stripes[])(const block *, int, lines) = {stripe1, stripe2,  stripe3,  stripe4,
                                                             stripe5, stripe6,  stripe7,  stripe8,
                                                             stripe9, stripe10, stripe11, stripe12};

/* What tile `tile` of `tiles` asks for: of many rows, its share of the weights that are multiplied after
 * these; of few, which wait for memory, all of what comes soon. One or two read several panels side by side,
 * which the core itself fetches well. */
static lines linesToFetch(const block *b, int tile, int tiles) {
  if (b->count < FewRows || !b->after)
    return (lines){0, 0, 0};
  if (b->count <= MostFewRows)
    return (lines){BytesAhead, 0, StepLines};
  return (lines){b->after - b->panels, StepLines * tile / tiles, StepLines * (tile + 1) / tiles};
}

/* Rows are shared out evenly among as few tiles as there can be. */
static inline void multiplyStripes(const block *b, int asksAhead) {
  int tiles = (b->count + MostTileRows - 1) / MostTileRows;
  for (int tile = 0; tile < tiles; ++tile) {
    int row = b->count * tile / tiles, end = b->count * (tile + 1) / tiles;
    stripes[end - row - 1](b, row, asksAhead ? linesToFetch(b, tile, tiles) : (lines){0, 0, 0});
  }
}

static void multiplyBlock(const block *b) { multiplyStripes(b, 0); }
static void multiplyBlockAhead(const block *b) { multiplyStripes(b, 1); }

/* rows: floats or bfloat16 x `width`; panels: 32 x pairs x panels of words; sums: float columns x rows. */
int attnc_multiply_bfloat_vectors(buffer *rows, buffer *panels, int width, buffer *sums) {
  return multiplyRounded(rows, panels, width, sums, multiplyBlock);
}

/* The same where a core does not read ahead well by itself. */
int attnc_multiply_bfloat_vectors_ahead(buffer *rows, buffer *panels, int width, buffer *sums) {
  return multiplyRounded(rows, panels, width, sums, multiplyBlockAhead);
}

/* Weights of 32 queries, as `weigh` lays them: a pair's are side by side. */
static void multiplyWeights(const block *b) {
  const lines none = {0, 0, 0};
  for (int panel = 0; panel < b->panelCount; ++panel) {
    multiplyTile(b, 0, panel, none, 11, 1, GroupBytes);
    multiplyTile(b, 11, panel, none, 11, 1, GroupBytes);
    multiplyTile(b, 22, panel, none, 10, 1, GroupBytes);
  }
}

static void readPairs(block *b, const uint8_t *weights, uint8_t *spare) {
  (void)spare;
  b->rows = weights;
  b->rowBytes = PairBytes;
}

/* Attention: see turnRounded, scoreRounded and mixRounded. */
int attnc_turn_bfloat_vectors(buffer *queries, int width, buffer *words) {
  return turnRounded(queries, width, words);
}

int attnc_score_bfloat_vectors(buffer *input, buffer *queries, int width, int keys, int group, int count,
                               buffer *sums) {
  return scoreRounded(input, queries, width, keys, group, count, sums, multiplyBlock);
}

int attnc_mix_bfloat_vectors(buffer *scores, buffer *maxima, buffer *input, buffer *range, int width,
                             int keys, int group, int queries, buffer *context, buffer *sums) {
  mixing m = {scores, maxima, input, range, width, keys, group, queries, context, sums};
  return mixRounded(&m, readPairs, multiplyWeights);
}
