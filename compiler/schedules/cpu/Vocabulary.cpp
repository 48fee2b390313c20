//===- Vocabulary.cpp - schedule of vocabulary projections on CPUs ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// As a matmul, but a tile of logits stays in the first cache and leaves two numbers per row and panel.

#include "compiler/schedules/cpu/HoistGuards.h"
#include "compiler/schedules/cpu/PrefetchPanels.h"
#include "compiler/schedules/cpu/Schedules.h"

#include <algorithm>

using namespace Halide;

namespace attnc {

// Tiles of logits are whole panels, whatever the width of the sums that fill them.
static int panelsPerTile(const MatmulTile &tile) {
  return tile.isShared() ? PanelsAtOnce : std::max(tile.columns / PanelColumns, 1);
}

static void schedulePanelSums(PanelSums &sums, int lanes, Func panels, Var level) {
  for (Func value : {sums.maximum, sums.sum})
    value.compute_at(panels, level).store_in(MemoryType::Stack);
  for (auto &[half, halfLanes] : sums.halves) {
    half.compute_at(panels, level).store_in(MemoryType::Stack).bound(sums.lane, 0, halfLanes);
    half.vectorize(sums.lane, std::min(halfLanes, lanes)).unroll(sums.lane);
  }
}

static void schedulePanelStages(PanelStages &stages, Func panels, Var rowTile, Var tileOfPanels, int lanes) {
  MatmulTile tile = stages.accumulator.tile;
  int words = panelsPerTile(tile) * PanelColumns;
  stages.logits.compute_at(panels, rowTile).store_in(MemoryType::Stack);
  stages.logits.bound_extent(stages.word, words);
  Var columnTile("columnTile"), column("inTile"), rows("rows"), row("inRows");
  stages.logits.split(stages.word, columnTile, column, tile.columns, TailStrategy::RoundUp);
  if (tile.isExternal())
    stages.logits.bound_storage(stages.row, tile.rows).reorder(column, stages.row, columnTile);
  else
    stages.logits.bound_extent(stages.row, tile.rows)
        .split(stages.row, rows, row, tile.rows, TailStrategy::RoundUp)
        .reorder(column, row, rows, columnTile)
        .unroll(row);
  stages.logits.vectorize(column, lanes).unroll(column);
  if (tile.isShared())
    scheduleAccumulator(stages.accumulator, lanes, panels, tileOfPanels);
  else
    scheduleAccumulator(stages.accumulator, lanes, stages.logits, columnTile);
  schedulePanelSums(stages, lanes, panels, stages.row);
}

static void scheduleClass(VocabularyStages &stages, Stage stage, size_t index,
                          const MatmulSchedule &schedule) {
  MatmulTile tile = schedule.tiles[index];
  bool anyRows = index + 1 == schedule.tiles.size();
  std::string suffix = std::to_string(index);
  Var tileOfPanels("tileOfPanels" + suffix), rowTile(RowTileLoop + suffix), panel("inTile" + suffix);
  int tilesPerTask = std::max(1, schedule.columnsPerTask / (panelsPerTile(tile) * PanelColumns));
  stage.split(stages.panel, tileOfPanels, panel, panelsPerTile(tile), TailStrategy::GuardWithIf)
      .split(stages.row, rowTile, stages.row, tile.rows, TailStrategy::GuardWithIf);
  shareOutTiles(stage, {panel, stages.row, rowTile, tileOfPanels, suffix}, tilesPerTask, schedule, anyRows);
  stage.never_partition_all();
  PanelStages &ofClass = stages.classes[index];
  ofClass.row = stages.row;
  schedulePanelStages(ofClass, stages.panels, rowTile, tileOfPanels, schedule.lanes);
}

void scheduleVocabulary(VocabularyStages &stages, const MatmulSchedule &schedule) {
  stages.panels.bound(stages.panel, 0, stages.panelCount).compute_root();
  size_t last = schedule.tiles.size() - 1;
  for (size_t i = 0; i < last; ++i) // the first condition that holds decides
    scheduleClass(stages, stages.panels.specialize(stages.rows <= schedule.tiles[i].serves), i, schedule);
  scheduleClass(stages, Stage(stages.panels), last, schedule);
}

void scheduleLogSum(LogSumStages &s, int lanes, Func consumer, Var row) {
  for (Func padded : {s.paddedMaxima, s.paddedSums}) {
    padded.compute_at(consumer, row)
        .store_in(MemoryType::Stack)
        .bound(s.panel, 0, s.padded)
        .vectorize(s.panel, lanes);
    padded.update().vectorize(padded.rvars(0)[0], lanes, TailStrategy::GuardWithIf).never_partition_all();
  }
  for (Func lane : {s.laneMaxima, s.laneSums}) {
    lane.compute_at(consumer, row).store_in(MemoryType::Stack).bound(s.lane, 0, MaximumLanes);
    lane.vectorize(s.lane, lanes).unroll(s.lane);
    lane.update().reorder(s.lane, lane.rvars(0)[0]).vectorize(s.lane, lanes).unroll(s.lane);
  }
  for (Func value : {s.maximum, s.logSum})
    value.compute_at(consumer, row).store_in(MemoryType::Stack);
}

void scheduleRowLogSum(RowLogSumStages &stages, int lanes, Func consumer, Var row) {
  stages.panels.compute_at(consumer, row).store_in(MemoryType::Stack);
  schedulePanelSums(stages.sums, lanes, stages.panels, stages.sums.panel);
  scheduleLogSum(stages.logSum, lanes, consumer, row);
}

void scheduleTop(TopStages &stages, VocabularyStages &vocabulary, int lanes) {
  Func result = stages.result;
  // A row's sums over panels and its search belong to the update; rows are tasks of their own.
  result.never_partition_all();
  Stage update = result.update();
  RVar panels(GuardedLoop + std::string("Panels"));
  update.reorder(stages.insertion.x, stages.insertion.y, stages.insertion.z, stages.row)
      .rename(stages.insertion.z, panels)
      .parallel(stages.row)
      .never_partition_all();
  scheduleLogSum(vocabulary.logSum, lanes, result, stages.row);
  stages.threshold.compute_at(result, stages.row).store_in(MemoryType::Stack);
  stages.sums.compute_at(result, panels).store_in(MemoryType::Stack);
  stages.sums.bound(stages.word, 0, PanelColumns).vectorize(stages.word, lanes).unroll(stages.word);
  Stage again = stages.sums.update();
  RVar inGroup("inGroup");
  again.split(stages.k, stages.k, inGroup, stages.group);
  if (stages.addsGroups)
    again.reorder(inGroup, stages.word, stages.k).atomic().vectorize(inGroup);
  else
    again.reorder(stages.word, inGroup, stages.k).unroll(inGroup);
  again.vectorize(stages.word, lanes).unroll(stages.word);
}

} // namespace attnc
