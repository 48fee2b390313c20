//===- Cell.cpp - schedule of recurrent cells on CPUs -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// As a matmul's, with the sums of all gates at each tile. Gates are summed one after the other, so a tile of
// them needs no more registers than a matmul's; their sums wait on the stack.

#include "compiler/schedules/cpu/PrefetchPanels.h"
#include "compiler/schedules/cpu/Schedules.h"

using namespace Halide;

namespace attnc {

static void scheduleClass(CellStages &stages, Stage stage, size_t index, const MatmulSchedule &schedule) {
  MatmulTile tile = schedule.tiles[index];
  bool anyRows = index + 1 == schedule.tiles.size();
  std::string suffix = std::to_string(index);
  Var columnTile("columnTile" + suffix), rowTile(RowTileLoop + suffix), column("inTile" + suffix),
      row("inRows" + suffix);
  TailStrategy columns = stages.columns % tile.columns ? TailStrategy::GuardWithIf : TailStrategy::RoundUp;
  TailStrategy rows = tile.rows > 1 ? TailStrategy::GuardWithIf : TailStrategy::RoundUp;
  stage.split(stages.column, columnTile, column, tile.columns, columns)
      .split(stages.row, rowTile, row, tile.rows, rows);
  shareOutTiles(stage, {column, row, rowTile, columnTile, suffix}, schedule.columnsPerTask / tile.columns,
                schedule, anyRows);
  stage.vectorize(column, schedule.lanes).never_partition_all();
  for (Accumulator &gate : stages.accumulators[index])
    scheduleAccumulator(gate, schedule.lanes, stages.result, rowTile);
}

void scheduleCell(CellStages &stages, const MatmulSchedule &schedule) {
  stages.result.bound(stages.column, 0, stages.columns).compute_root();
  size_t last = schedule.tiles.size() - 1;
  for (size_t i = 0; i < last; ++i) // the first condition that holds decides
    scheduleClass(stages, stages.result.specialize(stages.rows <= schedule.tiles[i].serves), i, schedule);
  scheduleClass(stages, Stage(stages.result), last, schedule);
}

} // namespace attnc
