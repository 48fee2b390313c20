//===- Product.cpp - schedule of products of two inputs on CPUs -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A task is a block of rows by some blocks of columns. For each of these a chunk of the right side is packed
// (turned, where it is transposed), and meets all tiles of rows before the next one comes.

#include "compiler/kernels/Math.h"
#include "compiler/schedules/cpu/Schedules.h"

using namespace Halide;

namespace attnc {

/// Blocks of columns of a task: with blocks of 32 columns and 64 rows some 30,000 elements.
constexpr int ColumnBlocksPerTask = 16;

/// Columns whose terms are shuffled together, a vector of each.
constexpr int TurnedAtOnce = 8;

/// Of a block there is one at a time, on the stack.
static Func &keepOne(Func &stage, std::vector<Var> places, const ProductStages &s) {
  places.insert(places.end(), s.outer.begin(), s.outer.end());
  for (const Var &place : places)
    stage.bound_storage(place, 1);
  return stage.store_in(MemoryType::Stack);
}

static void schedulePacked(ProductStages &s, const ProductTiles &tiles) {
  keepOne(s.packed, {s.chunkNumber, s.columnBlock}, s).compute_at(s.sums, s.chunks.x);
  s.packed.bound(s.column, 0, tiles.columns).bound_storage(s.term, tiles.terms);
  if (tiles.turnedLanes > 0)
    s.packed.bound_extent(s.term, tiles.terms);
  auto schedule = [&](Stage stage) {
    if (tiles.turnedLanes == 0) {
      stage.vectorize(s.column, tiles.lanes).unroll(s.column);
      return;
    }
    Var group("group");
    stage.split(s.column, group, s.column, std::min(tiles.columns, TurnedAtOnce))
        .reorder(s.column, s.term, group)
        .vectorize(s.term, tiles.turnedLanes)
        .unroll(s.column);
  };
  schedule(s.packed.specialize(s.hasWholeBlock));
  schedule(s.packed);
}

static void scheduleFewRows(Stage stage, const ProductStages &s, int lanes) {
  stage.vectorize(s.column, lanes, TailStrategy::GuardWithIf).never_partition_all();
  if (s.outer.empty())
    return;
  Var task = s.outer.front();
  for (size_t axis = 1; axis < s.outer.size(); ++axis)
    stage.fuse(task, s.outer[axis], task);
  stage.parallel(task);
}

static void scheduleBlocks(Stage stage, const ProductStages &s, const ProductTiles &tiles) {
  Var columnTask("columnTask"), task("task");
  stage.split(s.column, s.columnBlock, s.column, tiles.columns, TailStrategy::GuardWithIf)
      .split(s.row, s.rowBlock, s.row, tiles.rowsOfBlock, TailStrategy::GuardWithIf)
      .split(s.columnBlock, columnTask, s.columnBlock, ColumnBlocksPerTask, TailStrategy::GuardWithIf);
  std::vector<VarOrRVar> order = {s.column, s.row, s.columnBlock, columnTask, s.rowBlock};
  order.insert(order.end(), s.outer.begin(), s.outer.end());
  stage.reorder(order).fuse(columnTask, s.rowBlock, task);
  for (const Var &outer : s.outer)
    stage.fuse(task, outer, task);
  stage.parallel(task).vectorize(s.column, tiles.lanes).unroll(s.column).never_partition_all();
}

void scheduleProduct(ProductStages &s, const ProductTiles &tiles) {
  for (size_t axis = 0; axis < s.extents.size(); ++axis) // or guards of fused loops are too weak
    s.result.bound(s.result.args()[axis], 0, s.extents[axis]);
  scheduleFewRows(s.result.specialize(s.hasFewRows), s, tiles.lanes);
  scheduleBlocks(s.result, s, tiles);
  s.result.compute_root();

  keepOne(s.sums, {s.columnBlock, s.rowBlock}, s).compute_at(s.result, s.columnBlock);
  s.sums.bound(s.column, 0, tiles.columns).bound_storage(s.row, tiles.rowsOfBlock);
  s.sums.vectorize(s.column, tiles.lanes).unroll(s.column);
  Var tile("tile");
  s.sums.update()
      .split(s.row, tile, s.row, tiles.rows, TailStrategy::RoundUp)
      .reorder(s.column, s.row, tile, s.chunks.x)
      .vectorize(s.column, tiles.lanes)
      .unroll(s.column)
      .unroll(s.row)
      .never_partition_all();

  keepOne(s.chunk, {s.chunkNumber, s.columnBlock, s.rowBlock}, s).compute_at(s.sums, tile);
  s.chunk.bound(s.column, 0, tiles.columns).bound_extent(s.row, tiles.rows);
  s.chunk.vectorize(s.column, tiles.lanes).unroll(s.column).unroll(s.row);
  s.chunk.update()
      .reorder(s.column, s.row, s.inChunk.x)
      .vectorize(s.column, tiles.lanes)
      .unroll(s.column)
      .unroll(s.row)
      .never_partition_all();
  schedulePacked(s, tiles);
}

} // namespace attnc
