//===- Attention.cpp - attention of many queries, and of one per row --------===//
// SPDX-License-Identifier: Apache-2.0
//
// Stages of the online softmax. Tiles of keys that are masked for a whole block of queries are skipped by
// predicates.

#include "compiler/kernels/Attention.h"

#include "compiler/kernels/Archetype.h"
#include "compiler/kernels/Math.h"

using namespace Halide;

namespace attnc {

// Maxima are no lower than this, so that masked scores are far below every maximum.
constexpr float LowestMaximum = ATTNC_LOWEST_MAXIMUM;

// Keys whose masks are looked at together; divides every block.
constexpr int SeenAtOnce = 16;

namespace {
/// Builds the stages one after the other; members are what several of them need.
class AttentionBuilder {
public:
  AttentionBuilder(const AttentionInputs &inputs, const AttentionTiles &tiles) : in(inputs), tiles(tiles) {
    queries = in.query.extents[1];
    keys = in.key.extents[1];
  }

  AttentionStages build() {
    if (tiles.attendsAlone) {
      buildAttended();
      return s;
    }
    if (in.keyStart)
      buildFirstKey();
    buildSeen();
    if (tiles.widenedFor > 0)
      buildWidened();
    buildProducts();
    buildScores();
    buildMaximum();
    if (tiles.external) {
      buildExternalContext();
    } else {
      buildWeights();
      buildContext();
    }
    buildState();
    return s;
  }

private:
  Expr end() const { return in.keyEnd(s.queryBlock * tiles.queries + (tiles.queries - 1), s.batch); }
  bool oneQuery() const { return tiles.queries == 1; }

  /// The first key that some query of the block sees, no later than the last one of all, so that no loop has
  /// a negative extent. Tiles and blocks before it are skipped. A stage of its own: inlined into every loop's
  /// bounds, Halide 21 fails on some of these expressions.
  void buildFirstKey() {
    s.firstKey = Func("firstKey");
    s.firstKey(s.queryBlock, s.head, s.batch) =
        max(min(in.keyStart(s.queryBlock * tiles.queries, s.batch), end() - 1), 0);
  }

  /// Whether the block holds the first key or later ones.
  Expr isAfterFirst(Expr block) const {
    return (block + 1) * tiles.keys > s.firstKey(s.queryBlock, s.head, s.batch);
  }

  /// Looks at the masks of a block of keys before any work on it, at one query's after the other's up to a
  /// key that is seen: a block whose first query sees one of the first keys costs next to nothing, one that
  /// nobody sees a look at each of its scores, a few operations where there were two products over the width.
  void buildSeen() {
    RDom looked(0, SeenAtOnce, 0, tiles.keys / SeenAtOnce, 0, tiles.queries, "looked");
    Expr key = s.block * tiles.keys + looked.y * SeenAtOnce + looked.x;
    Expr query = s.queryBlock * tiles.queries + looked.z;
    Expr mayBeSeen = in.mayBeSeen({readable(key), min(query, queries - 1), s.head, s.batch});
    if (!mayBeSeen.defined())
      return;
    std::vector<Var> at = {s.block, s.queryBlock, s.head, s.batch};
    s.seen = Func("seen");
    s.seen(at) = 0;
    looked.where(query < queries);
    looked.where(s.block * tiles.keys < end());
    if (in.keyStart)
      looked.where(isAfterFirst(s.block));
    looked.where(s.seen(at) == 0);
    s.seen(at) = max(s.seen(at), cast<int>(mayBeSeen && key < end()));
    s.looked = looked;
  }

  /// Leaves out blocks of keys that no query sees.
  void skipUnseen(RDom &domain, Expr block) const {
    if (in.keyStart)
      domain.where(isAfterFirst(block));
    if (s.seen.defined())
      domain.where(s.seen(block, s.queryBlock, s.head, s.batch) != 0);
  }

