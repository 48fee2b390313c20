/* ExternalStage.h - what external stages of kernels share: Halide's buffers, and where a block of sums lies.
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
  TileBytes = 64, /* of a row, taken by one step */
  PanelColumns = 32,
  GroupBytes = 128,                 /* one group of inputs of all columns of a panel */
  StepBytes = TileRows * GroupBytes /* what one step takes of a panel */
};

/* The compiler does not know what tile instructions read: all that was written before is in memory from here
 * on. */
#define WRITE_OUT() __asm__ volatile("" ::: "memory")

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

/* Answers a bounds query. Tiles may reach past the last row and the last panel, which are not read: only the
 * first of each is asked for. */
static inline int answer(buffer *rows, buffer *panels, const buffer *sums, int width, int depth) {
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
static inline block place(const buffer *rows, const buffer *panels, const buffer *sums, int elementBytes) {
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

enum { MostRows = 2 * TileRows, BlockSteps = 16, BlockWidth = BlockSteps * TileBytes / 2 };

/* Rounds 32 numbers to bfloat16. */
static inline void roundVectors(__m512 first, __m512 second, uint8_t *to) {
  _mm512_store_si512((void *)to, (__m512i)_mm512_cvtne2ps_pbh(second, first));
}

/* Rounds `count` numbers to bfloat16 and fills up with zeros to `width`, a multiple of 32. */
static inline void roundRow(const float *from, int count, uint8_t *to, int width) {
  int i = 0;
  for (; i < width && i + 32 <= count; i += 32)
    roundVectors(_mm512_loadu_ps(from + i), _mm512_loadu_ps(from + i + 16), to + 2 * i);
  for (; i < width; i += 32) {
    unsigned mask = i < count ? (1u << (count - i)) - 1 : 0;
    roundVectors(_mm512_maskz_loadu_ps((__mmask16)mask, from + i),
                 _mm512_maskz_loadu_ps((__mmask16)(mask >> 16), from + i + 16), to + 2 * i);
  }
}

/* Has `multiply` add up a block whose rows are floats, rounded block by block of inputs, in an order that
 * depends on the width alone. */
static inline void multiplyBlockRounded(block b, int width, void (*multiply)(const block *)) {
  int steps = (width + 31) / 32;
  uint8_t rounded[MostRows][BlockWidth * 2] __attribute__((aligned(64)));
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
    multiply(&b);
  }
}

/* rows: float, `width` inputs; panels: 32 x pairs x panels of words; sums: float columns x rows. */
static inline int multiplyRounded(buffer *rows, buffer *panels, int width, buffer *sums,
                                  void (*multiply)(const block *)) {
  if (!rows->host || !panels->host || !sums->host)
    return answer(rows, panels, sums, width, (width + 31) / 32 * TileRows);
  multiplyBlockRounded(place(rows, panels, sums, 4), width, multiply);
  return 0;
}

/* Attention: a tile is 32 queries by 32 keys. Axes behind the first two of a stage are those of a task, of
 * which there is one element. */

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

/* What a task reads of keys or values, which are float width x key x key head x batch. */
typedef struct {
  const float *rows; /* from the first key of the block on */
  long stride;       /* from one key to the next */
  int count;         /* keys that there are from there on */
} memory;

/* `sums` ends in the axes block, block of queries, head and batch; `group` heads share one of `input`. */
static inline memory findKeys(const buffer *input, const buffer *sums, int keys, int group) {
  const axis *of = input->axes, *block = &sums->axes[sums->rank - 4];
  int first = block[0].min * keys, head = block[2].min / group;
  long at = (first - of[1].min) * (long)of[1].stride + (head - of[2].min) * (long)of[2].stride +
            (block[3].min - of[3].min) * (long)of[3].stride;
  memory found = {(const float *)input->host + at, of[1].stride, of[1].min + of[1].extent - first};
  return found;
}

/* Asks for the first key of what a task reads: others are there. */
static inline void askForKeys(buffer *input, const buffer *sums, int width, int group) {
  const axis *head = &sums->axes[sums->rank - 2], *batch = &sums->axes[sums->rank - 1];
  int last = (head->min + head->extent - 1) / group;
  ask(&input->axes[0], 0, width);
  ask(&input->axes[1], 0, 1);
  ask(&input->axes[2], head->min / group, last - head->min / group + 1);
  ask(&input->axes[3], batch->min, batch->extent);
}

/* Scores of 32 queries with a tile of keys. queries: words of pairs, query x pair ...; sums: float query x
 * key x tile x block ...; `keys` of a block. */
static inline int scoreRounded(buffer *input, buffer *queries, int width, int keys, int group, buffer *sums,
                               void (*multiply)(const block *)) {
  if (!input->host || !queries->host || !sums->host) {
    if (!input->host)
      askForKeys(input, sums, width, group);
    askAlike(queries, 2, sums);
    ask(&queries->axes[0], 0, PanelColumns);
    ask(&queries->axes[1], 0, (width + 31) / 32 * TileRows);
    return 0;
  }
  memory found = findKeys(input, sums, keys, group);
  int first = sums->axes[2].min * PanelColumns, left = found.count - first;
  block b = {.rows = (const uint8_t *)(found.rows + first * found.stride),
             .rowBytes = found.stride * 4,
             .panels = queries->host,
             .sums = sums->host,
             .sumBytes = sums->axes[1].stride * 4L,
             .count = left < PanelColumns ? left : PanelColumns,
             .panelCount = 1};
  multiplyBlockRounded(b, width, multiply);
  return 0;
}

/* Numbers of one place of two rows become words of pairs. */
static inline __m512i pairUp(__m512 even, __m512 odd) {
  const __m512i order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7,
                                         22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  return _mm512_permutexvar_epi16(order, (__m512i)_mm512_cvtne2ps_pbh(odd, even));
}

/* Two rows of 32 numbers, of which those in `mask` are there, become words of a panel. */
static inline void pairUpRow(const float *even, const float *odd, __mmask32 mask, uint8_t *words) {
  for (int half = 0; half < PanelColumns; half += 16) {
    __mmask16 lanes = (__mmask16)(mask >> half);
    __m512i both =
        pairUp(_mm512_maskz_loadu_ps(lanes, even + half), _mm512_maskz_loadu_ps(lanes, odd + half));
    _mm512_store_si512((void *)(words + 4 * half), both);
  }
}

/* `count` rows of up to 32 numbers become a panel of `steps` times 32; what is not there is zero. */
static inline void pairUpRows(const float *rows, long stride, int count, int columns, int steps,
                              uint8_t *panel) {
  static const float zeros[PanelColumns];
  int pair = 0;
  if (columns >= PanelColumns)
    for (; 2 * pair + 1 < count; ++pair, rows += 2 * stride)
      pairUpRow(rows, rows + stride, ~0u, panel + pair * GroupBytes);
  for (; pair < steps * TileRows; ++pair, rows += 2 * stride)
    pairUpRow(2 * pair < count ? rows : zeros, 2 * pair + 1 < count ? rows + stride : zeros,
              columns < PanelColumns ? (1u << columns) - 1 : ~0u, panel + pair * GroupBytes);
}

/* 2^x for x <= 0; zero below -100. The polynomial errs by 7.5e-5 of 2^x, a 52nd of what rounding to bfloat16
 * may. Adding 1.5 * 2^23 leaves the nearest whole number in the lowest bits: AMD's instructions that would
 * give fraction and power take three times as long. */
static inline __m512 power(__m512 x) {
  const __m512 toWhole = _mm512_set1_ps(12582912.f);
  __m512 whole = _mm512_add_ps(x, toWhole), fraction = _mm512_sub_ps(x, _mm512_sub_ps(whole, toWhole));
  __m512 sum = _mm512_fmadd_ps(_mm512_set1_ps(0.05517167f), fraction, _mm512_set1_ps(0.24261112f));
  sum = _mm512_fmadd_ps(sum, fraction, _mm512_set1_ps(0.69326099f));
  sum = _mm512_fmadd_ps(sum, fraction, _mm512_set1_ps(0.99992807f));
  __m512i result = _mm512_add_epi32(_mm512_slli_epi32((__m512i)whole, 23), (__m512i)sum);
  return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, _mm512_set1_ps(-100), _CMP_NLT_UQ), (__m512)result);
}

