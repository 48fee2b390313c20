/* StepAttention.c - attention of one query a row, over keys and values in memory (AVX2 and FMA, or AVX-512).
 * SPDX-License-Identifier: Apache-2.0
 *
 * A step reads each key and value once and does little with it: how fast memory gives them decides. While all
 * heads' keys are multiplied, their values are asked for; while these are mixed, the keys that come next are.
 * Bfloat16 is widened by pairs, so columns at even places are apart from those at odd ones until the end.
 * Keys are summed up one by one, and blocks of 128 begin at key 0: a row's result depends on its own keys
 * only.
 */

#include "FloatLanes.h"

enum { Pair = 2 * Lanes /* columns that are read at once */, UsualColumns = 64 };

typedef struct {
  buffer *queries;       /* float width x 1 x 1 x head x row */
  buffer *bounds;        /* int32 1 x 2 x 1 x head x row: where the keys that the query sees begin and end */
  buffer *slots;         /* int32 row, or key x row: where a row's keys are in memory */
  buffer *keys, *values; /* width x key x head x slot, or width x head x key x slot; all axes begin at 0 */
  int width, valueWidth;
  int keyGroup, valueGroup; /* heads that share one of keys, of values */
  int keyAxis;              /* of keys and values: 1 or 2 */
  buffer *context;          /* float width x 1 x 1 x head x row */
} step;

/* Some keys, or values, of one row. */
typedef struct {
  int row, first, count;
} keyBlock;

/* Where they are; those past the last one are that one again. */
typedef struct {
  const uint8_t *rows[StageKeys]; /* the first head's part */
  long head;                      /* bytes from one head's part to the next */
  int bytes;                      /* of a number */
} places;

/* Of one head, in the blocks so far. */
typedef struct {
  float maximum, sum;
} softmax;

/* A block: its keys, its values, the keys that come next. Those from `begin` up to `end` are seen. */
typedef struct {
  const places *keys, *values, *next;
  int begin, end;
} blockParts;

/* What one head reads of a block, and what it asks for meanwhile. */
typedef struct {
  const places *from, *later;
  long at, laterAt; /* of the head's part */
  int asks;         /* or another head does, which shares it */
  int begin, end;   /* keys that are seen */
} part;

/* Some columns of one head, and the bytes of a number. Loops over a constant count are unrolled. */
typedef struct {
  int first, count, bytes;
} columns;

/* Of memory, the first number of each kind: others are there. */
static int askForStep(const step *s) {
  const axis *row = &s->context->axes[4];
  askAlike(s->queries, 2, s->context);
  ask(&s->queries->axes[0], 0, s->width);
  ask(&s->queries->axes[1], 0, 1);
  askAlike(s->bounds, 2, s->context);
  ask(&s->bounds->axes[0], 0, 1);
  ask(&s->bounds->axes[1], 0, 2);
  ask(&s->slots->axes[0], 0, 1);
  ask(&s->slots->axes[s->slots->rank - 1], row->min, row->extent);
  for (int i = 0; i < 4; ++i) {
    ask(&s->keys->axes[i], 0, i == 0 ? s->width : 1);
    ask(&s->values->axes[i], 0, i == 0 ? s->valueWidth : 1);
  }
  return 0;
}

/* Places of a block, as many as a vector has lanes, or several times that: at least `room`. */
static void findPlaces(const step *s, const buffer *memory, const keyBlock *b, int room, places *found) {
  const axis *key = &memory->axes[s->keyAxis], *slot = &memory->axes[3];
  const int32_t *slots =
      (const int32_t *)s->slots->host + b->row * (long)s->slots->axes[s->slots->rank - 1].stride;
  long next = s->slots->rank > 1 ? s->slots->axes[0].stride : 0;
  found->bytes = bytesOf(memory);
  found->head = memory->axes[3 - s->keyAxis].stride * (long)found->bytes;
  for (int i = 0; i < b->count; ++i) {
    int of = least(most(slots[(b->first + i) * next], 0), slot->extent - 1);
    long at = (b->first + i) * (long)key->stride + of * (long)slot->stride;
    found->rows[i] = memory->host + at * found->bytes;
  }
  for (int i = b->count; i < room || i % Lanes != 0; ++i)
    found->rows[i] = found->rows[b->count - 1];
}

/* Floats at even places of what is in memory, and those at odd ones; of floats, the first half and the other.
 */
INLINE void readPair(const uint8_t *from, const int bytes, floats *even, floats *odd) {
  if (bytes == BfloatBytes) {
    widenBfloats(from, even, odd);
  } else {
    *even = loadFloats(from);
    *odd = loadFloats(from + Lanes * FloatBytes);
  }
}

INLINE void askFor(const part *p, int key, const columns c) {
  const uint8_t *from = p->later->rows[key] + p->laterAt + c.first * c.bytes;
  if (p->asks)
    UNROLL for (int at = 0; at < c.count * c.bytes; at += LineBytes) FETCH(1, from + at);
}