  /// A key that exists, for reading: past the end the last one is repeated, its weight is zero. `likely`:
  /// most tiles lie before the end.
  Expr readable(Expr key) const { return min(likely(key), max(end() - 1, 0)); }
  Expr firstOfTile(Expr tile) const { return s.block * tiles.keys + tile * tiles.keyTile; }

  RDom overTiledKeys(const std::string &name) const { return overTiles(name, tiles.keyTile); }

  /// Keys at once: `inTile`, the first RVar; tiles of keys: the second.
  RDom overTiles(const std::string &name, int inTile) const {
    RDom domain(0, inTile, 0, tiles.keys / tiles.keyTile, name);
    domain.where(firstOfTile(domain.y) < end());
    if (in.keyStart)
      domain.where(firstOfTile(domain.y) + tiles.keyTile > s.firstKey(s.queryBlock, s.head, s.batch));
    return domain;
  }
  Expr inBlock(const RDom &tiledKeys) const { return tiledKeys.y * tiles.keyTile + tiledKeys.x; }

  /// Keys that all blocks of queries see: the first one, which has them widened, sees what the others do.
  void buildWidened() {
    s.widened = overTiledKeys("widened");
    Expr key = readable(s.block * tiles.keys + inBlock(s.widened));
    auto widen = [&](Func &wide, const Tensor &narrow, int group) {
      wide(s.width, s.key, s.block, s.queryBlocks, s.head, s.batch) = undef<float>();
      wide(s.width, inBlock(s.widened), s.block, s.queryBlocks, s.head, s.batch) =
          narrow.at({s.width, key, s.head / group, s.batch});
    };
    s.wideKeys = Func("wideKeys");
    widen(s.wideKeys, in.key, in.keyGroup);
    s.wideValues = Func("wideValues");
    widen(s.wideValues, in.value, in.valueGroup);
  }

  /// An element of keys or values; `key`: in its block.
  Expr elementOf(const Tensor &memory, const Func &wide, int group, Expr column, Expr key) const {
    if (tiles.widenedFor > 0)
      return wide(column, key, s.block, s.queryBlock / tiles.widenedFor, s.head, s.batch);
    return memory.at({column, readable(s.block * tiles.keys + key), s.head / group, s.batch});
  }

  Expr term(Expr query, Expr column, Expr key) const {
    Expr other = elementOf(in.key, s.wideKeys, in.keyGroup, column, key);
    return in.term ? in.term(query, other, column, s.head) : query * other;
  }

  /// A sum so far and the next term. The loop over the last tile of keys is compiled apart from that over the
  /// others; where the compiler may choose the order of three terms, it chooses another one there.
  Expr plus(const Expr &sum, const Expr &term) const {
    return tiles.inOrder ? strict_float(sum + term) : sum + term;
  }

  /// Halide's bounds of external stages have heads past the last one.
  Expr scaledQuery(Expr column) const {
    Expr query = min(s.queryBlock * tiles.queries + s.query, queries - 1);
    Expr head = tiles.external ? min(s.head, in.query.extents[2] - 1) : s.head;
    return in.query.at({column, query, head, s.batch}) * in.queryFactor;
  }

  void buildProducts() {
    s.turned = Func("turned");
    s.products = Func("products");
    std::vector<Var> at = {s.query, s.keyInTile, s.tile, s.block, s.queryBlock, s.head, s.batch};
    if (tiles.external)
      return buildExternalProducts(at);
    s.turned(s.query, s.width, s.queryBlock, s.head, s.batch) = scaledQuery(s.width);
    Expr key = s.tile * tiles.keyTile + s.keyInTile;
    if (oneQuery())
      return buildProductsByLane(key, at);
    s.inner = RDom(0, in.width, "inner");
    s.products(at) = 0.f;
    s.products(at) =
        plus(s.products(at), term(s.turned(s.query, s.inner, s.queryBlock, s.head, s.batch), s.inner, key));
  }

  void buildScaled() {
    s.scaled = Func("scaled");
    s.scaled(s.width, s.query, s.queryBlock, s.head, s.batch) = scaledQuery(s.width);
  }