/* Scores of 32 queries, a row for each key, become a panel of weights, whose sums are written `sumStride`
 * apart. */
static inline void weigh(const float *scores, long stride, const float *maximum, int steps, uint8_t *panel,
                         float *sums, int sumStride) {
  for (int half = 0; half < PanelColumns; half += 16) {
    __m512 most = _mm512_loadu_ps(maximum + half), sum = _mm512_setzero_ps(), odds = _mm512_setzero_ps();
    for (int pair = 0; pair < steps * TileRows; ++pair) {
      const float *row = scores + 2 * pair * stride + half;
      __m512 even = power(_mm512_sub_ps(_mm512_loadu_ps(row), most));
      __m512 odd = power(_mm512_sub_ps(_mm512_loadu_ps(row + stride), most));
      sum = _mm512_add_ps(sum, even);
      odds = _mm512_add_ps(odds, odd);
      _mm512_store_si512((void *)(panel + pair * GroupBytes + 4 * half), pairUp(even, odd));
    }
    float all[16];
    _mm512_storeu_ps(all, _mm512_add_ps(sum, odds));
    for (int query = 0; query < 16; ++query)
      sums[(half + query) * sumStride] = all[query];
  }
}

enum { MostKeys = 128, MostColumns = 128, WeightBytes = MostKeys / 2 * GroupBytes };

