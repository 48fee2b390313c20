/* BoundedAttention.h - attention of a block of queries in bfloat16 where bounds alone hide keys.
 * SPDX-License-Identifier: Apache-2.0
 *
 * One call goes over all keys that some query of the block sees, 128 at a time: they become panels once for
 * all panels of 32 queries. Keys lie in the lanes of scores.
 */

#ifndef ATTNC_COMPILER_EMIT_SHIM_BOUNDEDATTENTION_H
#define ATTNC_COMPILER_EMIT_SHIM_BOUNDEDATTENTION_H

#include "ExternalAttention.h"
#include "FloatLanes.h"

/* Of a block of queries, of keys, of a head. */
enum { QueryPanels = StageQueries / PanelColumns, KeyPanels = StageKeys / PanelColumns };
enum { WidestSteps = StageColumns / StepWidth };

typedef struct {
  buffer *queries; /* float width x query x block of queries, head, batch */
  buffer *bounds;  /* int32 query x 2 x block ...: where the keys that a query sees begin and end */
  buffer *keys, *values;
  int width, valueWidth;
  int keyGroup, valueGroup; /* heads that share one of keys, of values */
  int count;                /* queries in all */
  buffer *context;          /* float column x query x block ... */
} attention;

/* Keys that are seen by some query, and those that are by all. */
typedef struct {
  int first, end, firstOfAll, endOfAll;
} range;

/* Adds up a panel of a block's products. */
typedef void (*multiplier)(const block *b, int panel);

/* Products that are added up between rows that are weighed, a panel at a time: the core does both at once. */
typedef struct {
  block blocks[2];
  int block, panel; /* the next one */
} products;

/* What a call computes with. */
typedef struct {
  uint8_t queries[StageQueries * StageColumns * BfloatBytes]; /* rows side by side */
  uint8_t keys[KeyPanels][WidestSteps * StepBytes];           /* pair of the width x key */
  uint8_t values[WidestSteps][WeightBytes];                   /* pair of keys x column */
  float scores[2][PanelColumns][StageKeys];                   /* of a panel, and of the next one */
  uint8_t weights[2][PanelColumns][StageKeys * BfloatBytes];  /* of a panel, and of the one before */
  float maxima[StageQueries];
  float sums[StageQueries][Lanes]; /* of weights, by the key's place in a vector */
  range panels[QueryPanels];
} workplace __attribute__((aligned(64)));

static inline int askForAttention(const attention *a) {
  if (!a->keys->host)
    askForKeys(a->keys, a->context, a->width, a->keyGroup);
  if (!a->values->host)
    askForKeys(a->values, a->context, a->valueWidth, a->valueGroup);
  askAlike(a->queries, 2, a->context);
  ask(&a->queries->axes[0], 0, a->width);
  ask(&a->queries->axes[1], 0, a->context->axes[1].extent);
  askAlike(a->bounds, 2, a->context);
  ask(&a->bounds->axes[0], 0, a->context->axes[1].extent);
  ask(&a->bounds->axes[1], 0, 2);
  return 0;
}

/* Of 16 floats or bfloat16 rows, 32 numbers of each become words of pairs, key x pair. */
static inline __attribute__((always_inline)) void turnStep(const uint8_t *rows, long stride, const int bytes,
                                                           uint8_t *to) {
  __m512i words[TileRows];
  UNROLL for (int row = 0; row < TileRows; ++row) {
    const float *numbers = (const float *)(rows + row * stride);
    words[row] = bytes == FloatBytes
                     ? (__m512i)_mm512_cvtne2ps_pbh(_mm512_loadu_ps(numbers + 16), _mm512_loadu_ps(numbers))
                     : _mm512_loadu_si512(numbers);
  }
  turnVectors(words, to, GroupBytes);
}

