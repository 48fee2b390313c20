//===- AttnStep.cpp - how operations act along the query axis ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// QueryAxisInterface for the operations that are more than row by row: what each becomes at one new position.

#include "dialect/IR/StepBuilder.h"

using namespace mlir;

namespace attn {

QueryBehaviour AddPositionsOp::getQueryBehaviour() { return QueryBehaviour::RowByRow; }

LogicalResult AddPositionsOp::buildStep(StepBuilder &step) { return step.buildFromPositions(*this); }

QueryBehaviour RotaryOp::getQueryBehaviour() { return QueryBehaviour::RowByRow; }

LogicalResult RotaryOp::buildStep(StepBuilder &step) { return step.buildFromPositions(*this); }

/// Left rows stand for queries; the right side's rows are what each query looks at.
QueryBehaviour MatmulOp::getQueryBehaviour() { return QueryBehaviour::Mixing; }

/// `rounded` is left out: one row is bound by reading its cache, which is of float32, and multiplies in
/// float32. A prompt's many rows do so too, so that caches differ only in the order of sums, whoever wrote
/// them.
LogicalResult MatmulOp::buildStep(StepBuilder &step) {
  FailureOr<Value> keys = step.buildKeys(*this, getRhs(), getTransposed() ? "keys" : "values");
  if (failed(keys))
    return failure();
  step.map(getResult(),
           MatmulOp::create(step.getBuilder(), getLoc(), step.lookup(getLhs()), *keys, getTransposed()));
  return success();
}

QueryBehaviour AdditiveScoresOp::getQueryBehaviour() { return QueryBehaviour::Mixing; }

LogicalResult AdditiveScoresOp::buildStep(StepBuilder &step) {
  FailureOr<Value> keys = step.buildKeys(*this, getKey(), "keys");
  if (failed(keys))
    return failure();
  step.map(getResult(), AdditiveScoresOp::create(step.getBuilder(), getLoc(), step.lookup(getQuery()), *keys,
                                                 step.lookup(getWeight())));
  return success();
}

QueryBehaviour ScoreMapOp::getQueryBehaviour() { return QueryBehaviour::RowByRow; }

LogicalResult ScoreMapOp::buildStep(StepBuilder &step) {
  constexpr unsigned query = 3;
  if (getBody().getArgument(query).use_empty()) {
    step.buildRowByRow(*getOperation());
    return success();
  }
  return step.buildFromPositions(*this);
}

/// A window that ends at the query hides what comes after it.
QueryBehaviour WindowMaskOp::getQueryBehaviour() {
  return getAfter() == 0 ? QueryBehaviour::Causal : QueryBehaviour::RowByRow;
}

LogicalResult WindowMaskOp::buildStep(StepBuilder &step) { return step.buildFromPositions(*this); }

QueryBehaviour CausalMaskOp::getQueryBehaviour() { return QueryBehaviour::Causal; }

/// A row's history ends at its own position, so the causal mask of a step masks what lies past that.
LogicalResult CausalMaskOp::buildStep(StepBuilder &step) {
  if (step.isPrefill()) {
    step.buildRowByRow(*getOperation());
    return success();
  }
  Value scores = step.lookup(getScores());
  Value stepped = PaddingMaskOp::create(step.getBuilder(), getLoc(), scores, step.getLengths(getLoc()));
  step.map(getResult(), stepped);
  return success();
}

QueryBehaviour RecurrenceOp::getQueryBehaviour() { return QueryBehaviour::Recurrent; }

/// One application of the body: states come from each row's hypothesis and are kept for those that follow.
LogicalResult RecurrenceOp::buildStep(StepBuilder &step) {
  if (step.isPrefill())
    return emitOpError("in a decoder without a source is not built yet: its prompt cannot be prefilled");
  if (getReverse() || getLengths())
    return emitOpError(
        "that is reversed or limited by lengths looks at later positions, so it cannot be stepped");
  if (llvm::any_of(getLast(), [](Value last) { return !last.use_empty(); }))
    return emitOpError("whose last state is read needs all positions, so it cannot be stepped");
  IRMapping inside;
  for (auto [argument, sequence] : llvm::zip(getPositions(), getSequences()))
    inside.map(argument, step.lookup(sequence));
  for (auto [argument, shared] : llvm::zip(getShared(), getConstants()))
    inside.map(argument, step.lookup(shared));
  SmallVector<StateOp> caches;
  for (auto [argument, initial] : llvm::zip(getStates(), getInitial())) {
    caches.push_back(step.findOrCreateStateCache(initial));
    inside.map(argument, step.recall(caches.back(), step.lookup(initial)));
  }
  for (Operation &op : getBody().front().without_terminator())
    cloneInferred(step.getBuilder(), op, inside);
  for (auto [output, yielded] : llvm::zip(getOutputs(), getYielded()))
    step.map(output, inside.lookupOrDefault(yielded));
  for (auto [cache, yielded] : llvm::zip(caches, getYielded().take_back(caches.size())))
    step.keep(inside.lookupOrDefault(yielded), cache);
  return success();
}

} // namespace attn
