//===- Attention.cpp - schedule of attention on CPUs ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A task is a block of queries of one head and batch row, or several where keys are many or widened first,
// or, one by one, a query of some heads that lie side by side, or one span of its keys.

#include "compiler/kernels/Archetype.h"
#include "compiler/kernels/Math.h"
#include "compiler/schedules/cpu/HoistGuards.h"
#include "compiler/schedules/cpu/Schedules.h"

#include <algorithm>

using namespace Halide;

namespace attnc {

/// Keys whose values are mixed without a loop; divides tiles.
constexpr int MixedAtOnce = 4;

/// How many of a query's vectors are multiplied without a loop: with 128 columns on SSE, all of them are 512
/// products of 16 keys. Loops of whole rounds alone: a count that no number from 4 to 8 divides has none.
static int vectorsAtOnce(int vectors) {
  for (int atOnce = 8; atOnce >= 4; --atOnce)
    if (vectors % atOnce == 0)
      return atOnce;
  return vectors;
}

namespace {
/// Applies one schedule to the stages; members are what several stages need.
class AttentionScheduler {
public:
  AttentionScheduler(AttentionKernel &kernel, size_t way, const AttentionSchedule &schedule)
      : kernel(kernel), s(kernel.ways[way]), p(schedule), tiles(schedule.tiles), oneQuery(tiles.queries == 1),
        result(kernel.result), visit(s.state, visitor) {}

  /// `stage`: the result's part that these stages are for. `way` tells its loops from other parts'.
  void schedule(Stage stage, const std::string &way) {
    level = Var("task" + way);
    scheduleResult(stage);
    if (tiles.attendsAlone)
      return scheduleAttended();
    scheduleTask();
    scheduleState();
    if (tiles.widenedFor > 0)
      scheduleWidened();
    scheduleScores();
    scheduleSoftmax();
    if (tiles.external)
      return scheduleMixed();
    scheduleWeights();
    if (oneQuery) {
      scheduleProductsByLane();
      scheduleContextByKeys();
    } else {
      scheduleProducts();
      scheduleContext();
    }
  }

private:
  static RVar guarded(const char *name) { return RVar(GuardedLoop + std::string(name)); }

  /// What all stages of a task share: its blocks of queries, one of them in each block of keys, one head (a
  /// step: heads side by side), one batch row, memory on the stack.
  Func &local(Func &stage, bool hasBlock) {
    stage.store_in(MemoryType::Stack).bound_extent(s.head, tiles.heads).bound_extent(s.batch, 1);
    if (hasBlock)
      one(stage, s.block);
    if (hasBlock || p.blocksPerTask == 1)
      stage.bound_extent(s.queryBlock, 1);
    else
      stage.bound_storage(s.queryBlock, p.blocksPerTask);
    return stage;
  }

  /// There is one element along `var`. What external stages read is asked of them for outer loops as well,
  /// and what is not asked for there is not computed: extents must not be bounded.
  void one(Func &stage, const Var &var) {
    if (tiles.external)
      stage.bound_storage(var, 1);
    else
      stage.bound_extent(var, 1);
  }

  /// As local, of one of the heads that are side by side.
  Func &ofOneHead(Func &stage) {
    one(stage, s.block);
    one(stage, s.tile);
    stage.store_in(MemoryType::Stack).bound_extent(s.queryBlock, 1);
    return stage.bound_extent(s.head, 1).bound_extent(s.batch, 1);
  }

  /// Queries in the lanes, all of them unrolled.
  void overQueries(Stage stage) {
    if (!oneQuery)
      stage.vectorize(s.query, p.queryLanes).unroll(s.query);
  }

  Expr blocksPerTask() const {
    if (p.blocksPerTask == 1)
      return 1;
    return select(min(kernel.queries, kernel.keys) > p.manyKeys, p.blocksPerTask, 1);
  }

