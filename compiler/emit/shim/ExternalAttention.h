/* ExternalAttention.h - attention of many queries in bfloat16, but for how tiles are multiplied.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A tile is some panels of 32 queries by 32 keys. A stage's last axes are those of a task, of which there is
 * one element: its block of keys, block of queries, head and batch.
 */

#ifndef ATTNC_COMPILER_EMIT_SHIM_EXTERNALATTENTION_H
#define ATTNC_COMPILER_EMIT_SHIM_EXTERNALATTENTION_H

#include "RoundedRows.h"
#include "compiler/kernels/StageLimits.h"

enum { WeightBytes = StageKeys / 2 * GroupBytes }; /* of a block of keys */

/* What a task reads of keys or values, which are floats or bfloat16, width x key x key head x batch. */
typedef struct {
  const uint8_t *rows; /* from the first key of the block on */
  long stride;         /* from one key to the next, in bytes */
  int count;           /* keys that there are from there on */
  int bytes;           /* of a number */
} memory;

/* From key `first` on. `sums` ends in the axes head and batch; `group` heads share one of `input`. */
static inline memory findKeys(const buffer *input, const buffer *sums, int first, int group) {
  const axis *of = input->axes, *last = &sums->axes[sums->rank - 2];
  int head = last[0].min / group;
  long at = (first - of[1].min) * (long)of[1].stride + (head - of[2].min) * (long)of[2].stride +
            (last[1].min - of[3].min) * (long)of[3].stride;
  int bytes = bytesOf(input);
  memory found = {input->host + at * bytes, of[1].stride * (long)bytes, of[1].min + of[1].extent - first,
                  bytes};
  return found;
}

/* The first key of the block of so many that a stage's result is of. */
static inline int firstOfBlock(const buffer *sums, int keys) { return sums->axes[sums->rank - 4].min * keys; }

/* Asks for the first key of what a task reads: others are there. */
static inline void askForKeys(buffer *input, const buffer *sums, int width, int group) {
  const axis *head = &sums->axes[sums->rank - 2], *batch = &sums->axes[sums->rank - 1];
  int last = (head->min + head->extent - 1) / group;
  ask(&input->axes[0], 0, width);
  ask(&input->axes[1], 0, 1);
  ask(&input->axes[2], head->min / group, last - head->min / group + 1);
  ask(&input->axes[3], batch->min, batch->extent);
}

/* 16 rows of 16 words become 16 columns, `toStride` bytes apart. */
static inline __attribute__((always_inline)) void turnVectors(const __m512i *rows, uint8_t *to,
                                                              long toStride) {
  __m512i pairs[16], fours[16];
  UNROLL for (int i = 0; i < 16; i += 2) {
    pairs[i] = _mm512_unpacklo_epi32(rows[i], rows[i + 1]);
    pairs[i + 1] = _mm512_unpackhi_epi32(rows[i], rows[i + 1]);
  }
  UNROLL for (int i = 0; i < 16; i += 4) UNROLL for (int j = 0; j < 2; ++j) {
    fours[i + 2 * j] = _mm512_unpacklo_epi64(pairs[i + j], pairs[i + j + 2]);
    fours[i + 2 * j + 1] = _mm512_unpackhi_epi64(pairs[i + j], pairs[i + j + 2]);
  }
  /* fours[4 i + c]: in each quarter q, column 4 q + c of rows 4 i to 4 i + 3 */
  UNROLL for (int c = 0; c < 4; ++c) {
    __m512i low = _mm512_shuffle_i32x4(fours[c], fours[4 + c], 0x88),
            lowOdd = _mm512_shuffle_i32x4(fours[c], fours[4 + c], 0xdd),
            high = _mm512_shuffle_i32x4(fours[8 + c], fours[12 + c], 0x88),
            highOdd = _mm512_shuffle_i32x4(fours[8 + c], fours[12 + c], 0xdd);
    _mm512_storeu_si512(to + (0 + c) * toStride, _mm512_shuffle_i32x4(low, high, 0x88));
    _mm512_storeu_si512(to + (4 + c) * toStride, _mm512_shuffle_i32x4(lowOdd, highOdd, 0x88));
    _mm512_storeu_si512(to + (8 + c) * toStride, _mm512_shuffle_i32x4(low, high, 0xdd));
    _mm512_storeu_si512(to + (12 + c) * toStride, _mm512_shuffle_i32x4(lowOdd, highOdd, 0xdd));
  }
}

