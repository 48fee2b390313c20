/* MatrixTiles.c - sums of products by Intel's matrix instructions (AMX).
 * SPDX-License-Identifier: Apache-2.0
 *
 * Halide 21 holds one tile at a time, and four accumulators are what it takes to be near the machine's limit.
 * So kernels call these as external stages, inside their own loops. Whoever runs them has asked the system
 * for permission before. 16 groups of inputs of 16 columns are one tile.
 */

#include "BoundedAttention.h"

/* What LDTILECFG reads. */
typedef struct {
  uint8_t palette, start, reserved[14];
  uint16_t bytes[16];
  uint8_t rows[16];
} shapes __attribute__((aligned(64)));

/* Of the first eight tiles, the least significant first. */
static inline uint64_t rowsOfTiles(int upper, int lower) {
  const uint64_t all = 0x1010101010101010;
  if (lower > 0) /* of tiles 2, 3 and 5 */
    return (all & ~0xff00ffff0000) | 0x10001010000 * (uint64_t)lower;
  return (all & ~0xffffffffff) | 0x101010101 * (uint64_t)upper;
}

static inline int areShaped(const shapes *present, uint64_t rows) {
  const uint64_t wholeTiles = 0x0040004000400040; /* four times TileBytes */
  uint64_t bytes[2], presentRows;
  __builtin_memcpy(bytes, present->bytes, sizeof bytes);
  __builtin_memcpy(&presentRows, present->rows, sizeof presentRows);
  return present->palette == 1 && bytes[0] == wholeTiles && bytes[1] == wholeTiles && presentRows == rows;
}

/* Tiles 0 to 3 are sums. With `lower` rows: two of 16 rows over two of `lower`, rows in 4 and 5, columns in 6
 * and 7. Without: four of `upper` rows side by side, rows in 4, columns in 5 to 7.
 * Shapes are left behind for the next call: asking for them costs a tenth of setting and releasing them,
 * which takes as long as ten products. Whoever else uses tiles sets shapes of their own. They are looked at
 * in parts no wider than they are written in: or the core waits until all sums before are in the cache. */
static void configure(int upper, int lower) {
  const uint64_t rows = rowsOfTiles(upper, lower);
  shapes now;
  WRITE_OUT();
  _tile_storeconfig(&now);
  WRITE_OUT();
  if (areShaped(&now, rows))
    return;
  shapes wanted = {.palette = 1};
  for (int tile = 0; tile < 8; ++tile)
    wanted.bytes[tile] = TileBytes;
  __builtin_memcpy(wanted.rows, &rows, sizeof rows);
  WRITE_OUT();
  _tile_loadconfig(&wanted);
}

static void configureFor(const block *b) {
  if (b->count > TileRows)
    configure(TileRows, b->count - TileRows);
  else
    configure(b->count, 0);
}

/* Lines of a panel that are asked for step by step: `pace` of each of its parts at a time, in 65,536ths.
 * Lines of parts in pages of their own come faster than those of one. */
typedef struct {
  const uint8_t *panel; /* or null */
  uint32_t first, pace;
} lines;

enum {
  Parts = 4,            /* of a panel */
  MostAhead = 128 << 10 /* bytes: farther away, the second cache may lose what has come */
};

/* The part `share` of `shares` of a panel's lines. */
static inline lines shareOf(const uint8_t *panel, int steps, int share, int shares) {
  enum { LinesOfStep = StepBytes / LineBytes / Parts };
  uint32_t pace = ((uint32_t)(LinesOfStep << 16) + (uint32_t)shares - 1) / (uint32_t)shares;
  lines l = {panel, pace * (uint32_t)(share * steps), pace};
  return l;
}

/* What is asked for while the rows of a block meet a panel: their share of the one that they meet as many
 * panels later, or, where that is far away, theirs alone or nobody's before, all of the next one. */
static inline lines wantedBy(const block *b, int panel) {
  const lines none = {0, 0, 0};
  if (b->shares > 1 && !b->comeFirst && b->next - b->panels <= MostAhead) {
    const uint8_t *next = b->next + panel * b->panelBytes;
    return next < b->end ? shareOf(next, b->steps, b->share, b->shares) : none;
  }
  if (!b->after)
    return none;
  const uint8_t *following = b->panels + (panel + 1) * b->panelBytes;
  return shareOf(panel + 1 < b->panelCount ? following : b->after, b->steps, 0, 1);
}

/* Asks for what a step has, so that it comes from memory while others are multiplied. */
static inline void fetchLines(const lines *l, int step, int steps) {
  if (!l->panel)
    return;
  const long partBytes = steps * (StepBytes / Parts);
  uint32_t from = l->first + l->pace * (uint32_t)step, end = from + l->pace;
  for (int part = 0; part < Parts; ++part)
    for (uint32_t line = from >> 16; line < end >> 16; ++line)
      FETCH(1, l->panel + part * partBytes + line * LineBytes);
}