/* 16 keys become half a panel; those past `present`, and what fills up the width, are zero. */
static inline void turnTile(const uint8_t *rows, const memory *of, int present, int width, uint8_t *to) {
  int whole = present >= TileRows ? width / StepWidth : 0;
  for (int step = 0; step < whole; ++step)
    if (of->bytes == FloatBytes)
      turnStep(rows + step * StepWidth * FloatBytes, of->stride, FloatBytes, to + step * StepBytes);
    else
      turnStep(rows + step * StepWidth * BfloatBytes, of->stride, BfloatBytes, to + step * StepBytes);
  for (int step = whole; step < stepsOf(width); ++step) {
    uint8_t rounded[TileRows][TileBytes] __attribute__((aligned(64)));
    for (int row = 0; row < TileRows; ++row)
      roundRow(rows + row * of->stride + step * StepWidth * of->bytes, of->bytes,
               row < present ? width - step * StepWidth : 0, rounded[row], StepWidth);
    turnWords(rounded[0], TileBytes, to + step * StepBytes, GroupBytes);
  }
}

/* `count` keys become panels. */
static inline void turnKeys(const memory *of, int count, int width,
                            uint8_t (*panels)[WidestSteps * StepBytes]) {
  for (int first = 0; first < panelsOf(count) * PanelColumns; first += TileRows)
    turnTile(of->rows + first * of->stride, of, count - first, width,
             panels[first / PanelColumns] + first % PanelColumns * 4);
}

/* 16 queries and the keys of a block that their panel looks at. */
typedef struct {
  const float *scores; /* key x query, StageKeys apart */
  uint8_t *weights;    /* alike */
  float *maxima;
  float (*sums)[Lanes];
  const int32_t *starts, *ends; /* of keys that are seen */
  int first, steps;             /* the first key, and so many times StepWidth */
} queriesByKeys;

