//===- BuildAttention.cpp - attention of blocks and of steps ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/schedules/PipelineBuilder.h"

#include "compiler/kernels/Math.h"

using Halide::Expr;
using mlir::RankedTensorType;

namespace attnc {

void PipelineBuilder::readCaches(mlir::Value key, mlir::Value value, AttentionInputs &inputs) {
  inputs.memory = region.cachedMemory(key, value);
  if (inputs.memory.empty())
    return;
  inputs.slots = inputs.memory.back();
  inputs.memory.pop_back();
  inputs.keyAxis = key.getDefiningOp<attn::LookupOp>() ? 2 : 1;
}

static bool isRounded(mlir::Value value) { return typeOf(value).getElementType().isBF16(); }

AttentionInputs PipelineBuilder::attentionInputs(const AttentionMatch &match) {
  mlir::Value query = match.products->getOperand(0), key = match.products->getOperand(1);
  attn::MatmulOp context = match.context;
  const RankedTensorType queries = typeOf(query);
  AttentionInputs inputs;
  inputs.query = region.tensor(query);
  inputs.key = region.tensor(key);
  inputs.value = region.tensor(context.getRhs());
  inputs.keyGroup = headsPerGroup(query, key);
  inputs.valueGroup = headsPerGroup(context.getLhs(), context.getRhs());
  if (auto additive = llvm::dyn_cast<attn::AdditiveScoresOp>(match.products))
    inputs.term = region.additiveTerm(additive);
  if (match.isRounded())
    inputs.memory = region.memory({key, context.getRhs()});
  else if (queries.getDimSize(2) == 1)
    readCaches(key, context.getRhs(), inputs);
  inputs.queryFactor = match.onlyBounded ? match.factor * Log2E : match.factor;
  inputs.onlyBounded = match.onlyBounded;
  inputs.areRounded = isRounded(key) && isRounded(context.getRhs());
  inputs.headsAreTasks =
      queries.isDynamicDim(1) || (kernel->hasAttr("attn.graph") && queries.getDimSize(1) > 1);
  inputs.width = widthOf(query);
  inputs.valueWidth = widthOf(context.getRhs());
  return inputs;
}

/// The keys that some query sees: what each mask shows, and no more than there are.
void PipelineBuilder::boundKeys(const AttentionMatch &match, AttentionInputs &inputs) {
  Expr keys = inputs.key.extents[1];
  inputs.keyEnd = [this, keys, &match](Expr lastQuery, Expr batch) {
    Expr end = keys;
    for (mlir::Operation *mask : match.masks)
      if (Expr limit = region.visibleKeys(mask, lastQuery, lastQuery, batch).end; limit.defined())
        end = Halide::min(end, limit);
    return end;
  };
  auto hasStart = [](mlir::Operation *mask) {
    auto window = llvm::dyn_cast<attn::WindowMaskOp>(mask);
    return window && window.getBefore();
  };
  if (llvm::none_of(match.masks, hasStart))
    return;
  inputs.keyStart = [this, &match](Expr firstQuery, Expr batch) {
    Expr start = 0;
    for (mlir::Operation *mask : match.masks)
      if (Expr limit = region.visibleKeys(mask, firstQuery, firstQuery, batch).first; limit.defined())
        start = Halide::max(start, limit);
    return start;
  };
}

/// One by one, in blocks, or, where that may depend on how many there are, both.
std::vector<AttentionSchedule> PipelineBuilder::chooseWays(const AttentionInputs &inputs,
                                                           RankedTensorType queries,
                                                           const ScheduleChoice &choice) const {
  const bool isOfGraph = kernel->hasAttr("attn.graph"), isOneQuery = queries.getDimSize(2) == 1;
  const int heads = inputs.headsAreTasks ? 1 : int(queries.getDimSize(1));
  std::vector<AttentionSchedule> ways;
  // In a model, what a query gives must not depend on how many there are.
  if (isOneQuery || (queries.isDynamicDim(2) && isOfGraph))
    ways = chooseStepAttention(cpu, inputs, heads, choice);
  if (!isOneQuery)
    llvm::append_range(ways, chooseAttention(cpu, inputs, choice));
  return ways;
}

void PipelineBuilder::buildAttentionKernel(const AttentionMatch &match) {
  AttentionInputs inputs = attentionInputs(match);
  attn::SoftmaxOp softmax = match.softmax;
  inputs.score = [&](Expr product, const Coordinates &at) {
    region.bind(match.scaled, {at, [product](const Coordinates &) { return product; }});
    Expr score = region.tensor(softmax.getScores()).at(at);
    region.bind(match.scaled, {});
    return match.onlyBounded ? score : score * Log2E;
  };
  inputs.stored = [&](const Expr &context) {
    return isRounded(match.result) ? storable(match.result, Halide::reinterpret<float>(bfloatBits(context)))
                                   : context;
  };
  boundKeys(match, inputs);
  inputs.mayBeSeen = [&](const Coordinates &at) { return region.mayBeSeen(softmax.getScores(), at); };
  const RankedTensorType queries = typeOf(match.products->getOperand(0));
  const std::vector<AttentionSchedule> schedules =
      chooseTuned([&](const ScheduleChoice &choice) { return chooseWays(inputs, queries, choice); });
  std::vector<AttentionTiles> tiles;
  for (const AttentionSchedule &schedule : schedules)
    tiles.push_back(schedule.tiles);
  AttentionKernel attention = buildAttention(inputs, tiles);
  scheduleAttention(attention, schedules);
  addResult(attention.result, match.result);
}

} // namespace attnc