  /// One stage scores, weighs and mixes.
  void buildAttended() {
    buildScaled();
    Expr query = min(s.queryBlock * tiles.queries + s.query, queries - 1);
    Expr start = in.keyStart ? max(in.keyStart(query, s.batch), 0) : 0;
    s.bounds = Func("bounds");
    s.bounds(s.query, s.side, s.queryBlock, s.head, s.batch) =
        select(s.side == 0, start, min(in.keyEnd(query, s.batch), keys));
    s.attended = Func("attended");
    std::vector<ExternFuncArgument> arguments = {s.scaled, s.bounds};
    if (oneQuery())
      arguments.push_back(in.slots);
    arguments.insert(arguments.end(), {in.memory[0], in.memory[1], Expr(in.width), Expr(in.valueWidth),
                                       Expr(in.keyGroup), Expr(in.valueGroup)});
    arguments.push_back(oneQuery() ? Expr(in.keyAxis) : queries);
    const char *function = tiles.external->attend;
    if (tiles.spanHeads > 0) {
      buildParts(arguments);
      arguments = {s.parts, s.bounds, Expr(in.valueWidth), keys, Expr(in.memory[1].type().bytes())};
      function = tiles.external->mergeSpans;
    }
    s.attended.define_extern(function, arguments, Float(32),
                             {s.width, s.query, s.queryBlock, s.head, s.batch}, NameMangling::C);
    s.context = s.attended(s.width, s.query % tiles.queries, s.query / tiles.queries, s.head, s.batch);
  }

  /// External stages have no loops of their own: those of `parts` are what tasks are made of.
  void buildParts(const std::vector<ExternFuncArgument> &arguments) {
    std::vector<Var> at = {s.width, s.query, s.span, s.queryBlock, s.head, s.batch};
    s.part = Func("part");
    s.part.define_extern(tiles.external->attendSpan, arguments, Float(32), at, NameMangling::C);
    s.parts = Func("parts");
    s.parts(at) = s.part(at);
  }

  void buildExternalProducts(const std::vector<Var> &at) {
    buildScaled();
    s.turned.define_extern(tiles.external->turn, {s.scaled, Expr(in.width)}, UInt(32),
                           {s.query, s.pair, s.panel, s.queryBlock, s.head, s.batch}, NameMangling::C);
    s.products.define_extern(
        tiles.external->score,
        {in.memory[0], s.turned, Expr(in.width), Expr(tiles.keys), Expr(in.keyGroup), queries}, Float(32), at,
        NameMangling::C);
  }

  // One query: the width lies in the lanes, and lanes are added at the end.
  void buildProductsByLane(Expr key, const std::vector<Var> &at) {
    s.inner = RDom(0, in.width / tiles.lanes, "inner");
    s.partials = Func("partials");
    std::vector<Var> partialAt = at;
    partialAt[0] = s.lane;
    Expr column = s.inner * tiles.lanes + s.lane;
    s.partials(partialAt) = 0.f;
    s.partials(partialAt) += term(s.turned(0, column, s.queryBlock, s.head, s.batch), column, key);
    s.acrossLanes = RDom(0, tiles.lanes, "acrossLanes");
    s.products(at) = 0.f;
    s.products(at) += s.partials(s.acrossLanes, s.keyInTile, s.tile, s.block, s.queryBlock, s.head, s.batch);
  }

  void buildScores() {
    s.scores = Func("scores");
    s.tiledKeys = overTiledKeys("scored");
    Expr key = s.block * tiles.keys + inBlock(s.tiledKeys);
    Expr query = s.queryBlock * tiles.queries + s.query;
    Expr product = s.products(s.query, s.tiledKeys.x, s.tiledKeys.y, s.block, s.queryBlock, s.head, s.batch);
    Expr score = in.score(product, {readable(key), min(query, queries - 1), s.head, s.batch});
    s.scores(s.query, s.key, s.block, s.queryBlock, s.head, s.batch) = undef<float>();
    s.scores(s.query, inBlock(s.tiledKeys), s.block, s.queryBlock, s.head, s.batch) =
        select(key < end(), score, MaskedScore);
  }