/* Adds the products of some columns of as many keys as a vector has lanes. */
INLINE void addProducts(const part *p, int key, const columns c, const float *query, floats *products) {
  UNROLL for (int i = 0; i < Lanes; ++i) {
    const uint8_t *row = p->from->rows[key + i] + p->at + c.first * c.bytes;
    floats even = products[i], odd = noFloats(), x, y;
    UNROLL for (int at = 0; at < c.count; at += Pair) {
      readPair(row + at * c.bytes, c.bytes, &x, &y);
      even = timesPlus(x, loadFloats(query + c.first + at), even);
      odd = timesPlus(y, loadFloats(query + c.first + at + Lanes), odd);
    }
    askFor(p, key + i, c);
    products[i] = added(even, odd);
  }
}

INLINE floats scoreKeys(const part *p, int key, const float *query, const int width, const int bytes) {
  floats products[Lanes];
  UNROLL for (int i = 0; i < Lanes; ++i) products[i] = noFloats();
  int column = 0;
  for (; column + UsualColumns <= width; column += UsualColumns)
    addProducts(p, key, (columns){column, UsualColumns, bytes}, query, products);
  for (; column < width; column += Pair)
    addProducts(p, key, (columns){column, Pair, bytes}, query, products);
  return acrossLanes(products, added);
}

/* The sums of values by their weights, of some columns. */
INLINE void mixColumns(const part *p, const columns c, const float *weights, float decay, float *context) {
  floats sums[UsualColumns / Lanes];
  UNROLL for (int i = 0; i < c.count / Lanes; ++i) sums[i] =
      times(loadFloats(context + c.first + i * Lanes), broadcast(decay));
  for (int key = p->begin; key < p->end; ++key) {
    const uint8_t *row = p->from->rows[key] + p->at + c.first * c.bytes;
    floats weight = broadcast(weights[key]), x, y;
    UNROLL for (int i = 0; i < c.count / Lanes; i += 2) {
      readPair(row + i * Lanes * c.bytes, c.bytes, &x, &y);
      sums[i] = timesPlus(x, weight, sums[i]);
      sums[i + 1] = timesPlus(y, weight, sums[i + 1]);
    }
    askFor(p, key, c);
  }
  UNROLL for (int i = 0; i < c.count / Lanes; ++i) storeFloats(context + c.first + i * Lanes, sums[i]);
}

INLINE void mixOf(const part *p, int width, const float *weights, float decay, float *context,
                  const int bytes) {
  int column = 0;
  for (; column + UsualColumns <= width; column += UsualColumns)
    mixColumns(p, (columns){column, UsualColumns, bytes}, weights, decay, context);
  for (; column < width; column += Pair)
    mixColumns(p, (columns){column, Pair, bytes}, weights, decay, context);
}

static void mix(const part *p, int width, const float *weights, float decay, float *context) {
  if (p->from->bytes == BfloatBytes)
    mixOf(p, width, weights, decay, context, BfloatBytes);
  else
    mixOf(p, width, weights, decay, context, FloatBytes);
}

INLINE void scoreOf(const part *p, const float *query, float *scores, const int width, const int bytes) {
  for (int first = p->begin / Lanes * Lanes; first < p->end; first += Lanes) {
    floats tile = scoreKeys(p, first, query, width, bytes);
    storeFloats(scores + first, maskedBut(tile, p->begin - first, p->end - first));
  }
}

static void score(const part *p, int width, const float *query, float *scores) {
  if (width == UsualColumns && p->from->bytes == BfloatBytes)
    scoreOf(p, query, scores, UsualColumns, BfloatBytes);
  else if (width == UsualColumns)
    scoreOf(p, query, scores, UsualColumns, FloatBytes);
  else if (p->from->bytes == BfloatBytes)
    scoreOf(p, query, scores, width, BfloatBytes);
  else
    scoreOf(p, query, scores, width, FloatBytes);
}

/* Scores become weights, and what was summed up before is multiplied with the result. */
static float weigh(float *scores, int begin, int end, softmax *of) {
  floats highest = broadcast(of->maximum), sum = noFloats();
  for (int key = begin / Lanes * Lanes; key < end; key += Lanes)
    highest = larger(highest, loadFloats(scores + key));
  float maximum = largest(highest), decay[Lanes];
  storeFloats(decay, powerOf(minus(broadcast(of->maximum), broadcast(maximum))));
  for (int key = begin / Lanes * Lanes; key < end; key += Lanes) {
    floats weights = powerOf(minus(loadFloats(scores + key), broadcast(maximum)));
    storeFloats(scores + key, weights);
    sum = added(sum, weights);
  }
  of->maximum = maximum;
  of->sum = of->sum * decay[0] + total(sum);
  return decay[0];
}

/* A query as keys are read. */
static void layQuery(const float *from, int width, int bytes, float *query) {
  for (int column = 0; column < width; column += Pair) {
    floats even = loadFloats(from + column), odd = loadFloats(from + column + Lanes);
    if (bytes == BfloatBytes)
      takeApart(even, odd, &even, &odd);
    storeFloats(query + column, even);
    storeFloats(query + column + Lanes, odd);
  }
}

/* What head `i` of the context's reads of a block's keys. Of heads that share values, the first asks for
 * them. */