/* The same of rows in memory, `stride` bytes apart. */
static inline void turnWords(const uint8_t *from, long stride, uint8_t *to, long toStride) {
  __m512i rows[16];
  UNROLL for (int i = 0; i < 16; ++i) rows[i] = _mm512_loadu_si512(from + i * stride);
  turnVectors(rows, to, toStride);
}

/* Queries, float width x query ..., become panels of words of pairs, query x pair x panel ...; zeros fill up
 * the width. */
static inline int turnRounded(buffer *queries, int width, buffer *words) {
  const axis *panels = &words->axes[2];
  if (!queries->host || !words->host) {
    askAlike(queries, 2, words);
    ask(&queries->axes[0], 0, width);
    ask(&queries->axes[1], 0, panels->extent * PanelColumns);
    return 0;
  }
  uint8_t rounded[TileRows][StageColumns * BfloatBytes] __attribute__((aligned(64)));
  long stride = queries->axes[1].stride * (long)FloatBytes;
  int steps = stepsOf(width);
  for (int first = 0; first < panels->extent * PanelColumns; first += TileRows) {
    uint8_t *to = words->host + first / PanelColumns * (panels->stride * 4L) + first % PanelColumns * 4;
    for (int row = 0; row < TileRows; ++row)
      roundRow(queries->host + (first + row) * stride, FloatBytes, width, rounded[row], steps * StepWidth);
    for (int step = 0; step < steps; ++step)
      turnWords(rounded[0] + step * TileBytes, sizeof rounded[0], to + step * StepBytes, GroupBytes);
  }
  return 0;
}

/* Panels of the block of queries that `result` is of, in which there are queries; `queries` in all. */
static inline int countPanels(const buffer *result, const axis *query, int queries) {
  const axis *block = &result->axes[result->rank - 3];
  int left = queries - block->min * query->extent;
  return ((left < query->extent ? left : query->extent) + PanelColumns - 1) / PanelColumns;
}

/* Scores of a block of queries with a tile of keys. */
typedef struct {
  buffer *input;   /* keys */
  buffer *queries; /* see turnRounded */
  int width, keys; /* of a key; of a block, in all */
  int group;       /* heads that share one of `input` */
  int count;       /* queries in all */
  buffer *sums;    /* float query x key x tile x block ... */
} scoring;

static inline int askForScoring(const scoring *s) {
  if (!s->input->host)
    askForKeys(s->input, s->sums, s->width, s->group);
  askAlike(s->queries, 2, s->sums);
  ask(&s->queries->axes[0], 0, PanelColumns);
  ask(&s->queries->axes[1], 0, stepsOf(s->width) * TileRows);
  ask(&s->queries->axes[2], 0, s->sums->axes[0].extent / PanelColumns);
  return 0;
}

static inline int scoreRounded(const scoring *s, void (*multiply)(const block *)) {
  if (isBoundsQuery(s->input, s->queries, s->sums))
    return askForScoring(s);
  const buffer *sums = s->sums;
  memory found = findKeys(s->input, sums, firstOfBlock(sums, s->keys), s->group);
  int first = sums->axes[2].min * PanelColumns, left = found.count - first;
  block b = {.rows = found.rows + first * found.stride,
             .rowBytes = found.stride,
             .panels = s->queries->host,
             .panelBytes = s->queries->axes[2].stride * 4L,
             .sums = sums->host,
             .sumBytes = sums->axes[1].stride * 4L,
             .count = left < PanelColumns ? left : PanelColumns,
             .panelCount = countPanels(sums, &sums->axes[0], s->count)};
  multiplyPrepared(&b, found.bytes, s->width, multiply);
  return 0;
}

/* Numbers of one place of two rows become words of pairs. */
static inline __m512i pairUp(__m512 even, __m512 odd) {
  const __m512i order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7,
                                         22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  return _mm512_permutexvar_epi16(order, (__m512i)_mm512_cvtne2ps_pbh(odd, even));
}