/* Those of 16 keys that a query sees. */
static inline __attribute__((always_inline)) __mmask16 seenKeys(const queriesByKeys *q, int row, int place,
                                                                const int seeAll) {
  if (seeAll)
    return 0xffff;
  __m512i key = _mm512_add_epi32(_mm512_set1_epi32(q->first + place),
                                 _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
  __mmask16 begun = _mm512_cmp_epi32_mask(key, _mm512_set1_epi32(q->starts[row]), _MM_CMPINT_NLT);
  return _mm512_mask_cmp_epi32_mask(begun, key, _mm512_set1_epi32(q->ends[row]), _MM_CMPINT_LT);
}

/* Brings maxima up to date; what sums so far are multiplied with: exactly one where they stay. */
static inline __attribute__((always_inline)) __m512 decayOf(const queriesByKeys *q, const int seeAll) {
  __m512 rows[TileRows];
  for (int row = 0; row < TileRows; ++row) {
    const float *scores = q->scores + row * StageKeys;
    __m512 highest = _mm512_set1_ps(ATTNC_LOWEST_MAXIMUM), other = highest;
    for (int place = 0; place < q->steps * StepWidth; place += StepWidth) {
      highest = _mm512_mask_max_ps(highest, seenKeys(q, row, place, seeAll), highest,
                                   _mm512_load_ps(scores + place));
      other = _mm512_mask_max_ps(other, seenKeys(q, row, place + 16, seeAll), other,
                                 _mm512_load_ps(scores + place + 16));
    }
    rows[row] = _mm512_max_ps(highest, other);
  }
  __m512 before = _mm512_load_ps(q->maxima), now = _mm512_max_ps(before, acrossLanes(rows, larger));
  _mm512_store_ps(q->maxima, now);
  return _mm512_mask_mov_ps(powerOf(_mm512_sub_ps(before, now)), _mm512_cmp_ps_mask(before, now, _CMP_EQ_OQ),
                            _mm512_set1_ps(1));
}

/* Scores become weights. */
static inline __attribute__((always_inline)) void weighRow(const queriesByKeys *q, int row, float decay,
                                                           const int seeAll) {
  const float *scores = q->scores + row * StageKeys;
  __m512 highest = _mm512_set1_ps(q->maxima[row]), sum = _mm512_setzero_ps(), odds = sum;
  for (int place = 0; place < q->steps * StepWidth; place += StepWidth) {
    __m512 even =
        powerWhere(seenKeys(q, row, place, seeAll), _mm512_sub_ps(_mm512_load_ps(scores + place), highest));
    __m512 odd = powerWhere(seenKeys(q, row, place + 16, seeAll),
                            _mm512_sub_ps(_mm512_load_ps(scores + place + 16), highest));
    sum = _mm512_add_ps(sum, even);
    odds = _mm512_add_ps(odds, odd);
    roundVectors(even, odd, q->weights + row * StageKeys * BfloatBytes + place * BfloatBytes);
  }
  __m512 before = _mm512_load_ps(q->sums[row]);
  _mm512_store_ps(q->sums[row], _mm512_fmadd_ps(before, _mm512_set1_ps(decay), _mm512_add_ps(sum, odds)));
}

/* Multiplies rows with a number each, and clears them where it is zero. */
static inline void scaleRows(float *rows, long stride, int columns, const float *by) {
  for (int row = 0; row < TileRows; ++row) {
    __m512 factor = _mm512_set1_ps(by[row]);
    __mmask16 isNotZero = _mm512_cmp_ps_mask(factor, _mm512_setzero_ps(), _CMP_NEQ_UQ);
    for (int column = 0; column < columns; column += Lanes) {
      float *at = rows + row * stride + column;
      _mm512_storeu_ps(at, _mm512_maskz_mul_ps(isNotZero, _mm512_loadu_ps(at), factor));
    }
  }
}

/* Whether there was one left. */
static inline __attribute__((always_inline)) int multiplyNext(products *p, multiplier multiply) {
  for (; p->block < 2; ++p->block, p->panel = 0)
    if (p->panel < p->blocks[p->block].panelCount) {
      WRITE_OUT();
      multiply(&p->blocks[p->block], p->panel++);
      WRITE_OUT();
      return 1;
    }
  return 0;
}

/* Weighs what 16 queries see of a block of keys. `context`: of the blocks before, brought up to date. */
static inline __attribute__((always_inline)) void weighRows(const queriesByKeys *q, float *context,
                                                            long stride, int columns, products *meanwhile,
                                                            multiplier multiply, const int seeAll) {
  enum { RowsAtOnce = 4 };
  float decays[TileRows] __attribute__((aligned(64)));
  __m512 decay = decayOf(q, seeAll);
  _mm512_store_ps(decays, decay);
  for (int row = 0; row < TileRows; row += RowsAtOnce) {
    for (int next = row; next < row + RowsAtOnce; ++next)
      weighRow(q, next, decays[next], seeAll);
    multiplyNext(meanwhile, multiply);
  }
  if (context && _mm512_cmp_ps_mask(decay, _mm512_set1_ps(1), _CMP_NEQ_UQ))
    scaleRows(context, stride, columns, decays);
}

/* The range of a panel's queries. */
static inline range rangeOf(const int32_t *starts, const int32_t *ends) {
  __m512i start = _mm512_loadu_si512(starts), otherStart = _mm512_loadu_si512(starts + Lanes),
          end = _mm512_loadu_si512(ends), otherEnd = _mm512_loadu_si512(ends + Lanes);
  range found = {_mm512_reduce_min_epi32(_mm512_min_epi32(start, otherStart)),
                 _mm512_reduce_max_epi32(_mm512_max_epi32(end, otherEnd)),
                 _mm512_reduce_max_epi32(_mm512_max_epi32(start, otherStart)),
                 _mm512_reduce_min_epi32(_mm512_min_epi32(end, otherEnd))};
  return found;
}

/* Rounds queries and finds what they see; the range of all of them. */
static inline range beginAttention(const attention *a, workplace *w, int panels) {
  long stride = a->queries->axes[1].stride * (long)FloatBytes;
  int steps = stepsOf(a->width);
  const int32_t *starts = (const int32_t *)a->bounds->host, *ends = starts + a->bounds->axes[1].stride;
  for (int query = 0; query < panels * PanelColumns; ++query)
    roundRow(a->queries->host + query * stride, FloatBytes, a->width, w->queries + query * steps * TileBytes,
             steps * StepWidth);
  for (int query = 0; query < panels * PanelColumns; ++query) {
    w->maxima[query] = ATTNC_LOWEST_MAXIMUM;
    _mm512_store_ps(w->sums[query], _mm512_setzero_ps());
  }
  range all = rangeOf(starts, ends);
  for (int panel = 0; panel < panels; ++panel) {
    range of = w->panels[panel] = rangeOf(starts + panel * PanelColumns, ends + panel * PanelColumns);
    all.first = least(all.first, of.first);
    all.end = most(all.end, of.end);
  }
  return all;
}

/* Divides what was mixed by the sums of weights; what sees no key is zero. */
static inline void endAttention(const attention *a, workplace *w, int panels) {
  long stride = a->context->axes[1].stride;
  int columns = panelsOf(a->valueWidth) * PanelColumns;
  for (int query = 0; query < panels * PanelColumns; query += TileRows) {
    float factors[TileRows] __attribute__((aligned(64)));
    __m512 rows[TileRows];
    for (int row = 0; row < TileRows; ++row)
      rows[row] = _mm512_load_ps(w->sums[query + row]);
    __m512 sum = acrossLanes(rows, added);
    _mm512_store_ps(factors, _mm512_maskz_div_ps(_mm512_cmp_ps_mask(sum, _mm512_setzero_ps(), _CMP_GT_OQ),
                                                 _mm512_set1_ps(1), sum));
    scaleRows((float *)a->context->host + query * stride, stride, columns, factors);
  }
}

/* The part of a block of keys that a panel of queries looks at. */
typedef struct {
  int panel, slot; /* of queries; which scores and weights are its own */
  int first;       /* key */
  int skipped;     /* keys before it, by the 32 */
  int steps;       /* keys, by the 32 */
  int isLater;     /* whether there is a context of blocks before */
} view;

static inline view viewOf(const workplace *w, int panel, int slot, int first, int isLater) {
  const range *of = &w->panels[panel];
  int skipped = most(of->first - first, 0) / StepWidth, end = stepsOf(least(of->end - first, StageKeys));
  view v = {panel, slot, first + skipped * StepWidth, skipped, end - skipped, isLater};
  return v;
}

static inline block scoresOf(const attention *a, workplace *w, const view *v) {
  int steps = stepsOf(a->width);
  block b = {.rows = w->queries + v->panel * PanelColumns * steps * TileBytes,
             .rowBytes = steps * TileBytes,
             .panels = w->keys[v->skipped],
             .panelBytes = sizeof w->keys[0],
             .sums = (uint8_t *)w->scores[v->slot],
             .sumBytes = sizeof w->scores[0][0],
             .count = PanelColumns,
             .panelCount = v->steps,
             .steps = steps};
  return b;
}

static inline float *contextOf(const attention *a, int panel) {
  return (float *)a->context->host + panel * PanelColumns * (long)a->context->axes[1].stride;
}

static inline block mixedOf(const attention *a, workplace *w, const view *v) {
  block b = {.rows = (const uint8_t *)w->weights[v->slot],
             .rowBytes = sizeof w->weights[0][0],
             .panels = w->values[0] + v->skipped * StepBytes,
             .panelBytes = sizeof w->values[0],
             .sums = (uint8_t *)contextOf(a, v->panel),
             .sumBytes = a->context->axes[1].stride * 4L,
             .count = PanelColumns,
             .panelCount = panelsOf(a->valueWidth),
             .steps = v->steps,
             .isLater = v->isLater};
  return b;
}

static inline void weighPanel(const attention *a, workplace *w, const view *v, products *meanwhile,
                              multiplier multiply) {
  const range *of = &w->panels[v->panel];
  int seeAll = of->firstOfAll <= v->first && of->endOfAll >= v->first + v->steps * StepWidth;
  long stride = a->context->axes[1].stride;
  int columns = panelsOf(a->valueWidth) * PanelColumns;
  for (int half = 0; half < PanelColumns; half += TileRows) {
    int query = v->panel * PanelColumns + half;
    const int32_t *starts = (const int32_t *)a->bounds->host + query;
    queriesByKeys q = {.scores = w->scores[v->slot][half],
                       .weights = w->weights[v->slot][half],
                       .maxima = w->maxima + query,
                       .sums = w->sums + query,
                       .starts = starts,
                       .ends = starts + a->bounds->axes[1].stride,
                       .first = v->first,
                       .steps = v->steps};
    float *before = v->isLater ? contextOf(a, v->panel) + half * stride : 0;
    if (seeAll)
      weighRows(&q, before, stride, columns, meanwhile, multiply, 1);
    else
      weighRows(&q, before, stride, columns, meanwhile, multiply, 0);
  }
}

/* Has all queries look at the block of keys that begins with `first`. While a panel is weighed, the next one
 * is scored, and the one before is mixed. `begun`: the panels that have a context. */
static inline unsigned attendBlock(const attention *a, workplace *w, int panels, int first, unsigned begun,
                                   multiplier multiply) {
  view views[QueryPanels];
  int count = 0;
  for (int panel = 0; panel < panels; ++panel)
    if (w->panels[panel].first < least(first + StageKeys, w->panels[panel].end) &&
        w->panels[panel].end > first) {
      views[count] = viewOf(w, panel, count % 2, first, begun >> panel & 1);
      begun |= 1u << panel;
      ++count;
    }
  for (int turn = 0; turn < count + 2; ++turn) {
    products meanwhile = {.block = 0};
    if (turn < count)
      meanwhile.blocks[0] = scoresOf(a, w, &views[turn]);
    if (turn >= 2)
      meanwhile.blocks[1] = mixedOf(a, w, &views[turn - 2]);
    if (turn >= 1 && turn - 1 < count)
      weighPanel(a, w, &views[turn - 1], &meanwhile, multiply);
    while (multiplyNext(&meanwhile, multiply))
      ;
  }
  return begun;
}

/* Context that no key has been mixed into. */
static inline void clearRows(float *rows, long stride, int columns) {
  for (int row = 0; row < PanelColumns; ++row)
    for (int column = 0; column < columns; column += Lanes)
      _mm512_storeu_ps(rows + row * stride + column, _mm512_setzero_ps());
}

static inline int asksForBounds(const attention *a) {
  return !a->queries->host || !a->bounds->host || !a->keys->host || !a->values->host || !a->context->host;
}

static inline int attend(const attention *a, multiplier multiply) {
  workplace w;
  int panels = countPanels(a->context, &a->context->axes[1], a->count);
  unsigned begun = 0;
  range all = beginAttention(a, &w, panels);
  int columns = panelsOf(a->valueWidth) * PanelColumns;
  for (int first = all.first / StageKeys * StageKeys; first < all.end; first += StageKeys) {
    memory keys = findKeys(a->keys, a->context, first, a->keyGroup),
           values = findKeys(a->values, a->context, first, a->valueGroup);
    int count = least(all.end - first, StageKeys), steps = stepsOf(count);
    turnKeys(&keys, count, a->width, w.keys);
    for (int column = 0; column < columns; column += PanelColumns)
      pairUpRows(values.rows + column * values.bytes, &values, count, a->valueWidth - column, steps,
                 w.values[column / PanelColumns]);
    begun = attendBlock(a, &w, panels, first, begun, multiply);
  }
  WRITE_OUT();
  long stride = a->context->axes[1].stride;
  for (int panel = 0; panel < panels; ++panel)
    if (!(begun >> panel & 1))
      clearRows((float *)a->context->host + panel * PanelColumns * stride, stride, columns);
  endAttention(a, &w, panels);
  return 0;
}

#endif /* ATTNC_COMPILER_EMIT_SHIM_BOUNDEDATTENTION_H */