  void scheduleResult(Stage stage) {
    Var inBlock("inBlock"), group("group");
    // The last task has as many heads as the others: some may be those of the one before, which are written
    // twice, with the same bits.
    if (oneQuery)
      stage.split(s.head, group, s.head, tiles.heads, TailStrategy::ShiftInwards)
          .reorder(s.width, s.head, s.query, group, s.batch)
          .fuse(s.query, group, level)
          .fuse(level, s.batch, level);
    else
      stage.split(s.query, s.queryBlock, inBlock, tiles.queries, TailStrategy::GuardWithIf)
          .split(s.queryBlock, group, s.queryBlock, blocksPerTask(), TailStrategy::GuardWithIf)
          .reorder(s.width, inBlock, s.queryBlock, group, s.head, s.batch)
          .fuse(group, s.head, level)
          .fuse(level, s.batch, level);
    stage.vectorize(s.width, tiles.lanes).unroll(s.width).never_partition_all();
    if (tiles.spanHeads == 0)
      stage.parallel(level);
  }

  /// What a task has once: its queries, and what its blocks of keys are skipped by.
  void scheduleTask() {
    if (s.firstKey.defined())
      local(s.firstKey, false).compute_at(result, level);
    if (s.seen.defined())
      scheduleSeen();
    local(s.inverse, false).compute_at(result, level).bound(s.query, 0, tiles.queries);
    overQueries(s.inverse);
    local(s.turned, false).compute_at(result, level);
    if (tiles.external)
      return scheduleExternalQueries();
    s.turned.bound(s.query, 0, tiles.queries).bound(s.width, 0, p.width);
    if (oneQuery)
      s.turned.vectorize(s.width, tiles.lanes);
    else // all queries of some columns at once: one dense vector of shuffles instead of gathers
      s.turned.reorder(s.query, s.width).vectorize(s.width, std::min(tiles.lanes, 8)).unroll(s.query);
  }

  void scheduleExternalQueries() {
    s.turned.bound(s.query, 0, PanelColumns).bound(s.pair, 0, filledUp(p.width) / 2);
    s.turned.bound(s.panel, 0, tiles.queries / PanelColumns);
    scheduleScaled();
  }

  void scheduleScaled() {
    local(s.scaled, false).compute_at(result, level).vectorize(s.width, tiles.lanes).unroll(s.width);
    s.scaled.bound(s.query, 0, tiles.queries).bound(s.width, 0, p.width).never_partition_all();
  }

  void scheduleAttended() {
    scheduleScaled();
    local(s.bounds, false).compute_at(result, level).bound(s.query, 0, tiles.queries).bound(s.side, 0, 2);
    s.bounds.unroll(s.side);
    if (!oneQuery)
      s.bounds.vectorize(s.query, p.queryLanes);
    local(s.attended, false).compute_at(result, level).bound(s.query, 0, tiles.queries);
    s.attended.bound(s.width, 0, filledUp(p.valueWidth));
    if (tiles.spanHeads > 0)
      scheduleParts();
  }

  /// Of one row after the other. The last heads may be written twice, as those of the result.
  void scheduleParts() {
    const int columns = p.valueWidth + tiles.lanes;
    Var group("headGroup"), task("spanTask");
    local(s.parts, false).compute_at(result, level).bound(s.query, 0, 1).bound(s.width, 0, columns);
    s.parts.bound_storage(s.span, StepSpans)
        .split(s.head, group, s.head, tiles.spanHeads, TailStrategy::ShiftInwards)
        .reorder(s.width, s.query, s.head, s.queryBlock, s.span, group, s.batch)
        .fuse(s.span, group, task)
        .fuse(task, s.batch, task)
        .parallel(task)
        .vectorize(s.width, tiles.lanes)
        .unroll(s.width)
        .never_partition_all();
    s.part.store_in(MemoryType::Stack)
        .compute_at(s.parts, task)
        .bound(s.query, 0, 1)
        .bound(s.width, 0, columns);
    s.part.bound_extent(s.span, 1).bound_extent(s.head, tiles.spanHeads).bound_extent(s.queryBlock, 1);
    s.part.bound_extent(s.batch, 1);
  }

  /// External stages read inputs and write columns by the 32.
  static int filledUp(int width) { return (width + PanelColumns - 1) / PanelColumns * PanelColumns; }

  /// Keys in the lanes, as masks from outside lie. All blocks before the first one's work: guards of loops
  /// read what is there before the loop.
  void scheduleSeen() {
    local(s.seen, false).compute_at(result, level).bound_storage(s.block, MaxKeyBlocks);
    s.seen.update()
        .reorder(s.looked.x, s.looked.y, s.looked.z)
        .rename(s.looked.z, guarded("Queries"))
        .atomic()
        .vectorize(s.looked.x);
  }

