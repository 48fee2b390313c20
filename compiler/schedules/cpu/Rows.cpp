//===- Rows.cpp - schedules of row-by-row work on CPUs ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Norms, embeddings, pointwise work: a row is one pass (or three) over a few KiB, so rows go to threads in
// groups.

#include "compiler/kernels/Math.h"
#include "compiler/schedules/cpu/JoinLoops.h"
#include "compiler/schedules/cpu/Schedules.h"

using namespace Halide;

namespace attnc {

/// Rows of a task: 16 rows of 512 floats are 32 KiB, some microseconds of work.
constexpr int RowsAtOnce = 16;

void scheduleRowGroups(Stage stage, const std::vector<Var> &vars) {
  if (vars.size() < 2)
    return;
  Var group("group");
  stage.split(vars[1], group, vars[1], RowsAtOnce, TailStrategy::GuardWithIf);
  for (size_t axis = 2; axis < vars.size(); ++axis)
    stage.fuse(group, vars[axis], group);
  stage.parallel(group);
}

void scheduleRows(Func result, const std::vector<Var> &vars, int lanes) {
  result.vectorize(vars[0], lanes, TailStrategy::GuardWithIf).never_partition_all();
  scheduleRowGroups(result, vars);
}

void scheduleLaneReduction(Func stage, int lanes, Func consumer, Var row) {
  Var lane = stage.args()[0];
  stage.compute_at(consumer, row).store_in(MemoryType::Stack).vectorize(lane, lanes);
  stage.update(0).reorder(lane, stage.rvars(0)[0]).vectorize(lane, lanes).never_partition_all();
  stage.update(1).vectorize(lane, lanes);
}

void scheduleAppendedRows(Stage update, const RVar &query, const RVar &row) {
  RVar queryGroup("queryGroup"), rowGroup("rowGroup"), queryInGroup("queryInGroup"), rowInGroup("rowInGroup"),
      group("group");
  update.split(query, queryGroup, queryInGroup, RowsAtOnce, TailStrategy::GuardWithIf)
      .split(row, rowGroup, rowInGroup, RowsAtOnce, TailStrategy::GuardWithIf)
      .reorder(queryInGroup, rowInGroup, queryGroup, rowGroup)
      .fuse(queryGroup, rowGroup, group)
      .allow_race_conditions() // no two write to one place
      .parallel(group);
}

// Lane sums of one row: four vectors under way hide the latency of an addition.
static void scheduleLaneSum(Func lanesSum, Var lane, int lanes, Func consumer, Var row) {
  lanesSum.compute_at(consumer, row).store_in(MemoryType::Stack).vectorize(lane, lanes);
  lanesSum.update().reorder(lane, lanesSum.rvars(0)[0]).vectorize(lane, lanes);
}

void scheduleRowNorm(RowNormStages &stages, int lanes, Func consumer, Var row) {
  for (Func partial : stages.partials)
    scheduleLaneSum(partial, stages.lane, lanes, consumer, row);
  for (Func value : stages.rowValues)
    value.compute_at(consumer, row).store_in(MemoryType::Stack);
}

/// As many rows as the first cache holds until their bytes are made: 32 KiB of floats.
static int quantisedAtOnce(int width) { return std::clamp((1 << 13) / std::max(1, width), 1, RowsAtOnce); }

void scheduleQuantisedRows(QuantisedRowsStages &stages, int lanes) {
  Var group(JoinedLoop), row("rowInGroup");
  auto shareRows = [&](Stage stage) {
    stage.split(stages.row, group, row, quantisedAtOnce(stages.stored), TailStrategy::GuardWithIf)
        .parallel(group);
    stage.never_partition_all();
  };
  Func scales = stages.scales, extremes = stages.extremes, bytes = stages.bytes;
  shareRows(scales.compute_root().bound(stages.column, 0, 2).unroll(stages.column));
  scheduleLaneSum(extremes, stages.lane, stages.lanes, scales, row);
  extremes.bound(stages.lane, 0, stages.together).unroll(stages.lane);
  extremes.update().unroll(stages.lane);
  stages.folded.compute_at(scales, row).store_in(MemoryType::Stack);
  stages.folded.bound(stages.lane, 0, stages.lanes).vectorize(stages.lane);
  bytes.compute_root().bound(stages.column, 0, stages.stored);
  shareRows(bytes.vectorize(stages.column, 4 * lanes, TailStrategy::GuardWithIf));
  if (bytes.has_update_definition()) {
    Stage update = bytes.update();
    shareRows(update.vectorize(bytes.rvars(0)[0], lanes, TailStrategy::GuardWithIf));
  }
}

} // namespace attnc