/* Asks for a line of what few rows multiply some steps later, and the core brings those after it by itself.
 * To ask for all takes longer than such a step. */
static inline void fetchAhead(const uint8_t *step) {
  enum { StepsAhead = 4 };
  FETCH(1, step + StepsAhead * StepBytes);
}

#define LOAD_SUMS(first, second, third, fourth)                                                              \
  if (b->isLater) {                                                                                          \
    _tile_loadd(0, first, b->sumBytes);                                                                      \
    _tile_loadd(1, second, b->sumBytes);                                                                     \
    _tile_loadd(2, third, b->sumBytes);                                                                      \
    _tile_loadd(3, fourth, b->sumBytes);                                                                     \
  } else {                                                                                                   \
    _tile_zero(0);                                                                                           \
    _tile_zero(1);                                                                                           \
    _tile_zero(2);                                                                                           \
    _tile_zero(3);                                                                                           \
  }

#define STORE_SUMS(first, second, third, fourth)                                                             \
  _tile_stored(0, first, b->sumBytes);                                                                       \
  _tile_stored(1, second, b->sumBytes);                                                                      \
  _tile_stored(2, third, b->sumBytes);                                                                       \
  _tile_stored(3, fourth, b->sumBytes)

/* Weights do not take the rows' place in the first cache. */
#define LOAD_WEIGHTS(tile, from) _tile_stream_loadd(tile, from, GroupBytes)

/* Two panels side by side for up to 16 rows; the last panel alone repeats itself, and its repetition is
 * stored over it: the same sums. */
#define DEFINE_BLOCK(name, multiply)                                                                         \
  static void name##Tall(const block *b, int panel) {                                                        \
    const uint8_t *upper = b->rows, *lower = b->rows + TileRows * b->rowBytes;                               \
    const uint8_t *columns = b->panels + panel * b->panelBytes;                                              \
    uint8_t *sums = b->sums + panel * GroupBytes, *below = sums + TileRows * b->sumBytes;                    \
    const lines wanted = wantedBy(b, panel);                                                                 \
    LOAD_SUMS(sums, sums + TileBytes, below, below + TileBytes)                                              \
    for (int step = 0; step < b->steps; ++step) {                                                            \
      fetchLines(&wanted, step, b->steps);                                                                   \
      LOAD_WEIGHTS(6, columns + step * StepBytes);                                                           \
      _tile_loadd(4, upper + step * TileBytes, b->rowBytes);                                                 \
      multiply(0, 4, 6);                                                                                     \
      _tile_loadd(5, lower + step * TileBytes, b->rowBytes);                                                 \
      multiply(2, 5, 6);                                                                                     \
      LOAD_WEIGHTS(7, columns + step * StepBytes + TileBytes);                                               \
      multiply(1, 4, 7);                                                                                     \
      multiply(3, 5, 7);                                                                                     \
    }                                                                                                        \
    STORE_SUMS(sums, sums + TileBytes, below, below + TileBytes);                                            \
  }                                                                                                          \
  static void name##Flat(const block *b, int panel) {                                                        \
    const uint8_t *columns = b->panels + panel * b->panelBytes;                                              \
    const long next = panel + 1 < b->panelCount ? 1 : 0;                                                     \
    const uint8_t *others = columns + next * b->panelBytes;                                                  \
    uint8_t *sums = b->sums + panel * GroupBytes, *beside = sums + next * GroupBytes;                        \
    LOAD_SUMS(sums, sums + TileBytes, beside, beside + TileBytes)                                            \
    for (int step = 0; step < b->steps; ++step) {                                                            \
      fetchAhead(columns + step * StepBytes);                                                                \
      fetchAhead(others + step * StepBytes);                                                                 \
      _tile_loadd(4, b->rows + step * TileBytes, b->rowBytes);                                               \
      LOAD_WEIGHTS(5, columns + step * StepBytes);                                                           \
      multiply(0, 4, 5);                                                                                     \
      LOAD_WEIGHTS(6, columns + step * StepBytes + TileBytes);                                               \
      multiply(1, 4, 6);                                                                                     \
      LOAD_WEIGHTS(7, others + step * StepBytes);                                                            \
      multiply(2, 4, 7);                                                                                     \
      LOAD_WEIGHTS(5, others + step * StepBytes + TileBytes);                                                \
      multiply(3, 4, 5);                                                                                     \
    }                                                                                                        \
    STORE_SUMS(sums, sums + TileBytes, beside, beside + TileBytes);                                          \
  }                                                                                                          \
  /* By tiles that are configured. */                                                                        \
  static void name##Configured(const block *b) {                                                             \
    if (b->count > TileRows)                                                                                 \
      for (int panel = 0; panel < b->panelCount; ++panel)                                                    \
        name##Tall(b, panel);                                                                                \
    else                                                                                                     \
      for (int panel = 0; panel < b->panelCount; panel += 2)                                                 \
        name##Flat(b, panel);                                                                                \
  }                                                                                                          \
  static void name(const block *b) {                                                                         \
    configureFor(b);                                                                                         \
    name##Configured(b);                                                                                     \
  }