  void scheduleState() {
    local(s.state, false).compute_at(result, level);
    s.state.bound(s.width, 0, p.valueWidth + tiles.lanes).bound(s.query, 0, tiles.queries);
    s.state.vectorize(s.width, tiles.lanes).unroll(s.width).never_partition_all();
    s.state.update()
        .rename(s.queryBlock, visitor)
        .reorder(s.width, s.query, s.head, visitor, s.blocks.x)
        .rename(s.blocks.x, guarded("Blocks"))
        .vectorize(s.width, tiles.lanes)
        .unroll(s.width)
        .never_partition_all();
  }

  /// Once for all blocks of queries of a task, by the first of them: Halide sees that the others need the
  /// same.
  void scheduleWidened() {
    for (auto [wide, columns] : {std::pair(&s.wideKeys, p.width), std::pair(&s.wideValues, p.valueWidth)}) {
      wide->store_in(MemoryType::Stack).store_at(result, level).compute_at(visit);
      wide->bound(s.width, 0, columns).bound(s.key, 0, tiles.keys).bound_storage(s.block, 1);
      wide->bound_storage(s.queryBlocks, 1).bound_extent(s.head, 1).bound_extent(s.batch, 1);
      wide->update()
          .reorder(s.width, s.widened.x, s.widened.y)
          .rename(s.widened.y, guarded("Widened"))
          .vectorize(s.width, tiles.lanes)
          .unroll(s.width)
          .unroll(s.widened.x)
          .never_partition_all();
    }
  }

  void scheduleScores() {
    local(s.scores, true).compute_at(visit).bound(s.query, 0, tiles.queries).bound(s.key, 0, tiles.keys);
    Stage update = s.scores.update();
    update.reorder(s.query, s.tiledKeys.x, s.head, s.tiledKeys.y).never_partition_all();
    update.rename(s.tiledKeys.y, guarded("Tiles"));
    overQueries(update);
    if (oneQuery) // each lane writes a key of its own
      update.allow_race_conditions().vectorize(s.tiledKeys.x, tiles.keyTile);
    else
      update.unroll(s.tiledKeys.x);
    ofOneHead(s.products).compute_at(s.scores, s.head);
    s.products.bound(s.query, 0, tiles.queries).bound(s.keyInTile, 0, tiles.keyTile);
  }

  void scheduleProducts() {
    s.products.unroll(s.keyInTile);
    overQueries(s.products);
    Stage update = s.products.update();
    update.reorder(s.query, s.keyInTile, s.inner.x).unroll(s.keyInTile);
    overQueries(update);
    if (p.width % 2 == 0)
      update.unroll(s.inner.x, 2);
  }

  void scheduleProductsByLane() {
    s.products.unroll(s.keyInTile);
    Stage update = s.products.update();
    update.reorder(s.acrossLanes.x, s.keyInTile);
    if (tiles.lanes > 1)
      update.atomic().vectorize(s.acrossLanes.x);
    update.vectorize(s.keyInTile);
    ofOneHead(s.partials).compute_at(s.scores, s.head);
    s.partials.bound(s.lane, 0, tiles.lanes).bound(s.keyInTile, 0, tiles.keyTile);
    s.partials.vectorize(s.lane).unroll(s.keyInTile);
    s.partials.update()
        .reorder(s.lane, s.inner.x, s.keyInTile)
        .vectorize(s.lane)
        .unroll(s.inner.x, vectorsAtOnce(p.width / tiles.lanes))
        .unroll(s.keyInTile);
  }

  /// A reduction over the keys of a block: RVars 0 and 1 are the key in its tile and the tile.
  void overKeys(Func &stage, int unrolled) {
    std::vector<RVar> keys = stage.rvars(0);
    Stage update = stage.update();
    update.reorder(s.query, keys[0], keys[1]).unroll(keys[0], unrolled).never_partition_all();
    overQueries(update);
  }

  void scheduleSoftmax() {
    local(s.keptMaximum, false).compute_at(visit).store_at(result, level);
    s.keptMaximum.bound_storage(s.block, MaxKeyBlocks).bound(s.query, 0, tiles.queries);
    overQueries(s.keptMaximum);
    for (Func *stage : {&s.blockMaximum, &s.maximumBefore, &s.maximum, &s.decay, &s.share})
      ofQueries(*stage);
    s.maximumBefore.update().reorder(s.query, s.earlier.x).never_partition_all();
    overQueries(s.maximumBefore.update());
    overKeys(s.blockMaximum, 1);
  }