  /// 2^x for x <= 0, exactly zero where that is no more than 2^-100: products with such weights would be
  /// denormal numbers, which take a hundred times as long. What is subtracted is less than the rounding of
  /// every weight above 2^-76.
  static Expr weightOf(Expr x) { return exp2Bounded(max(x, -100.f)) - 0x1p-100f; }

  Expr blockCount() const { return min((keys + (tiles.keys - 1)) / tiles.keys, MaxKeyBlocks); }

  void buildMaximum() {
    std::vector<Var> at = {s.query, s.block, s.queryBlock, s.head, s.batch};
    RDom domain = overTiles("compared", 1);
    auto score = [&](int i) -> Expr {
      return s.scores(s.query, inBlock(domain) + i, s.block, s.queryBlock, s.head, s.batch);
    };
    s.blockMaximum = Func("blockMaximum");
    s.blockMaximum(at) = LowestMaximum;
    s.blockMaximum(at) = max(s.blockMaximum(at), maxPairwise(score, tiles.keyTile));
    // A stage of its own: what external stages read is computed for one block only, and then gone.
    s.keptMaximum = Func("keptMaximum");
    s.keptMaximum(at) = s.blockMaximum(at);
    s.earlier = RDom(0, blockCount(), "earlier");
    s.earlier.where(s.earlier < s.block);
    skipUnseen(s.earlier, s.earlier);
    s.maximumBefore = Func("maximumBefore");
    s.maximumBefore(at) = LowestMaximum;
    s.maximumBefore(at) =
        max(s.maximumBefore(at), s.keptMaximum(s.query, s.earlier, s.queryBlock, s.head, s.batch));
    s.maximum = Func("maximum");
    s.maximum(at) = max(s.maximumBefore(at), s.keptMaximum(at));
  }

  void buildWeights() {
    std::vector<Var> at = {s.query, s.block, s.queryBlock, s.head, s.batch};
    RDom weighted = overTiledKeys("weighted"), summed = overTiles("summed", 1);
    auto weight = [&](int i) -> Expr {
      return s.weights(s.query, inBlock(summed) + i, s.block, s.queryBlock, s.head, s.batch);
    };
    Expr score = s.scores(s.query, inBlock(weighted), s.block, s.queryBlock, s.head, s.batch);
    s.weights = Func("weights");
    s.weights(s.query, s.key, s.block, s.queryBlock, s.head, s.batch) = undef<float>();
    s.weights(s.query, inBlock(weighted), s.block, s.queryBlock, s.head, s.batch) =
        weightOf(score - s.blockMaximum(at));
    s.blockSum = Func("blockSum");
    s.blockSum(at) = 0.f;
    s.blockSum(at) += sumPairwise(weight, tiles.keyTile);
  }

  void buildContext() {
    s.blockContext = Func("blockContext");
    std::vector<Var> at = {s.width, s.query, s.block, s.queryBlock, s.head, s.batch};
    RDom mixed = overTiledKeys("mixed");
    Expr value = elementOf(in.value, s.wideValues, in.valueGroup, s.width, inBlock(mixed));
    Expr weight = s.weights(s.query, inBlock(mixed), s.block, s.queryBlock, s.head, s.batch);
    s.blockContext(at) = 0.f;
    s.blockContext(at) = plus(s.blockContext(at), weight * value);
  }

