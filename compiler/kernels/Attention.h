//===- Attention.h - attention of many queries, and of one per row ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Online softmax over blocks of keys (Milakov and Gimelshein 2018; Dao et al. 2022). Blocks start at key 0
// and have one size, so a row's result depends on its own keys only: what lies past them adds exact zeros or
// is skipped.

#ifndef ATTNC_KERNELS_ATTENTION_H
#define ATTNC_KERNELS_ATTENTION_H

#include "compiler/kernels/Tensor.h"

namespace attnc {

/// One term of a score: what is summed over the columns of a query and a key.
using ScoreTerm =
    std::function<Halide::Expr(Halide::Expr query, Halide::Expr key, Halide::Expr column, Halide::Expr head)>;

struct AttentionInputs {
  Tensor query;          // width x query x head x batch
  Tensor key;            // width x key x key head x batch
  Tensor value;          // value width x key x key head x batch
  int keyGroup = 1;      // heads of queries that share one head of keys
  int valueGroup = 1;    // likewise of values
  ScoreTerm term;        // empty: the product of both
  float queryFactor = 1; // applied to the query: the scale that follows the product of queries and keys
  /// The score from the sum of terms at (key, query, head, batch): scale, masks, biases, and log2(e), unless
  /// it is in `queryFactor`: weights are powers of two.
  std::function<Halide::Expr(Halide::Expr product, const Coordinates &at)> score;
  /// Keys before this are masked for every query from `firstQuery` on. Empty: no keys are.
  std::function<Halide::Expr(Halide::Expr firstQuery, Halide::Expr batch)> keyStart;
  /// Keys at or past this are masked for every query up to `lastQuery`.
  std::function<Halide::Expr(Halide::Expr lastQuery, Halide::Expr batch)> keyEnd;
  /// Whether the key at (key, query, head, batch) may be seen, from what is known before scores are. Not
  /// defined where nothing but the bounds above hides keys.
  std::function<Halide::Expr(const Coordinates &at)> mayBeSeen;
  /// An element of the context in the result's type.
  std::function<Halide::Expr(const Halide::Expr &context)> stored;
  /// Keys and values as external stages read them, width x key x key head x batch (or slot); empty: none can.
  std::vector<Halide::ImageParam> memory;
  /// Of a step: the slot of keys and values in `memory` that each row reads, one for all keys or (key x row)
  /// one for each. Not defined where keys and values are not read so.
  Halide::ImageParam slots;
  int keyAxis = 1;            // of `memory`, with slots: 1, or 2 in width x key head x key x slot
  bool onlyBounded = false;   // a query sees exactly the keys from its own `keyStart` to its own `keyEnd`
  bool areRounded = false;    // keys and values are bfloat16 in memory
  bool headsAreTasks = false; // one head a task: batches may be small, and a head's keys lie together
  int width = 0;              // of queries and keys
  int valueWidth = 0;
};

/// Names of the functions of emit/shim that add up products; a step needs only the last ones.
struct ExternalAttention {
  const char *turn = nullptr;       // queries, by the 32, for `score`
  const char *score = nullptr;      // queries and 32 keys
  const char *mix = nullptr;        // a block of values, by the weights of their scores
  const char *attend;               // all of attention, where bounds alone hide keys
  const char *attendSpan = nullptr; // of a step: the same of one span of keys
  const char *mergeSpans = nullptr; // and of the spans of a row
};

struct AttentionTiles {
  int queries;          // of a block (1: queries are worked on one by one)
  int keys;             // of a block
  int keyTile;          // keys that are scored together; divides `keys`
  int lanes;            // of the context's width; divides both widths
  int heads = 1;        // of a task, side by side: their parts of a key lie together (one by one only)
  bool inOrder = false; // sums are strict: of few terms, and where no instruction multiplies and adds
  const ExternalAttention *external = nullptr; // null: Halide's loops add up products, in float32
  bool attendsAlone = false;                   // `external` does all of attention, by bounds
  int widenedFor = 0; // blocks of queries that share widened keys and values; 0: they are read as they lie
  int spanHeads = 0;  // of a task that has one span of a row's keys; 0: tasks have all keys
  int serves = 0;     // inputs of up to so many; the last tiles of a list serve any number
  int longerThan = 0; // and of more keys

