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

/// Of a block there is one at a time, on the stack.
static Func &keepOne(Func &stage, std::vector<Var> places, const ProductStages &s) {
  places.insert(places.end(), s.outer.begin(), s.outer.end());
  for (const Var &place : places)
    stage.bound_storage(place, 1);
  return stage.store_in(MemoryType::Stack);
}

static void schedulePacked(ProductStages &s, const ProductTiles &tiles) {
  keepOne(s.packed, {s.chunkNumber, s.columnBlock}, s).compute_at(s.sums, s.chunks.x);
  s.packed.bound_extent(s.column, tiles.columns).bound_storage(s.term, tiles.terms);
  if (tiles.turnedLanes == 0) {
    s.packed.vectorize(s.column, tiles.lanes).unroll(s.column);
    return;
  }
  // Some terms of all columns at once: dense vectors and shuffles instead of gathers.
  s.packed.bound_extent(s.term, tiles.terms)
      .reorder(s.column, s.term)
      .vectorize(s.term, tiles.turnedLanes)
      .unroll(s.column);
}

void scheduleProduct(ProductStages &s, const ProductTiles &tiles) {
  Var columnTask("columnTask"), task("task"), tile("tile");
  for (size_t axis = 0; axis < s.extents.size(); ++axis) // or guards of fused loops are too weak
    s.result.bound(s.result.args()[axis], 0, s.extents[axis]);
  s.result.split(s.column, s.columnBlock, s.column, tiles.columns, TailStrategy::GuardWithIf)
      .split(s.row, s.rowBlock, s.row, tiles.rowsOfBlock, TailStrategy::GuardWithIf)
      .split(s.columnBlock, columnTask, s.columnBlock, ColumnBlocksPerTask, TailStrategy::GuardWithIf);
  std::vector<VarOrRVar> order = {s.column, s.row, s.columnBlock, columnTask, s.rowBlock};
  order.insert(order.end(), s.outer.begin(), s.outer.end());
  s.result.reorder(order).fuse(columnTask, s.rowBlock, task);
  for (const Var &outer : s.outer)
    s.result.fuse(task, outer, task);
  s.result.parallel(task).vectorize(s.column, tiles.lanes).unroll(s.column).never_partition_all();

  keepOne(s.sums, {s.columnBlock, s.rowBlock}, s).compute_at(s.result, s.columnBlock);
  s.sums.bound_extent(s.column, tiles.columns).bound_storage(s.row, tiles.rowsOfBlock);
  s.sums.vectorize(s.column, tiles.lanes).unroll(s.column);
  s.sums.update()
      .split(s.row, tile, s.row, tiles.rows, TailStrategy::RoundUp)
      .reorder(s.column, s.row, tile, s.chunks.x)
      .vectorize(s.column, tiles.lanes)
      .unroll(s.column)
      .unroll(s.row)
      .never_partition_all();

  keepOne(s.chunk, {s.chunkNumber, s.columnBlock, s.rowBlock}, s).compute_at(s.sums, tile);
  s.chunk.bound_extent(s.column, tiles.columns).bound_extent(s.row, tiles.rows);
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