  /// One stage weighs the scores and mixes the values. Its second result holds the sums of weights, in column
  /// 0.
  void buildExternalContext() {
    Expr first = s.block * tiles.keys, begin = 0;
    if (in.keyStart)
      begin = max(s.firstKey(s.queryBlock, s.head, s.batch) - first, 0) / tiles.keyTile * tiles.keyTile;
    s.mixedKeys = Func("mixedKeys");
    s.mixedKeys(s.lane, s.block, s.queryBlock, s.head, s.batch) =
        select(s.lane == 0, begin, min(end() - first, tiles.keys));
    s.mixed = Func("mixed");
    std::vector<Var> at = {s.width, s.query, s.block, s.queryBlock, s.head, s.batch};
    s.mixed.define_extern(tiles.external->mix,
                          {s.scores, s.blockMaximum, in.memory[1], s.mixedKeys, Expr(in.valueWidth),
                           Expr(tiles.keys), Expr(in.valueGroup), queries},
                          {Float(32), Float(32)}, at, NameMangling::C);
    s.blockContext = Func("blockContext");
    s.blockContext(at) = s.mixed(at)[0];
    s.blockSum = Func("blockSum");
    s.blockSum(s.query, s.block, s.queryBlock, s.head, s.batch) =
        s.mixed(0, s.query, s.block, s.queryBlock, s.head, s.batch)[1];
  }

  // The sum of weights rides behind the context, one vector of equal lanes, so that both are one stage and
  // the blocks of keys are visited once.
  void buildState() {
    std::vector<Var> perBlock = {s.query, s.block, s.queryBlock, s.head, s.batch};
    s.decay = Func("decay");
    s.decay(perBlock) = weightOf(s.maximumBefore(perBlock) - s.maximum(perBlock));
    s.share = Func("share");
    s.share(perBlock) = weightOf(s.keptMaximum(perBlock) - s.maximum(perBlock));
    s.blocks = RDom(0, blockCount(), "blocks");
    s.blocks.where(s.blocks * tiles.keys < end());
    skipUnseen(s.blocks, s.blocks);
    Expr added = select(
        s.width < in.valueWidth,
        s.blockContext(min(s.width, in.valueWidth - 1), s.query, s.blocks, s.queryBlock, s.head, s.batch),
        s.blockSum(s.query, s.blocks, s.queryBlock, s.head, s.batch));
    std::vector<Var> at = {s.width, s.query, s.queryBlock, s.head, s.batch};
    s.state = Func("state");
    s.state(at) = 0.f;
    s.state(at) = s.state(at) * s.decay(s.query, s.blocks, s.queryBlock, s.head, s.batch) +
                  added * s.share(s.query, s.blocks, s.queryBlock, s.head, s.batch);

    Expr sum = s.state(in.valueWidth, s.query, s.queryBlock, s.head, s.batch);
    s.inverse = Func("inverse");
    s.inverse(s.query, s.queryBlock, s.head, s.batch) = select(sum > 0.f, 1.f / max(sum, 1e-30f), 0.f);
    Expr inBlockQuery = s.query % tiles.queries, queryBlock = s.query / tiles.queries;
    Expr inverse = s.inverse(inBlockQuery, queryBlock, s.head, s.batch);
    s.context =
        select(inverse > 0.f, s.state(s.width, inBlockQuery, queryBlock, s.head, s.batch) * inverse, 0.f);
  }

  const AttentionInputs &in;
  const AttentionTiles tiles;
  AttentionStages s;
  Expr queries, keys;
};
} // namespace

Expr AttentionKernel::isServedBy(const AttentionTiles &tiles) const {
  Expr isFew = served <= tiles.serves;
  return tiles.longerThan > 0 ? isFew && keys > tiles.longerThan : isFew;
}

AttentionKernel buildAttention(const AttentionInputs &inputs, const std::vector<AttentionTiles> &tiles) {
  const std::vector<Expr> &extents = inputs.query.extents;
  const bool isOneQuery = tiles.back().queries == 1;
  AttentionKernel kernel{
      Func("context"), extents[1], inputs.key.extents[1], isOneQuery ? extents[3] : extents[1], {}};
  for (const AttentionTiles &way : tiles)
    kernel.ways.push_back(AttentionBuilder(inputs, way).build());
  const AttentionStages &first = kernel.ways.front();
  Expr context = kernel.ways.back().context;
  for (size_t i = tiles.size() - 1; i-- > 0;)
    context = select(kernel.isServedBy(tiles[i]), kernel.ways[i].context, context);
  kernel.result(first.width, first.query, first.head, first.batch) = inputs.stored(context);
  return kernel;
}

} // namespace attnc