  bool operator==(const AttentionTiles &) const = default;
};

/// Stages in the order of computation. Scores are transposed (queries in the lanes), so that keys are read as
/// they lie and maxima and sums need no step across lanes. Indices: (query, key, block, queryBlock, head,
/// batch).
struct AttentionStages {
  Halide::Func firstKey; // the first key that the block of queries sees; where keys have a start
  Halide::Func seen;     // block ...: 1 where some query may see a key; where that is not known from bounds
  Halide::Func scaled;   // width x query: the block of queries, factor applied, that an external stage turns
  Halide::Func turned;   // query x width: the same, turned (external: query x pair x panel of queries, words)
  Halide::Func wideKeys; // width x key x block x blocks of queries ...: of bfloat16, as floats
  Halide::Func wideValues;    // alike
  Halide::Func partials;      // lane x key x block ...: products by lane (one by one only)
  Halide::Func products;      // query x key in tile x tile x block ...
  Halide::Func scores;        // query x key x block ...
  Halide::Func blockMaximum;  // query x block ...
  Halide::Func keptMaximum;   // query x block ...: the same, until the task ends
  Halide::Func maximumBefore; // query x block ...: of the blocks before
  Halide::Func maximum;       // query x block ...: of the blocks so far
  Halide::Func weights;       // query x key x block ...: 2^(score - the block's maximum)
  Halide::Func blockSum;      // query x block ...
  Halide::Func blockContext;  // width x query x block ...
  Halide::Func mixed;         // width x query x block ...: an external stage's context and sums of weights
  Halide::Func mixedKeys;     // 2 x block ...: where the keys that an external stage mixes begin and end
  Halide::Func decay, share;  // query x block ...: what the sums so far, and the block's, are multiplied with
  Halide::Func state;         // width + lanes x query ...: context, then the sum of weights
  Halide::Func inverse;       // query ...
  Halide::Func bounds;        // query x 2 x ...: where an external stage's keys begin and end, query by query
  Halide::Func part, parts;   // width + lanes x query x span ...: one task's and all tasks' spans of keys
  Halide::Func attended;      // width x query ...: an external stage's context
  Halide::Expr context;       // at (width, query, head, batch)
  Halide::Var width{"width"}, pair{"pair"}, panel{"panel"}, lane{"lane"}, side{"side"}, span{"span"},
      query{"query"}, keyInTile{"keyInTile"}, key{"key"}, tile{"tile"}, block{"block"},
      queryBlock{"queryBlock"}, queryBlocks{"queryBlocks"}, head{"head"}, batch{"batch"};
  Halide::RDom looked;      // seen: x: key at once, y: keys, z: query
  Halide::RDom widened;     // wideKeys, wideValues: x: key in tile, y: tile
  Halide::RDom inner;       // products: over the width
  Halide::RDom acrossLanes; // products: over the lanes of partials
  Halide::RDom tiledKeys;   // x: key in tile, y: tile
  Halide::RDom blocks;      // state: over the blocks of keys
  Halide::RDom earlier;     // maximumBefore: over the blocks before
};

struct AttentionKernel {
  Halide::Func result; // width x query x head x batch
  Halide::Expr queries, keys;
  Halide::Expr served; // what tiles serve so many of: queries, or batch rows where all have one query
  std::vector<AttentionStages> ways; // of tiles[i]

  Halide::Expr isServedBy(const AttentionTiles &tiles) const;
};

/// `tiles` in the order of the numbers that they serve: a result has the same bits by all of them that
/// are of one kind, blocks or one by one.
AttentionKernel buildAttention(const AttentionInputs &inputs, const std::vector<AttentionTiles> &tiles);

} // namespace attnc

#endif // ATTNC_KERNELS_ATTENTION_H
