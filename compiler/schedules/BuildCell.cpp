//===- BuildCell.cpp - steps of recurrent cells ----------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/schedules/PipelineBuilder.h"

using Halide::Expr;

namespace attnc {

void PipelineBuilder::addCellStage(const CellStage &stage) {
  CellInputs inputs;
  inputs.columns = widthOf(stage.results.front());
  int steps = 0;
  for (mlir::Value gate : stage.gates) {
    auto slice = gate.getDefiningOp<attn::SliceOp>();
    auto linear = (slice ? slice.getInput() : gate).getDefiningOp<attn::LinearOp>();
    LinearInputs whole = region.linear(linear);
    inputs.gates.push_back(sliceLinear(whole, slice ? slice.getOffset() : 0, inputs.columns));
    inputs.rows = whole.input.extents[1];
    steps += whole.weight.in / whole.weight.group;
  }
  inputs.elements = [&](const std::vector<Tensor> &gates, const Coordinates &at) {
    for (auto [value, gate] : llvm::zip(stage.gates, gates))
      region.bind(value, gate);
    std::vector<Expr> elements;
    for (mlir::Value result : stage.results)
      elements.push_back(storable(result, region.tensor(result).at(at)));
    for (mlir::Value value : stage.gates)
      region.bind(value, {});
    return elements;
  };
  const LinearInputs &first = inputs.gates.front();
  const MatmulShape shape{steps, first.weight.group, inputs.columns, first.scales.has_value()};
  MatmulSchedule schedule =
      chooseTuned([&](const ScheduleChoice &choice) { return chooseGates(cpu, shape, choice); });
  CellStages stages = buildCell(inputs, schedule.tiles, "result" + std::to_string(pipeline.outputs.size()));
  scheduleCell(stages, schedule);
  addResults(stages.result, stage.results);
}

void PipelineBuilder::buildCellKernel(const CellMatch &match) {
  for (const CellStage &stage : match.stages)
    addCellStage(stage);
}

} // namespace attnc
