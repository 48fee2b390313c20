//===- Matmul.cpp - schedule of matmuls on CPUs -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One specialisation per class of row counts. A task is a group of columns by a group of row tiles; in it a
// panel of weights meets all rows before the next panel comes, or rows meet all panels before the next rows
// do.

#include "compiler/kernels/Math.h"
#include "compiler/schedules/cpu/PrefetchPanels.h"
#include "compiler/schedules/cpu/Schedules.h"

using namespace Halide;

namespace attnc {

/// The name of a loop over the input that asks for weights; empty where it does not.
static std::string nameOf(Prefetch prefetch) {
  switch (prefetch) {
  case Prefetch::None:
    return "";
  case Prefetch::NextColumns:
    return PrefetchingLoop;
  case Prefetch::Ahead:
    return ReadingAheadLoop;
  case Prefetch::AheadSecond:
    return ReadingAheadSecondLoop;
  }
  return "";
}

void scheduleAccumulator(Accumulator &accumulator, int lanes, Func consumer, VarOrRVar level) {
  MatmulTile tile = accumulator.tile;
  Func sums = accumulator.sums;
  if (tile.isExternal()) {
    sums.compute_at(LoopLevel(consumer, level)).store_in(MemoryType::Stack);
    // Whole tiles, also where guards cut the last one: Halide moves it inwards otherwise, where no panel
    // begins.
    sums.align_bounds(accumulator.column, tile.columns).align_bounds(accumulator.row, tile.rows);
    sums.bound_extent(accumulator.column, tile.columns).bound_extent(accumulator.row, tile.rows);
    return;
  }
  if (Func widened = accumulator.widened; widened.defined())
    widened.compute_at(LoopLevel(consumer, level))
        .store_in(MemoryType::Stack)
        .bound_extent(accumulator.row, tile.rows)
        .bound_storage(accumulator.rowTile, tile.isShared() ? (tile.serves + tile.rows - 1) / tile.rows : 1)
        .vectorize(widened.args()[0], lanes);
  int depth = *as_const_int(simplify(accumulator.k.x.extent()));
  sums.compute_at(LoopLevel(consumer, level)).store_in(MemoryType::Stack);
  sums.bound(accumulator.column, 0, tile.columns).bound(accumulator.row, 0, tile.rows);
  sums.vectorize(accumulator.column, lanes).unroll(accumulator.column).unroll(accumulator.row);
  Stage update = sums.update();
  // Of integers an instruction adds up a group of products in each lane.
  RVar inGroup("inGroup");
  if (accumulator.group > 1)
    update.split(accumulator.k, accumulator.k, inGroup, accumulator.group);
  int steps = depth / accumulator.group, unrolled = lanesDividing(steps, 4);
  if (tile.isShared()) {
    // Several row tiles share some panels: sums stay in the first cache (16 rows x 128 columns are 8 KiB) and
    // go through registers for some steps over the input at a time. The panels are read side by side.
    RVar block("block");
    sums.bound_storage(accumulator.rowTile, (tile.serves + tile.rows - 1) / tile.rows);
    sums.bound_storage(accumulator.columnTile, PanelsAtOnce * PanelColumns / tile.columns);
    update.split(accumulator.k, block, accumulator.k, lanesDividing(steps, tile.steps))
        .reorder(accumulator.column, accumulator.row, accumulator.k, accumulator.rowTile,
                 accumulator.columnTile, block);
  } else {
    // Sums live in registers: all loops of the tile are unrolled, the loop over the input is outside of them.
    // There is one tile at a time, which bounds do not show where a guard cuts the last.
    sums.bound_storage(accumulator.rowTile, 1).bound_storage(accumulator.columnTile, 1);
    update.reorder(accumulator.column, accumulator.row, accumulator.k);
  }
  if (const std::string name = nameOf(tile.prefetch); !name.empty()) {
    RVar iteration(name);
    update.split(accumulator.k, iteration, accumulator.k, unrolled);
  }
  if (accumulator.group > 1)
    update.reorder(inGroup, accumulator.column).atomic().vectorize(inGroup);
  update.vectorize(accumulator.column, lanes)
      .unroll(accumulator.column)
      .unroll(accumulator.row)
      .unroll(accumulator.k, unrolled);
}

void shareOutTiles(Stage stage, const TileLoops &loops, int columnTiles, const MatmulSchedule &schedule,
                   bool anyRows) {
  Var columnTask("columnTask" + loops.suffix), rowTask("rowTask" + loops.suffix), task("task" + loops.suffix);
  stage.split(loops.columnTile, columnTask, loops.columnTile, columnTiles, TailStrategy::GuardWithIf);
  if (!anyRows) {
    stage.reorder(loops.column, loops.row, loops.rowTile, loops.columnTile, columnTask).parallel(columnTask);
    return;
  }
  // Tasks that follow each other share what the second cache may still hold.
  Var inner = schedule.byRows ? columnTask : rowTask, outer = schedule.byRows ? rowTask : columnTask;
  const bool staysWithRows = schedule.tiles.back().staysWithRows();
  stage.split(loops.rowTile, rowTask, loops.rowTile, schedule.rowTilesPerTask, TailStrategy::GuardWithIf)
      .reorder(loops.column, loops.row, staysWithRows ? loops.columnTile : loops.rowTile,
               staysWithRows ? loops.rowTile : loops.columnTile, inner, outer)
      .fuse(inner, outer, task)
      .parallel(task);
}

static void scheduleClass(LinearStages &stages, Stage stage, size_t index, const MatmulSchedule &schedule) {
  MatmulTile tile = schedule.tiles[index];
  bool anyRows = index + 1 == schedule.tiles.size();
  std::string suffix = std::to_string(index);
  Var columnTile("columnTile" + suffix), rowTile(RowTileLoop + suffix), column("inTile" + suffix),
      row("inRows" + suffix), columnBlock("columnBlock" + suffix);
  // Widths that whole tiles fill need no guard; others store under a mask.
  TailStrategy columns = stages.columns % tile.columns ? TailStrategy::GuardWithIf : TailStrategy::RoundUp;
  TailStrategy rows = tile.rows > 1 ? TailStrategy::GuardWithIf : TailStrategy::RoundUp;
  int columnsPerTask = anyRows ? schedule.columnsPerRowTask : schedule.columnsPerTask;
  stage.split(stages.column, columnTile, column, tile.columns, columns)
      .split(stages.row, rowTile, row, tile.rows, rows);
  shareOutTiles(stage, {column, row, rowTile, columnTile, suffix}, columnsPerTask / tile.columns, schedule,
                anyRows);
  Var level = tile.staysWithRows() ? columnTile : rowTile;
  if (tile.isShared()) {
    int tiles = PanelsAtOnce * PanelColumns / tile.columns;
    stage.split(columnTile, columnBlock, columnTile, tiles, TailStrategy::GuardWithIf);
    level = columnBlock;
  }
  stage.vectorize(column, schedule.lanes).unroll(column).never_partition_all();
  if (!tile.isExternal())
    stage.unroll(row);
  scheduleAccumulator(stages.accumulators[index], schedule.lanes, stages.result, level);
}

void scheduleMatmul(LinearStages &stages, const MatmulSchedule &schedule) {
  stages.result.bound(stages.column, 0, stages.columns);
  size_t last = schedule.tiles.size() - 1;
  for (size_t i = 0; i < last; ++i) // the first condition that holds decides
    scheduleClass(stages, stages.result.specialize(stages.rows <= schedule.tiles[i].serves), i, schedule);
  scheduleClass(stages, Stage(stages.result), last, schedule);
}

} // namespace attnc
