/* ExternalStage.h - what external stages of kernels share: Halide's buffers and blocks of sums.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Weights are panels of 32 columns, groups of inputs side by side (`#attn.panels`).
 */

#ifndef ATTNC_COMPILER_EMIT_SHIM_EXTERNALSTAGE_H
#define ATTNC_COMPILER_EMIT_SHIM_EXTERNALSTAGE_H

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
  MostRows = 2 * TileRows, /* of a block */
  TileBytes = 64,          /* of a row, taken by one step */
  LineBytes = 64,          /* that memory gives at a time */
  PanelColumns = 32,
  StepWidth = 32,                   /* numbers of bfloat16 that one step takes of a row */
  GroupBytes = 128,                 /* one group of inputs of all columns of a panel */
  StepBytes = TileRows * GroupBytes /* what one step takes of a panel */
};

/* The compiler does not know what tile instructions read: all that was written before is in memory from here
 * on. */
#define WRITE_OUT() __asm__ volatile("" ::: "memory")

/* Loops of constant length whose arrays are to be registers. */
#define UNROLL _Pragma("GCC unroll 24")

/* Steps over a row of numbers, and panels of columns; the last may be filled up. */
static inline int stepsOf(int numbers) { return (numbers + StepWidth - 1) / StepWidth; }
static inline int panelsOf(int columns) { return (columns + PanelColumns - 1) / PanelColumns; }

/* Asks for a line of memory, for the first cache (0) or the second (1). GCC leaves out loops that do nothing
 * but _mm_prefetch. */
#define FETCH(level, line) __asm__ volatile("prefetcht" #level " %0" : : "m"(*(line)))

/* Numbers of a row that one instruction multiplies: they lie side by side, anywhere. */
enum { InputBytes = 4 };
static inline int32_t fourBytes(const uint8_t *input) {
  int32_t four;
  __builtin_memcpy(&four, input, sizeof four);
  return four;
}

/* rows: `rowBytes` apart; panels: `panelBytes` apart; sums: `sumBytes` apart, added to where `isLater`. The
 * panel that is multiplied after the last one begins at `after`; null: the weights have been asked for. Of
 * the columns that come once all rows have met these, which begin at `next`, these rows may ask for the part
 * `share` of `shares`; nobody has asked for those that come first. There are none from `end` on. */
typedef struct {
  const uint8_t *rows;
  long rowBytes;
  const uint8_t *panels;
  long panelBytes;
  const uint8_t *after;
  uint8_t *sums;
  long sumBytes;
  int count, panelCount, steps, isLater;
  const uint8_t *next, *end;
  int share, shares, comeFirst;
} block;

/* Bytes of a number in memory: of a float, or of what has been rounded to bfloat16. */
enum { FloatBytes = 4, BfloatBytes = 2 };
static inline int bytesOf(const buffer *numbers) { return (numbers->type >> 8 & 0xff) / 8; }

/* Asks for the numbers of an axis. */
static inline void ask(axis *of, int min, int extent) {
  of->min = min;
  of->extent = extent;
}

/* Asks for what the last axes of `sums` say, from axis `first` of `input` on. */
static inline void askAlike(buffer *input, int first, const buffer *sums) {
  for (int from = input->rank - 1, to = sums->rank - 1; from >= first; --from, --to)
    ask(&input->axes[from], sums->axes[to].min, sums->axes[to].extent);
}

/* Whether Halide asks for bounds: buffers have no memory then. */
static inline int isBoundsQuery(const buffer *rows, const buffer *panels, const buffer *sums) {
  return !rows->host || !panels->host || !sums->host;
}

/* Answers a bounds query. Tiles may reach past the last row and the last panel, which are not read: only the
 * first of each is asked for. */
static inline int answer(buffer *rows, buffer *panels, const buffer *sums, int width, int depth) {
  if (!rows->host) {
    ask(&rows->axes[0], 0, width);
    ask(&rows->axes[1], sums->axes[1].min, 1);
  }
  if (!panels->host) {
    const int rank = panels->rank;
    if (rank > 3)
      ask(&panels->axes[0], 0, 4);
    ask(&panels->axes[rank - 3], 0, PanelColumns);
    ask(&panels->axes[rank - 2], 0, depth);
    ask(&panels->axes[rank - 1], sums->axes[0].min / PanelColumns, 1);
  }
  return 0;
}

/* The block that `sums` asks for, of at most 32 rows: those that there are, for rows past the end are asked
 * for as well; so are panels. */
static inline block place(const buffer *rows, const buffer *panels, const buffer *sums, int elementBytes) {
  const axis *column = &sums->axes[0], *row = &sums->axes[1], *panel = &panels->axes[panels->rank - 1];
  int first = column->min / PanelColumns, end = panelsOf(column->min + column->extent);
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
  b.next = b.panels + b.panelCount * b.panelBytes;
  b.end = b.panels + (lastPanel - first) * b.panelBytes;
  b.after = row->min == rows->axes[1].min ? b.next : 0;
  b.share = (row->min - rows->axes[1].min) / MostRows;
  b.shares = (rows->axes[1].extent + MostRows - 1) / MostRows;
  b.comeFirst = first == panel->min;
  return b;
}

#endif /* ATTNC_COMPILER_EMIT_SHIM_EXTERNALSTAGE_H */
