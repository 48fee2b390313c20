//===- BuildVocabulary.cpp - linears to a vocabulary -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/schedules/PipelineBuilder.h"

using Halide::Expr;
using Halide::Func;
using Halide::Var;
using mlir::RankedTensorType;

namespace attnc {

/// The logits of all words, and how their sums are reached.
RowLogSumStages PipelineBuilder::buildLogits(const VocabularyMatch &match, const LinearInputs &inputs) {
  attn::LinearOp linear = match.linear;
  MatmulSchedule schedule = matmulSchedule(inputs);
  auto logit = [](const Tensor &result, const Coordinates &at) { return result.at(at); };
  LinearStages logits = buildLinear(inputs, schedule.tiles, logit, "logits");
  scheduleMatmul(logits, schedule);
  logits.result.compute_root();
  addResult(logits.result, linear.getResult());
  return buildRowLogSum(region.tensor(linear.getResult()), inputs.weight.out);
}

void PipelineBuilder::buildLogSum(const VocabularyMatch &match, const LinearInputs &inputs) {
  attn::LogSumExpOp logSum = match.logSum;
  RowLogSumStages sums = buildLogits(match, inputs);
  Var row("row");
  Func result("logSums");
  result(row) = sums.logSum.logSum(row);
  result.compute_root().parallel(row);
  scheduleRowLogSum(sums, cpu.lanes, result, row);
  addResult(result, logSum.getResult());
}

// Logits are the result's memory first, log-probabilities then.
void PipelineBuilder::buildLogProbabilities(const VocabularyMatch &match, const LinearInputs &inputs) {
  attn::LogSoftmaxOp logSoftmax = match.logSoftmax;
  RowLogSumStages sums = buildLogits(match, inputs);
  std::vector<Var> vars = axisVars(logSoftmax.getLogits());
  Func result("result");
  result(vars) = region.tensor(logSoftmax.getLogits()).at({vars[0], vars[1]}) - sums.logSum.logSum(vars[1]);
  scheduleRows(result, vars, cpu.lanes);
  scheduleRowLogSum(sums, cpu.lanes, result, vars[1]);
  addResult(result, logSoftmax.getResult());
  pipeline.firstSharesSecond = true;
}

// The logit that is picked is summed up again.
void PipelineBuilder::addPick(const VocabularyMatch &match, const LinearInputs &inputs,
                              VocabularyStages &stages) {
  attn::LogSoftmaxOp logSoftmax = match.logSoftmax;
  Func logSum = stages.logSum.logSum;
  Tensor logits = inlineLinear(inputs);
  logits.at = [logits, logSum](const Coordinates &at) { return logits.at(at) - logSum(at[1]); };
  region.bind(logSoftmax.getResult(), logits);
  mlir::Value picked = region.results()[0];
  Var row("row");
  Func result("picked");
  result(row) = region.tensor(picked).at({row});
  result.parallel(row);
  scheduleLogSum(stages.logSum, cpu.lanes, result, row);
  addResult(result, picked);
}

void PipelineBuilder::addTop(const LinearInputs &inputs, VocabularyStages &stages) {
  TopStages top = buildTop(inputs, stages);
  scheduleTop(top, stages, cpu.lanes);
  region.constrain(top.result, typeOf(region.results()[0]));
  pipeline.outputs.push_back(top.result);
}

llvm::Error PipelineBuilder::buildVocabularyKernel(const VocabularyMatch &match) {
  LinearInputs inputs = region.linear(match.linear);
  if (!match.top && !match.pick) {
    if (match.logSum)
      buildLogSum(match, inputs);
    else
      buildLogProbabilities(match, inputs);
    return llvm::Error::success();
  }
  std::optional<mlir::ArrayAttr> scratch = kernel.getScratch();
  if (!scratch || scratch->size() != 2)
    return llvm::createStringError("scratch is needed for the maximum and the sum of each panel");
  MatmulSchedule schedule =
      chooseTuned([&](const ScheduleChoice &choice) { return chooseVocabulary(cpu, inputs, choice); });
  VocabularyStages stages = buildVocabulary(inputs, schedule.tiles);
  scheduleVocabulary(stages, schedule);
  auto scratchType = llvm::cast<RankedTensorType>(llvm::cast<mlir::TypeAttr>((*scratch)[0]).getValue());
  region.constrain(stages.panels, scratchType);
  // Sums that are made again have the same terms.
  LinearInputs again = inputs;
  if (cpu.roundsRows() && schedule.tiles.back().isExternal() && inputs.weight.group == 2 &&
      !inputs.areRounded)
    again = withRoundedRows(inputs);
  if (match.top)
    addTop(again, stages);
  else
    addPick(match, again, stages);
  pipeline.outputs.push_back(stages.panels);
  return llvm::Error::success();
}

} // namespace attnc