/* Two rows of 32 numbers, of which those in `mask` are there, become words of a panel. */
static inline void pairUpRow(const uint8_t *even, const uint8_t *odd, int bytes, __mmask32 mask,
                             uint8_t *words) {
  for (int half = 0; half < PanelColumns; half += 16) {
    __mmask16 lanes = (__mmask16)(mask >> half);
    _mm512_store_si512((void *)(words + 4 * half),
                       pairUp(load(even, bytes, half, lanes), load(odd, bytes, half, lanes)));
  }
}

/* Pairs of rows as they are: `bytes` is known where this is inlined. */
static inline __attribute__((always_inline)) void pairUpWhole(const uint8_t *rows, long stride, int pairs,
                                                              const int bytes, uint8_t *panel) {
  for (int pair = 0; pair < pairs; ++pair)
    pairUpRow(rows + 2 * pair * stride, rows + (2 * pair + 1) * stride, bytes, ~0u,
              panel + pair * GroupBytes);
}

/* The first `count` rows, of which `columns` numbers (32 at most) are taken, become a panel of `steps` times
 * 32; what is not there is zero. */
static inline void pairUpRows(const uint8_t *rows, const memory *of, int count, int columns, int steps,
                              uint8_t *panel) {
  static const float zeros[PanelColumns];
  const uint8_t *none = (const uint8_t *)zeros;
  long stride = of->stride;
  int whole = columns >= PanelColumns ? count / 2 : 0;
  if (of->bytes == FloatBytes)
    pairUpWhole(rows, stride, whole, FloatBytes, panel);
  else
    pairUpWhole(rows, stride, whole, BfloatBytes, panel);
  rows += 2 * whole * stride;
  for (int pair = whole; pair < steps * TileRows; ++pair, rows += 2 * stride)
    pairUpRow(2 * pair < count ? rows : none, 2 * pair + 1 < count ? rows + stride : none, of->bytes,
              columns < PanelColumns ? (1u << columns) - 1 : ~0u, panel + pair * GroupBytes);
}

/* 2^x for x <= 0 where `mask` is set; zero below -100 and elsewhere. The polynomials err by 7.5e-5 of 2^x,
 * 1/52 of what rounding to bfloat16 may. Those that have AMX have fast instructions that give fraction and
 * power. */
