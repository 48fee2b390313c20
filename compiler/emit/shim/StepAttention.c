/* StepAttention.c - attention of one query a row, over keys and values in memory (AVX2 and FMA, or AVX-512).
 * SPDX-License-Identifier: Apache-2.0
 *
 * A step reads each key and value once and does little with it: how fast memory gives them decides. While all
 * heads' keys are multiplied, their values are asked for; while these are mixed, the keys that come next are.
 * Bfloat16 is widened by pairs, so columns at even places are apart from those at odd ones until the end.
 * Keys are summed up one by one, and blocks of 128 begin at key 0. Spans of whole blocks, whose number
 * follows from the keys that the query sees, are summed up apart, by one task or by several, and merged in
 * their order: a row's result depends on its own keys only.
 */

#include "FloatLanes.h"

enum { Pair = 2 * Lanes /* columns that are read at once */, UsualColumns = 64, SpanBlocks = 4 };

typedef struct {
  buffer *queries;       /* float width x 1 x 1 x head x row */
  buffer *bounds;        /* int32 1 x 2 x 1 x head x row: where the keys that the query sees begin and end */
  buffer *slots;         /* int32 row, or key x row: where a row's keys are in memory */
  buffer *keys, *values; /* width x key x head x slot, or width x head x key x slot; all axes begin at 0 */
  int width, valueWidth;
  int keyGroup, valueGroup; /* heads that share one of keys, of values */
  int keyAxis;              /* of keys and values: 1 or 2 */
  buffer *result; /* float width x 1 x 1 x head x row: the context; or width x 1 x span x 1 x head x row: its
                     parts, behind which lie their maximum and sum of weights */
} step;

static const axis *headsOf(const step *s) { return &s->result->axes[s->result->rank - 2]; }
static const axis *rowOf(const step *s) { return &s->result->axes[s->result->rank - 1]; }

/* Some keys, or values, of one row. */
typedef struct {
  int row, first, count;
} keyBlock;

/* The keys that a row's query sees, and those at which its first span begins and that each span has. */
typedef struct {
  int row, begin, end, first, inSpan;
} keyRange;

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

/* Of all heads of a task: the values mixed in the blocks so far, `stride` floats from head to head. */
typedef struct {
  float *context;
  long stride;
  softmax ofHeads[StepHeads];
} sums;

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
} part;

/* What all heads read of a block: keys (or values) from `begin` up to `end`, so many of one head and then of
 * the next one. */
typedef struct {
  part ofHeads[StepHeads];
  int heads, begin, end, together;
} parts;

/* Some columns of one head, and the bytes of a number. Loops over a constant count are unrolled. */
typedef struct {
  int first, count, bytes;
} columns;

static int asksForBounds(const step *s) {
  return !s->queries->host || !s->bounds->host || !s->slots->host || !s->keys->host || !s->values->host ||
         !s->result->host;
}

