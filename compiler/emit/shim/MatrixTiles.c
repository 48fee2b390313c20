/* MatrixTiles.c - sums of products by Intel's matrix instructions (AMX).
 * SPDX-License-Identifier: Apache-2.0
 *
 * Halide 21 holds one tile at a time, and four accumulators are what it takes to be near the machine's limit.
 * So kernels call these as external stages, inside their own loops. Whoever runs them has asked the system
 * for permission before. Weights are panels of 32 columns, groups of inputs side by side (`#attn.panels`): 16
 * groups of 16 columns are one tile.
 */

#include <immintrin.h>
#include <stdint.h>

/* The parts of halide_buffer_t that are needed; its layout is fixed. */
typedef struct {
  int32_t min, extent, stride;
  uint32_t flags;
} axis;
typedef struct {
  uint64_t device;
  const void *interface;
  uint8_t *host;
  uint64_t flags;
  uint32_t type;
  int32_t rank;
  axis *axes;
  void *padding;
} buffer;

enum {
  TileRows = 16,
  TileBytes = 64, /* of a tile's row */
  PanelColumns = 32,
  GroupBytes = 128,                 /* one group of inputs of all columns of a panel */
  StepBytes = TileRows * GroupBytes /* what one step over 64 bytes of a row takes of a panel */
};

/* The compiler does not know what tile instructions read: all that was written before is in memory from here
 * on. */
#define WRITE_OUT() __asm__ volatile("" ::: "memory")

/* Asks for a line of memory. GCC leaves out loops that do nothing but _mm_prefetch. */
#define FETCH(line) __asm__ volatile("prefetcht1 %0" : : "m"(*(line)))

/* Tiles 0 to 3 are sums. With `lower` rows: two of 16 rows over two of `lower`, rows in 4 and 5, columns in 6
 * and 7. Without: four of `upper` rows side by side, rows in 4, columns in 5 to 7. */
static void configure(int upper, int lower) {
  struct {
    uint8_t palette, start, reserved[14];
    uint16_t bytes[16];
    uint8_t rows[16];
  } shape __attribute__((aligned(64))) = {.palette = 1};
  for (int i = 0; i < 8; ++i) {
    shape.bytes[i] = TileBytes;
    shape.rows[i] = TileRows;
  }
  if (lower > 0) {
    shape.rows[2] = shape.rows[3] = shape.rows[5] = (uint8_t)lower;
  } else {
    for (int i = 0; i < 5; ++i)
      shape.rows[i] = (uint8_t)upper;
  }
  WRITE_OUT();
  _tile_loadconfig(&shape);
}

/* rows: `rowBytes` apart; panels: `panelBytes` apart; sums: `sumBytes` apart, added to where `isLater`. The
 * panel that is multiplied after the last one begins at `after`; null: the weights have been asked for. */
typedef struct {
  const uint8_t *rows;
  long rowBytes;
  const uint8_t *panels;
  long panelBytes;
  const uint8_t *after;
  uint8_t *sums;
  long sumBytes;
  int count, panelCount, steps, isLater;
} block;

/* The panel after `panel`. */
static const uint8_t *nextPanel(const block *b, int panel) {
  return b->after && panel + 1 < b->panelCount ? b->panels + (panel + 1) * b->panelBytes : b->after;
}

/* Asks for the part of a panel that `step` stands for, so that it comes from memory while tiles are
 * multiplied. Lines of four parts of the panel, in pages of their own, come faster than those of one. */