  void ofQueries(Func &stage) {
    local(stage, true).compute_at(visit).bound(s.query, 0, tiles.queries);
    overQueries(stage);
  }

  void scheduleWeights() {
    ofQueries(s.weights);
    ofQueries(s.blockSum);
    s.weights.bound(s.key, 0, tiles.keys);
    if (oneQuery) // each lane writes a key of its own
      s.weights.update().allow_race_conditions().vectorize(s.weights.rvars(0)[0]).never_partition_all();
    else
      overKeys(s.weights, 2);
    overKeys(s.blockSum, 1);
  }

  // Tiles of sums in registers, written once per block of keys. Tiles of keys before the end have a loop of
  // their own, whose rows of values need no bounds.
  void scheduleContext() {
    Func written = s.blockContext.in(s.state);
    Var columns("columns"), rows("rows");
    local(written, true).compute_at(visit).bound(s.query, 0, tiles.queries).bound(s.width, 0, p.valueWidth);
    written.split(s.width, columns, s.width, p.contextColumns, TailStrategy::RoundUp)
        .split(s.query, rows, s.query, p.contextRows, TailStrategy::RoundUp)
        .reorder(s.width, s.query, columns, rows)
        .vectorize(s.width, tiles.lanes)
        .unroll(s.width)
        .unroll(s.query);
    local(s.blockContext, true).compute_at(written, columns);
    s.blockContext.bound_extent(s.width, p.contextColumns).bound_extent(s.query, p.contextRows);
    s.blockContext.vectorize(s.width, tiles.lanes).unroll(s.width).unroll(s.query);
    std::vector<RVar> keys = s.blockContext.rvars(0);
    s.blockContext.update()
        .reorder(s.width, s.query, keys[0], keys[1])
        .vectorize(s.width, tiles.lanes)
        .unroll(s.width)
        .unroll(s.query)
        .unroll(keys[0], MixedAtOnce);
  }

  void scheduleMixed() {
    local(s.mixedKeys, true).compute_at(visit).bound(s.lane, 0, 2);
    local(s.mixed, true).compute_at(visit).bound(s.query, 0, tiles.queries);
    s.mixed.bound(s.width, 0, filledUp(p.valueWidth));
  }

  // Some keys of one head after the other, so that values are read as they lie.
  void scheduleContextByKeys() {
    local(s.blockContext, true).compute_at(visit).bound(s.width, 0, p.valueWidth);
    s.blockContext.bound(s.query, 0, 1).vectorize(s.width, tiles.lanes).unroll(s.width);
    std::vector<RVar> keys = s.blockContext.rvars(0);
    s.blockContext.update()
        .reorder(s.width, s.query, keys[0], s.head, keys[1])
        .vectorize(s.width, tiles.lanes)
        .unroll(s.width)
        .unroll(keys[0], MixedAtOnce);
  }

  const AttentionKernel &kernel;
  AttentionStages &s;
  const AttentionSchedule &p;
  const AttentionTiles &tiles;
  const bool oneQuery;
  Func result;
  Var level; // of tasks
  const Var visitor{GuardedLoop +
                    std::string("Visitor")}; // a block of queries, in the loop over blocks of keys
  const LoopLevel visit;
};
} // namespace

void scheduleAttention(AttentionKernel &kernel, const std::vector<AttentionSchedule> &schedules) {
  const AttentionStages &any = kernel.ways.back();
  kernel.result.bound(any.width, 0, schedules.back().valueWidth);
  const size_t last = kernel.ways.size() - 1;
  if (schedules[last].tiles.queries == 1)
    kernel.result.bound(any.query, 0, 1);
  for (size_t i = 0; i < last; ++i) { // the first condition that holds decides
    const AttentionTiles &tiles = schedules[i].tiles;
    AttentionScheduler(kernel, i, schedules[i])
        .schedule(kernel.result.specialize(kernel.isServedBy(tiles)), "Of" + std::to_string(tiles.serves));
  }
  AttentionScheduler(kernel, last, schedules[last]).schedule(Stage(kernel.result), "");
}

} // namespace attnc