DEFINE_BLOCK(multiplyBytes, _tile_dpbusd)
DEFINE_BLOCK(multiplyBfloats, _tile_dpbf16ps)

/* rows: bytes, filled up to whole steps; panels: 4 x 32 x groups x panels; sums: int32 columns x rows. */
int attnc_multiply_bytes(buffer *rows, buffer *panels, int steps, buffer *sums) {
  if (isBoundsQuery(rows, panels, sums))
    return answer(rows, panels, sums, steps * TileBytes, steps * TileRows);
  block b = place(rows, panels, sums, 1);
  b.steps = steps;
  if (b.count > 0 && b.panelCount > 0)
    multiplyBytes(&b);
  return 0;
}

/* One of several stages with the same rows, which begin at a multiple of `columns` and follow each other on
 * one thread. Only the first asks how tiles are configured: the core waits for all sums before it answers. */
static int multiplyInTask(block *b, const buffer *sums, int columns, void (*multiply)(const block *)) {
  if (b->count <= 0 || b->panelCount <= 0)
    return 0;
  b->next = b->panels + columns / PanelColumns * b->panelBytes;
  b->comeFirst = sums->axes[0].min < columns;
  if (sums->axes[0].min % columns == 0)
    configureFor(b);
  multiply(b);
  return 0;
}

/* As attnc_multiply_bytes, of `columns` of a task. */
int attnc_multiply_bytes_of_task(buffer *rows, buffer *panels, int steps, int columns, buffer *sums) {
  if (isBoundsQuery(rows, panels, sums))
    return answer(rows, panels, sums, steps * TileBytes, steps * TileRows);
  block b = place(rows, panels, sums, 1);
  b.steps = steps;
  return multiplyInTask(&b, sums, columns, multiplyBytesConfigured);
}

/* rows: floats or bfloat16 x `width`; panels: 32 x pairs x panels of words; sums: float columns x rows. */
int attnc_multiply_bfloats(buffer *rows, buffer *panels, int width, buffer *sums) {
  return multiplyPairs(rows, panels, width, sums, multiplyBfloats);
}

/* As attnc_multiply_bfloats, of rows of bfloat16 by `columns` of a task. */
int attnc_multiply_bfloats_of_task(buffer *rows, buffer *panels, int width, int columns, buffer *sums) {
  if (isBoundsQuery(rows, panels, sums))
    return answer(rows, panels, sums, width, stepsOf(width) * TileRows);
  block b = place(rows, panels, sums, BfloatBytes);
  b.steps = stepsOf(width);
  return multiplyInTask(&b, sums, columns, multiplyBfloatsConfigured);
}

/* The weights of a query side by side. */
static void turnWeights(block *b, const uint8_t *weights, uint8_t *spare) {
  b->rows = spare;
  b->rowBytes = b->steps * TileBytes;
  for (int step = 0; step < b->steps; ++step)
    for (int half = 0; half < 2; ++half)
      turnWords(weights + step * StepBytes + half * TileBytes, GroupBytes,
                spare + half * TileRows * b->rowBytes + step * TileBytes, b->rowBytes);
}

/* Attention: see turnRounded, scoreRounded and mixRounded. */
int attnc_turn_bfloats(buffer *queries, int width, buffer *words) {
  return turnRounded(queries, width, words);
}

int attnc_score_bfloats(buffer *input, buffer *queries, int width, int keys, int group, int count,
                        buffer *sums) {
  scoring s = {input, queries, width, keys, group, count, sums};
  return scoreRounded(&s, multiplyBfloats);
}

int attnc_mix_bfloats(buffer *scores, buffer *maxima, buffer *input, buffer *range, int width, int keys,
                      int group, int queries, buffer *context, buffer *sums) {
  mixing m = {scores, maxima, input, range, width, keys, group, queries, context, sums};
  return mixRounded(&m, turnWeights, multiplyBfloats);
}

/* Attention where bounds alone hide keys: see attend. */
int attnc_attend_bfloats(buffer *queries, buffer *bounds, buffer *keys, buffer *values, int width,
                         int valueWidth, int keyGroup, int valueGroup, int count, buffer *context) {
  attention a = {queries, bounds, keys, values, width, valueWidth, keyGroup, valueGroup, count, context};
  if (asksForBounds(&a))
    return askForAttention(&a);
  configure(TileRows, TileRows);
  return attend(&a, multiplyBfloatsTall);
}