static inline __m512 powerWhere(__mmask16 mask, __m512 x) {
  mask = _mm512_mask_cmp_ps_mask(mask, x, _mm512_set1_ps(-100), _CMP_NLT_UQ);
#ifdef __AMX_TILE__
  __m512 fraction = _mm512_reduce_ps(x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
  __m512 sum = _mm512_fmadd_ps(_mm512_set1_ps(0.07802452f), fraction, _mm512_set1_ps(0.22606716f));
  sum = _mm512_fmadd_ps(sum, fraction, _mm512_set1_ps(0.69583354f));
  sum = _mm512_fmadd_ps(sum, fraction, _mm512_set1_ps(0.99992522f));
  return _mm512_maskz_scalef_ps(mask, sum, x);
#else
  /* Adding 1.5 * 2^23 leaves the nearest whole number in the lowest bits: AMD's instructions for that take
   * three times as long. */
  const __m512 toWhole = _mm512_set1_ps(12582912.f);
  __m512 whole = _mm512_add_ps(x, toWhole), fraction = _mm512_sub_ps(x, _mm512_sub_ps(whole, toWhole));
  __m512 sum = _mm512_fmadd_ps(_mm512_set1_ps(0.05517167f), fraction, _mm512_set1_ps(0.24261112f));
  sum = _mm512_fmadd_ps(sum, fraction, _mm512_set1_ps(0.69326099f));
  sum = _mm512_fmadd_ps(sum, fraction, _mm512_set1_ps(0.99992807f));
  return (__m512)_mm512_maskz_add_epi32(mask, _mm512_slli_epi32((__m512i)whole, 23), (__m512i)sum);
#endif
}
static inline __m512 power(__m512 x) { return powerWhere(0xffff, x); }

/* Scores of 32 queries, a row for each key, become a panel of weights, whose sums are written `sumStride`
 * apart. */
static inline void weigh(const float *scores, long stride, const float *maximum, int steps, uint8_t *panel,
                         float *sums, int sumStride) {
  for (int half = 0; half < PanelColumns; half += 16) {
    __m512 highest = _mm512_loadu_ps(maximum + half), sum = _mm512_setzero_ps(), odds = _mm512_setzero_ps();
    for (int pair = 0; pair < steps * TileRows; ++pair) {
      const float *row = scores + 2 * pair * stride + half;
      __m512 even = power(_mm512_sub_ps(_mm512_loadu_ps(row), highest));
      __m512 odd = power(_mm512_sub_ps(_mm512_loadu_ps(row + stride), highest));
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

/* Values of a block's keys, mixed by what a block of queries weighs them. */
typedef struct {
  buffer *scores;  /* float query x key x block ... */
  buffer *maxima;  /* float query x block ... */
  buffer *input;   /* values */
  buffer *range;   /* the first key of the block that is mixed, which begins a tile, and the end */
  int width, keys; /* of a value; of a block, in all */
  int group;       /* heads that share one of `input` */
  int queries;     /* in all */
  buffer *context; /* float column x query x block ... */
  buffer *sums;    /* of weights, alike, in column 0 */
} mixing;

static inline int isMixingQuery(const mixing *m) {
  return isBoundsQuery(m->scores, m->maxima, m->input) || isBoundsQuery(m->range, m->context, m->sums);
}

static inline int askForMixing(const mixing *m) {
  if (!m->input->host)
    askForKeys(m->input, m->context, m->width, m->group);
  askAlike(m->scores, 2, m->context);
  askAlike(m->maxima, 1, m->context);
  askAlike(m->range, 1, m->context);
  ask(&m->scores->axes[0], 0, m->context->axes[1].extent);
  ask(&m->scores->axes[1], 0, m->keys);
  ask(&m->maxima->axes[0], 0, m->context->axes[1].extent);
  ask(&m->range->axes[0], 0, 2);
  return 0;
}

/* Weighs and mixes for the panel of queries that begins with `query`. `arrange` makes the rows of the block
 * from the panel of weights, in its place or the spare one. */
static inline void mixPanel(const mixing *m, block b, int query,
                            void (*arrange)(block *b, const uint8_t *weights, uint8_t *spare),
                            void (*multiply)(const block *)) {
  uint8_t weights[WeightBytes] __attribute__((aligned(64))), spare[WeightBytes] __attribute__((aligned(64)));
  long stride = m->scores->axes[1].stride, sumStride = m->sums->axes[1].stride;
  int first = ((const int32_t *)m->range->host)[0];
  weigh((const float *)m->scores->host + first * stride + query, stride,
        (const float *)m->maxima->host + query, b.steps, weights, (float *)m->sums->host + query * sumStride,
        (int)sumStride);
  arrange(&b, weights, spare);
  b.sums += query * b.sumBytes;
  WRITE_OUT();
  multiply(&b);
}

static inline int mixRounded(const mixing *m,
                             void (*arrange)(block *b, const uint8_t *weights, uint8_t *spare),
                             void (*multiply)(const block *)) {
  if (isMixingQuery(m))
    return askForMixing(m);
  uint8_t panels[StageColumns / PanelColumns][WeightBytes] __attribute__((aligned(64)));
  memory found = findKeys(m->input, m->context, firstOfBlock(m->context, m->keys), m->group);
  const int32_t *range = (const int32_t *)m->range->host;
  int first = range[0], count = range[1] > first ? range[1] - first : 0;
  block b = {.panels = panels[0],
             .panelBytes = sizeof panels[0],
             .sums = m->context->host,
             .sumBytes = m->context->axes[1].stride * 4L,
             .count = PanelColumns,
             .panelCount = panelsOf(m->width),
             .steps = stepsOf(count)};
  for (int panel = 0; panel < b.panelCount; ++panel)
    pairUpRows(found.rows + first * found.stride + panel * PanelColumns * found.bytes, &found, count,
               m->width - panel * PanelColumns, b.steps, panels[panel]);
  for (int panel = 0; panel < countPanels(m->context, &m->context->axes[1], m->queries); ++panel)
    mixPanel(m, b, panel * PanelColumns, arrange, multiply);
  return 0;
}

#endif /* ATTNC_COMPILER_EMIT_SHIM_EXTERNALATTENTION_H */