/* Of memory, the first number of each kind: others are there. */
static int askForStep(const step *s) {
  const axis *row = rowOf(s);
  askAlike(s->queries, 2, s->result);
  ask(&s->queries->axes[0], 0, s->width);
  ask(&s->queries->axes[1], 0, 1);
  askAlike(s->bounds, 2, s->result);
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

/* Adds the values of some keys by their weights to what `decay` leaves of some columns of the context. */
INLINE void mixColumns(const part *p, const columns c, int first, int end, const float *weights, float decay,
                       float *context) {
  floats sums[UsualColumns / Lanes];
  UNROLL for (int i = 0; i < c.count / Lanes; ++i) sums[i] =
      times(loadFloats(context + c.first + i * Lanes), broadcast(decay));
  for (int key = first; key < end; ++key) {
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

INLINE void mixOf(const parts *p, int width, float (*weights)[StageKeys], const float *decays, const sums *of,
                  const int bytes) {
  for (int first = p->begin, end; first < p->end; first = end) {
    end = least((first / p->together + 1) * p->together, p->end);
    for (int i = 0; i < p->heads; ++i) {
      float decay = first == p->begin ? decays[i] : 1, *context = of->context + i * of->stride;
      int column = 0;
      for (; column + UsualColumns <= width; column += UsualColumns)
        mixColumns(&p->ofHeads[i], (columns){column, UsualColumns, bytes}, first, end, weights[i], decay,
                   context);
      for (; column < width; column += Pair)
        mixColumns(&p->ofHeads[i], (columns){column, Pair, bytes}, first, end, weights[i], decay, context);
    }
  }
}

static void mix(const parts *p, int width, float (*weights)[StageKeys], const float *decays, const sums *of) {
  if (p->ofHeads->from->bytes == BfloatBytes)
    mixOf(p, width, weights, decays, of, BfloatBytes);
  else
    mixOf(p, width, weights, decays, of, FloatBytes);
}

INLINE void scoreOf(const parts *p, float (*queries)[StepColumns], float (*scores)[StageKeys],
                    const int width, const int bytes) {
  for (int from = p->begin / Lanes * Lanes, end; from < p->end; from = end) {
    end = (from / p->together + 1) * p->together;
    for (int i = 0; i < p->heads; ++i)
      for (int first = from; first < least(end, p->end); first += Lanes) {
        floats tile = scoreKeys(&p->ofHeads[i], first, queries[i], width, bytes);
        storeFloats(scores[i] + first, maskedBut(tile, p->begin - first, p->end - first));
      }
  }
}

static void score(const parts *p, float (*queries)[StepColumns], float (*scores)[StageKeys], int width) {
  const int bytes = p->ofHeads->from->bytes;
  if (width == UsualColumns && bytes == BfloatBytes)
    scoreOf(p, queries, scores, UsualColumns, BfloatBytes);
  else if (width == UsualColumns)
    scoreOf(p, queries, scores, UsualColumns, FloatBytes);
  else if (bytes == BfloatBytes)
    scoreOf(p, queries, scores, width, BfloatBytes);
  else
    scoreOf(p, queries, scores, width, FloatBytes);
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
  int head = headsOf(s)->min + i, key = head / s->keyGroup, value = head / s->valueGroup;
  int isFirst = i == 0 || head % s->valueGroup == 0;
  return (part){b->keys, b->values, key * b->keys->head, value * b->values->head, isFirst};
}

/* What it reads of the values. The first of heads that share keys asks for those of the next block. */
static part valuesOf(const step *s, const blockParts *b, int i) {
  int head = headsOf(s)->min + i, key = head / s->keyGroup, value = head / s->valueGroup;
  int isFirst = i == 0 || head % s->keyGroup == 0;
  return (part){b->values, b->next, value * b->values->head, key * b->next->head, isFirst};
}

/* A task that has all heads, whose parts lie side by side, reads memory in its order: some keys of each head.
 * One that has half of them is faster head by head, and one whose heads lie apart has to be. */
static int keysTogether(const step *s) {
  const axis *key = &s->keys->axes[s->keyAxis], *head = &s->keys->axes[3 - s->keyAxis];
  int hasAll = headsOf(s)->extent == head->extent * s->keyGroup;
  return hasAll && head->stride < key->stride ? Lanes : StageKeys;
}

/* Has all heads look at a block: one's work is done while another's waits. */
static void attendBlock(const step *s, const blockParts *b, float (*queries)[StepColumns], sums *soFar) {
  const int heads = headsOf(s)->extent;
  float scores[StepHeads][StageKeys] __attribute__((aligned(64))), decays[StepHeads];
  parts keys, values;
  keys.heads = heads, keys.begin = b->begin, keys.end = b->end, keys.together = keysTogether(s);
  values = keys;
  for (int i = 0; i < heads; ++i) {
    keys.ofHeads[i] = keysOf(s, b, i);
    values.ofHeads[i] = valuesOf(s, b, i);
  }
  score(&keys, queries, scores, s->width);
  for (int i = 0; i < heads; ++i)
    decays[i] = weigh(scores[i], b->begin, b->end, &soFar->ofHeads[i]);
  mix(&values, s->valueWidth, scores, decays, soFar);
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

/* Spans are of about one size: of SpanBlocks blocks, more where there would be more than StepSpans of them.
 */
static keyRange rangeOf(const buffer *bounds, int row) {
  const int32_t *at = (const int32_t *)bounds->host;
  keyRange keys = {row, at[0], at[bounds->axes[1].stride], at[0] / StageKeys * StageKeys, StageKeys};
  int blocks = (keys.end - keys.first + StageKeys - 1) / StageKeys;
  int spans = most(least((blocks + SpanBlocks - 1) / SpanBlocks, StepSpans), 1);
  keys.inSpan *= most((blocks + spans - 1) / spans, 1);
  return keys;
}

/* What is read after a block: the next one, or the first one of the row that comes next. */
static keyBlock blockAfter(const step *s, const keyBlock *b, const keyRange *keys) {
  int next = b->first + StageKeys, lastRow = s->slots->axes[s->slots->rank - 1].extent - 1;
  if (next < keys->end)
    return (keyBlock){b->row, next, least(keys->end - next, StageKeys)};
  return (keyBlock){least(b->row + 1, lastRow), keys->first, least(keys->end - keys->first, StageKeys)};
}

static void clear(sums *of, int heads, int width) {
  for (int i = 0; i < heads; ++i) {
    for (int column = 0; column < width; column += Lanes)
      storeFloats(of->context + i * of->stride + column, noFloats());
    of->ofHeads[i] = (softmax){ATTNC_LOWEST_MAXIMUM, 0};
  }
}

/* The queries of all heads, as keys are read, and where reading of these has come to. The places of the next
 * block are found with those of this one. */
typedef struct {
  float queries[StepHeads][StepColumns] __attribute__((aligned(64)));
  const keyRange *keys;
  keyBlock now;
  places ofKeys[2];
  int turn;
} reader;

static void beginReading(const step *s, const keyRange *keys, int first, reader *r) {
  r->keys = keys;
  r->now = (keyBlock){keys->row, first, least(keys->end - first, StageKeys)};
  r->turn = 0;
  findPlaces(s, s->keys, &r->now, 0, &r->ofKeys[0]);
  const axis *head = &s->queries->axes[3];
  for (int i = 0; i < headsOf(s)->extent; ++i) {
    long at = (headsOf(s)->min - head->min + i) * (long)head->stride;
    layQuery((const float *)s->queries->host + at, s->width, bytesOf(s->keys), r->queries[i]);
  }
}

/* The sums of the span that begins where reading has come to. */
static void attendSpan(const step *s, reader *r, sums *of) {
  const keyRange *keys = r->keys;
  clear(of, headsOf(s)->extent, s->valueWidth);
  for (int first = r->now.first, end = least(first + keys->inSpan, keys->end); first < end;
       first += StageKeys) {
    keyBlock next = blockAfter(s, &r->now, keys);
    places ofValues, *ofNext = &r->ofKeys[r->turn ^ 1];
    findPlaces(s, s->values, &r->now, 0, &ofValues);
    findPlaces(s, s->keys, &next, r->now.count, ofNext);
    blockParts b = {&r->ofKeys[r->turn], &ofValues, ofNext, most(keys->begin - first, 0), r->now.count};
    attendBlock(s, &b, r->queries, of);
    r->now = next;
    r->turn ^= 1;
  }
}

/* Adds one head's sums of a span to those of the spans before it. */
static void merge(float *into, softmax *of, const float *from, const softmax *next, int width) {
  floats before = broadcast(of->maximum), after = broadcast(next->maximum), maximum = larger(before, after);
  floats decay = powerOf(minus(before, maximum)), share = powerOf(minus(after, maximum));
  float sum[Lanes];
  for (int column = 0; column < width; column += Lanes)
    storeFloats(into + column,
                timesPlus(loadFloats(from + column), share, times(loadFloats(into + column), decay)));
  storeFloats(sum, timesPlus(broadcast(next->sum), share, times(broadcast(of->sum), decay)));
  *of = (softmax){largest(maximum), sum[0]};
}

/* All spans of a row by one task. */
static int attendStep(const step *s) {
  if (asksForBounds(s))
    return askForStep(s);
  const axis *head = headsOf(s);
  const keyRange keys = rangeOf(s->bounds, rowOf(s)->min);
  float context[StepHeads][StepColumns];
  sums all = {(float *)s->result->host, head->stride, {}}, span = {context[0], StepColumns, {}};
  if (keys.begin < keys.end) {
    reader r;
    beginReading(s, &keys, keys.first, &r);
    attendSpan(s, &r, &all);
    for (int first = keys.first + keys.inSpan; first < keys.end; first += keys.inSpan) {
      attendSpan(s, &r, &span);
      for (int i = 0; i < head->extent; ++i)
        merge(all.context + i * all.stride, &all.ofHeads[i], context[i], &span.ofHeads[i], s->valueWidth);
    }
  } else {
    clear(&all, head->extent, s->valueWidth);
  }
  for (int i = 0; i < head->extent; ++i)
    finish(all.context + i * all.stride, s->valueWidth, bytesOf(s->values), all.ofHeads[i].sum);
  return 0;
}

/* One span, whose maximum and sum of weights are written behind the values that it mixes. */
static int attendPart(const step *s) {
  if (asksForBounds(s))
    return askForStep(s);
  const axis *head = headsOf(s);
  const keyRange keys = rangeOf(s->bounds, rowOf(s)->min);
  if (keys.begin >= keys.end)
    return 0;
  const int first = keys.first + s->result->axes[2].min * keys.inSpan;
  if (first >= keys.end)
    return 0; /* nor is it merged */
  sums part = {(float *)s->result->host, head->stride, {}};
  reader r;
  beginReading(s, &keys, first, &r);
  attendSpan(s, &r, &part);
  for (int i = 0; i < head->extent; ++i) {
    float behind[Lanes] = {part.ofHeads[i].maximum, part.ofHeads[i].sum};
    storeFloats(part.context + i * part.stride + s->valueWidth, loadFloats(behind));
  }
  return 0;
}

/* Spans that `keys` have at most. */
static int spansOf(int keys) {
  const int inSpan = SpanBlocks * StageKeys;
  return least((keys + inSpan - 1) / inSpan, StepSpans);
}

/* What attendPart has written of one head. */
static softmax softmaxOf(const float *part, int width) { return (softmax){part[width], part[width + 1]}; }

/* The context from its parts: the first one, then what attendStep does. */
static int mergeParts(buffer *ofSpans, buffer *bounds, int width, int keyCount, int bytes, buffer *context) {
  const axis *head = &context->axes[3];
  if (!ofSpans->host || !bounds->host || !context->host) {
    askAlike(ofSpans, 3, context);
    ask(&ofSpans->axes[0], 0, width + Lanes);
    ask(&ofSpans->axes[1], 0, 1);
    ask(&ofSpans->axes[2], 0, spansOf(keyCount));
    askAlike(bounds, 2, context);
    ask(&bounds->axes[0], 0, 1);
    ask(&bounds->axes[1], 0, 2);
    return 0;
  }
  const keyRange keys = rangeOf(bounds, context->axes[4].min);
  sums all = {(float *)context->host, head->stride, {}};
  clear(&all, head->extent, width);
  for (int i = 0; i < head->extent && keys.begin < keys.end; ++i) {
    const float *part = (const float *)ofSpans->host + i * (long)ofSpans->axes[4].stride;
    float *into = all.context + i * all.stride;
    for (int column = 0; column < width; column += Lanes)
      storeFloats(into + column, loadFloats(part + column));
    all.ofHeads[i] = softmaxOf(part, width);
    for (int first = keys.first + keys.inSpan; first < keys.end; first += keys.inSpan) {
      part += ofSpans->axes[2].stride;
      const softmax next = softmaxOf(part, width);
      merge(into, &all.ofHeads[i], part, &next, width);
    }
  }
  for (int i = 0; i < head->extent; ++i)
    finish(all.context + i * all.stride, width, bytes, all.ofHeads[i].sum);
  return 0;
}

#ifdef __AVX512F__
#define NAME(stage) stage##_wide
#else
#define NAME(stage) stage
#endif
int NAME(attnc_attend_step)(buffer *queries, buffer *bounds, buffer *slots, buffer *keys, buffer *values,
                            int width, int valueWidth, int keyGroup, int valueGroup, int keyAxis,
                            buffer *context) {
  step s = {queries, bounds, slots, keys, values, width, valueWidth, keyGroup, valueGroup, keyAxis, context};
  return attendStep(&s);
}

int NAME(attnc_attend_span)(buffer *queries, buffer *bounds, buffer *slots, buffer *keys, buffer *values,
                            int width, int valueWidth, int keyGroup, int valueGroup, int keyAxis,
                            buffer *part) {
  step s = {queries, bounds, slots, keys, values, width, valueWidth, keyGroup, valueGroup, keyAxis, part};
  return attendPart(&s);
}

int NAME(attnc_merge_spans)(buffer *spans, buffer *bounds, int valueWidth, int keys, int bytes,
                            buffer *context) {
  return mergeParts(spans, bounds, valueWidth, keys, bytes, context);
}