static part keysOf(const step *s, const blockParts *b, int i) {
  int head = s->context->axes[3].min + i, key = head / s->keyGroup, value = head / s->valueGroup;
  int isFirst = i == 0 || head % s->valueGroup == 0;
  return (part){b->keys, b->values, key * b->keys->head, value * b->values->head, isFirst, b->begin, b->end};
}

/* What it reads of the values. The first of heads that share keys asks for those of the next block. */
static part valuesOf(const step *s, const blockParts *b, int i) {
  int head = s->context->axes[3].min + i, key = head / s->keyGroup, value = head / s->valueGroup;
  int isFirst = i == 0 || head % s->keyGroup == 0;
  return (part){b->values, b->next, value * b->values->head, key * b->next->head, isFirst, b->begin, b->end};
}

/* Has all heads look at a block: one's work is done while another's waits. */
static void attendBlock(const step *s, const blockParts *b, softmax *ofHeads) {
  const axis *head = &s->context->axes[3];
  float scores[StepHeads][StageKeys] __attribute__((aligned(64))), decays[StepHeads];
  for (int i = 0; i < head->extent; ++i) {
    float query[StepColumns] __attribute__((aligned(64)));
    part p = keysOf(s, b, i);
    layQuery((const float *)s->queries->host + i * (long)s->queries->axes[3].stride, s->width, b->keys->bytes,
             query);
    score(&p, s->width, query, scores[i]);
  }
  for (int i = 0; i < head->extent; ++i)
    decays[i] = weigh(scores[i], b->begin, b->end, &ofHeads[i]);
  for (int i = 0; i < head->extent; ++i) {
    part p = valuesOf(s, b, i);
    mix(&p, s->valueWidth, scores[i], decays[i], (float *)s->context->host + i * (long)head->stride);
  }
}

/* Divides what was mixed by the sum of weights, in the order of columns; what sees no key is zero. */
static void finish(float *context, int width, int bytes, float sum) {
  floats factor = broadcast(sum > 0 ? 1 / sum : 0);
  for (int column = 0; column < width; column += Pair) {
    floats even = times(loadFloats(context + column), factor),
           odd = times(loadFloats(context + column + Lanes), factor);
    if (bytes == BfloatBytes)
      putTogether(even, odd, &even, &odd);
    storeFloats(context + column, even);
    storeFloats(context + column + Lanes, odd);
  }
}

static keyBlock blockAt(int row, int first, int end) {
  keyBlock b = {row, first, least(end - first, StageKeys)};
  return b;
}

/* What is read after a block: the next one, or the first one of the row that comes next. */
static keyBlock nextBlock(const step *s, const keyBlock *b, int start, int end) {
  if (b->first + StageKeys < end)
    return blockAt(b->row, b->first + StageKeys, end);
  int lastRow = s->slots->axes[s->slots->rank - 1].extent - 1;
  return blockAt(least(b->row + 1, lastRow), start / StageKeys * StageKeys, end);
}

static int attendStep(const step *s) {
  if (!s->queries->host || !s->bounds->host || !s->slots->host || !s->keys->host || !s->values->host ||
      !s->context->host)
    return askForStep(s);
  const axis *head = &s->context->axes[3];
  const int32_t *bounds = (const int32_t *)s->bounds->host;
  int start = bounds[0], end = bounds[s->bounds->axes[1].stride];
  softmax ofHeads[StepHeads];
  for (int i = 0; i < head->extent; ++i) {
    float *context = (float *)s->context->host + i * (long)head->stride;
    for (int column = 0; column < s->valueWidth; column += Lanes)
      storeFloats(context + column, noFloats());
    ofHeads[i] = (softmax){ATTNC_LOWEST_MAXIMUM, 0};
  }
  places keys[2], values;
  keyBlock now = blockAt(s->context->axes[4].min, start / StageKeys * StageKeys, end);
  if (start < end)
    findPlaces(s, s->keys, &now, 0, &keys[0]);
  for (int turn = 0; start < end && now.first < end; turn ^= 1) {
    keyBlock next = nextBlock(s, &now, start, end);
    findPlaces(s, s->values, &now, 0, &values);
    findPlaces(s, s->keys, &next, now.count, &keys[turn ^ 1]);
    blockParts b = {&keys[turn], &values, &keys[turn ^ 1], most(start - now.first, 0), now.count};
    attendBlock(s, &b, ofHeads);
    now = blockAt(now.row, now.first + StageKeys, end);
  }
  for (int i = 0; i < head->extent; ++i)
    finish((float *)s->context->host + i * (long)head->stride, s->valueWidth, bytesOf(s->values),
           ofHeads[i].sum);
  return 0;
}

#ifdef __AVX512F__
#define ATTEND attnc_attend_step_wide
#else
#define ATTEND attnc_attend_step
#endif
int ATTEND(buffer *queries, buffer *bounds, buffer *slots, buffer *keys, buffer *values, int width,
           int valueWidth, int keyGroup, int valueGroup, int keyAxis, buffer *context) {
  step s = {queries, bounds, slots, keys, values, width, valueWidth, keyGroup, valueGroup, keyAxis, context};
  return attendStep(&s);
}