/* Values of a block's keys, mixed by what 32 queries weigh them. scores: float query x key x block ...;
 * maxima: float query x block ...; range: the first key of the block that is mixed, which begins a tile, and
 * the end; context: float column x query x block ...; sums: of weights, alike, in column 0; `keys` of a
 * block. `arrange` makes the rows of the block from the panel of weights, in its place or the spare one. */
static inline int mixRounded(buffer *scores, buffer *maxima, buffer *input, buffer *range, int width,
                             int keys, int group, buffer *context, buffer *sums,
                             void (*arrange)(block *b, const uint8_t *weights, uint8_t *spare),
                             void (*multiply)(const block *)) {
  if (!scores->host || !maxima->host || !input->host || !range->host || !context->host || !sums->host) {
    if (!input->host)
      askForKeys(input, context, width, group);
    askAlike(scores, 2, context);
    askAlike(maxima, 1, context);
    askAlike(range, 1, context);
    ask(&scores->axes[0], 0, PanelColumns);
    ask(&scores->axes[1], 0, keys);
    ask(&maxima->axes[0], 0, PanelColumns);
    ask(&range->axes[0], 0, 2);
    return 0;
  }
  uint8_t panels[MostColumns / PanelColumns][WeightBytes] __attribute__((aligned(64)));
  uint8_t weights[WeightBytes] __attribute__((aligned(64))), spare[WeightBytes] __attribute__((aligned(64)));
  memory found = findKeys(input, context, keys, group);
  int first = ((const int32_t *)range->host)[0], count = ((const int32_t *)range->host)[1] - first;
  long stride = scores->axes[1].stride;
  block b = {.panels = panels[0],
             .panelBytes = sizeof panels[0],
             .sums = context->host,
             .sumBytes = context->axes[1].stride * 4L,
             .count = PanelColumns,
             .panelCount = (width + PanelColumns - 1) / PanelColumns,
             .steps = (count + 31) / 32};
  weigh((const float *)scores->host + first * stride, stride, (const float *)maxima->host, b.steps, weights,
        (float *)sums->host, sums->axes[1].stride);
  arrange(&b, weights, spare);
  for (int panel = 0; panel < b.panelCount; ++panel)
    pairUpRows(found.rows + first * found.stride + panel * PanelColumns, found.stride, count,
               width - panel * PanelColumns, b.steps, panels[panel]);
  WRITE_OUT();
  multiply(&b);
  return 0;
}

#endif /* ATTNC_COMPILER_EMIT_SHIM_EXTERNALSTAGE_H */