static inline void fetchPart(const uint8_t *panel, int step, int steps) {
  enum { Parts = 4, PartBytes = StepBytes / Parts, LineBytes = 64 };
  if (!panel)
    return;
  for (int part = 0; part < Parts; ++part)
    for (int line = 0; line < PartBytes; line += LineBytes)
      FETCH(panel + (part * steps + step) * PartBytes + line);
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

/* Two panels side by side for up to 16 rows; the last panel alone repeats itself, and its repetition is not
 * stored. */
#define DEFINE_BLOCK(name, multiply)                                                                         \
  static void name##Tall(const block *b, int panel) {                                                        \
    const uint8_t *upper = b->rows, *lower = b->rows + TileRows * b->rowBytes;                               \
    const uint8_t *columns = b->panels + panel * b->panelBytes;                                              \
    uint8_t *sums = b->sums + panel * GroupBytes, *below = sums + TileRows * b->sumBytes;                    \
    const uint8_t *following = nextPanel(b, panel);                                                          \
    LOAD_SUMS(sums, sums + TileBytes, below, below + TileBytes)                                              \
    for (int step = 0; step < b->steps; ++step) {                                                            \
      fetchPart(following, step, b->steps);                                                                  \
      _tile_loadd(6, columns + step * StepBytes, GroupBytes);                                                \
      _tile_loadd(4, upper + step * TileBytes, b->rowBytes);                                                 \
      multiply(0, 4, 6);                                                                                     \
      _tile_loadd(5, lower + step * TileBytes, b->rowBytes);                                                 \
      multiply(2, 5, 6);                                                                                     \
      _tile_loadd(7, columns + step * StepBytes + TileBytes, GroupBytes);                                    \
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
    const uint8_t *following = nextPanel(b, panel + (int)next);                                              \
    LOAD_SUMS(sums, sums + TileBytes, beside, beside + TileBytes)                                            \
    for (int step = 0; step < b->steps; ++step) {                                                            \
      fetchPart(following, step, b->steps);                                                                  \
      fetchPart(following ? following + b->panelBytes : 0, step, b->steps);                                  \
      _tile_loadd(4, b->rows + step * TileBytes, b->rowBytes);                                               \
      _tile_loadd(5, columns + step * StepBytes, GroupBytes);                                                \
      multiply(0, 4, 5);                                                                                     \
      _tile_loadd(6, columns + step * StepBytes + TileBytes, GroupBytes);                                    \
      multiply(1, 4, 6);                                                                                     \
      _tile_loadd(7, others + step * StepBytes, GroupBytes);                                                 \
      multiply(2, 4, 7);                                                                                     \
      _tile_loadd(5, others + step * StepBytes + TileBytes, GroupBytes);                                     \
      multiply(3, 4, 5);                                                                                     \
    }                                                                                                        \
    STORE_SUMS(sums, sums + TileBytes, beside, beside + TileBytes);                                          \
  }                                                                                                          \
  static void name(const block *b) {                                                                         \
    if (b->count > TileRows) {                                                                               \
      configure(TileRows, b->count - TileRows);                                                              \
      for (int panel = 0; panel < b->panelCount; ++panel)                                                    \
        name##Tall(b, panel);                                                                                \
    } else {                                                                                                 \
      configure(b->count, 0);                                                                                \
      for (int panel = 0; panel < b->panelCount; panel += 2)                                                 \
        name##Flat(b, panel);                                                                                \
    }                                                                                                        \
    _tile_release();                                                                                         \
  }

DEFINE_BLOCK(multiplyBytes, _tile_dpbusd)
DEFINE_BLOCK(multiplyBfloats, _tile_dpbf16ps)

/* Answers a bounds query. Tiles may reach past the last row and the last panel, which are not read: only the
 * first of each is asked for. */
static int answer(buffer *rows, buffer *panels, const buffer *sums, int width, int depth) {
  if (!rows->host) {
    rows->axes[0].min = 0;
    rows->axes[0].extent = width;
    rows->axes[1].min = sums->axes[1].min;
    rows->axes[1].extent = 1;
  }
  if (!panels->host) {
    axis *last = &panels->axes[panels->rank - 1];
    for (int i = 0; i + 1 < panels->rank; ++i)
      panels->axes[i].min = 0;
    panels->axes[panels->rank - 2].extent = depth;
    panels->axes[panels->rank - 3].extent = PanelColumns;
    if (panels->rank > 3)
      panels->axes[0].extent = 4;
    last->min = sums->axes[0].min / PanelColumns;
    last->extent = 1;
  }
  return 0;
}

/* The block that `sums` asks for, of at most 32 rows: those that there are, for rows past the end are asked
 * for as well; so are panels. */
static block place(const buffer *rows, const buffer *panels, const buffer *sums, int elementBytes) {
  const axis *column = &sums->axes[0], *row = &sums->axes[1], *panel = &panels->axes[panels->rank - 1];
  int first = column->min / PanelColumns,
      end = (column->min + column->extent + PanelColumns - 1) / PanelColumns;
  int lastRow = rows->axes[1].min + rows->axes[1].extent, lastPanel = panel->min + panel->extent;
  block b;
  b.rowBytes = (long)rows->axes[1].stride * elementBytes;
  b.rows = rows->host + (row->min - rows->axes[1].min) * b.rowBytes;
  b.panelBytes = (long)panel->stride * (panels->rank > 3 ? 1 : 4);
  b.panels = panels->host + (first - panel->min) * b.panelBytes;
  b.sumBytes = (long)row->stride * 4;
  b.sums = sums->host;
  b.count = row->min + row->extent < lastRow ? row->extent : lastRow - row->min;
  b.panelCount = (end < lastPanel ? end : lastPanel) - first;
  b.isLater = 0;
  b.after = row->min == rows->axes[1].min ? b.panels + b.panelCount * b.panelBytes : 0;
  return b;
}

/* rows: bytes, filled up to whole steps; panels: 4 x 32 x groups x panels; sums: int32 columns x rows. */
int attnc_multiply_bytes(buffer *rows, buffer *panels, int steps, buffer *sums) {
  if (!rows->host || !panels->host || !sums->host)
    return answer(rows, panels, sums, steps * TileBytes, steps * TileRows);
  block b = place(rows, panels, sums, 1);
  b.steps = steps;
  if (b.count > 0 && b.panelCount > 0)
    multiplyBytes(&b);
  return 0;
}

enum { MostRows = 2 * TileRows, BlockSteps = 16, BlockWidth = BlockSteps * TileBytes / 2 };

/* Rounds `count` numbers to bfloat16 and fills up with zeros to `width`, a multiple of 32. */
static void roundRow(const float *from, int count, uint8_t *to, int width) {
  for (int i = 0; i < width; i += 32) {
    int left = count - i;
    __mmask16 low = left >= 16 ? 0xffff : left > 0 ? (__mmask16)((1u << left) - 1) : 0;
    __mmask16 high = left >= 32 ? 0xffff : left > 16 ? (__mmask16)((1u << (left - 16)) - 1) : 0;
    __m512 first = _mm512_maskz_loadu_ps(low, from + i), second = _mm512_maskz_loadu_ps(high, from + i + 16);
    __m512bh both = _mm512_cvtne2ps_pbh(second, first);
    _mm512_store_si512((void *)(to + 2 * i), (__m512i)both);
  }
}

/* rows: float, `width` inputs; panels: 32 x pairs x panels of words; sums: float columns x rows. Rows are
 * rounded block by block of inputs, in an order that depends on the width alone. */
int attnc_multiply_bfloats(buffer *rows, buffer *panels, int width, buffer *sums) {
  int steps = (width + 31) / 32;
  if (!rows->host || !panels->host || !sums->host)
    return answer(rows, panels, sums, width, steps * TileRows);
  uint8_t rounded[MostRows][BlockWidth * 2] __attribute__((aligned(64)));
  block b = place(rows, panels, sums, 4);
  const uint8_t *from = b.rows, *columns = b.panels, *after = b.after;
  long fromBytes = b.rowBytes;
  b.rows = rounded[0];
  b.rowBytes = sizeof rounded[0];
  for (int first = 0; first < steps && b.count > 0 && b.panelCount > 0; first += BlockSteps) {
    b.steps = steps - first < BlockSteps ? steps - first : BlockSteps;
    for (int row = 0; row < b.count; ++row)
      roundRow((const float *)(from + row * fromBytes) + first * 32, width - first * 32, rounded[row],
               b.steps * 32);
    WRITE_OUT();
    b.panels = columns + first * StepBytes;
    b.isLater = first > 0;
    if (after) /* the next block of inputs, or the next columns */
      b.after = first + BlockSteps < steps ? b.panels + BlockSteps * StepBytes : after;
    multiplyBfloats(&b);
  }
  return 0;
}
