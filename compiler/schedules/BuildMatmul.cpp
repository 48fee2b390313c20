//===- BuildMatmul.cpp - linears with what follows them --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/schedules/PipelineBuilder.h"

using Halide::Func;

namespace attnc {

MatmulSchedule PipelineBuilder::matmulSchedule(const LinearInputs &inputs) {
  return chooseTuned([&](const ScheduleChoice &choice) { return chooseMatmul(cpu, inputs, choice); });
}

void PipelineBuilder::addLinearResult(const MatmulMatch &match, mlir::Value value,
                                      const LinearInputs &inputs) {
  MatmulSchedule schedule = matmulSchedule(inputs);
  mlir::Value linear = attn::LinearOp(match.linear).getResult();
  auto epilogue = [&](const Tensor &result, const Coordinates &at) {
    region.bind(linear, result);
    return storable(value, region.tensor(value).at(at));
  };
  std::string name = "result" + std::to_string(pipeline.outputs.size());
  LinearStages stages = buildLinear(inputs, schedule.tiles, epilogue, name);
  region.bind(linear, {});
  scheduleMatmul(stages, schedule);
  stages.result.compute_root();
  addResult(stages.result, value);
}

void PipelineBuilder::buildMatmul(const MatmulMatch &match) {
  LinearInputs inputs = region.linear(match.linear);
  // What a norm reads has to be in memory before it; results keep the order of the yield.
  llvm::DenseMap<mlir::Value, Func> made;
  for (bool second : {false, true})
    for (mlir::Value value : region.results())
      if (second == (match.norm && dependsOn(value, match.norm)) && !made.count(value)) {
        if (second)
          addNormResult(match.norm, value);
        else
          addLinearResult(match, value, inputs);
        made[value] = pipeline.outputs.back();
      }
  pipeline.outputs.clear();
  for (mlir::Value value : region.results())
    pipeline.outputs.push_back(made[value]);
}

} // namespace attnc
