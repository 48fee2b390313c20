//===- AttnStep.cpp - how operations act along the query axis ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// QueryAxisInterface for the operations that are more than row by row: what each becomes at one new position.

#include "dialect/IR/StepBuilder.h"

using namespace mlir;

namespace attn {

QueryBehaviour AddPositionsOp::getQueryBehaviour() { return QueryBehaviour::RowByRow; }

LogicalResult AddPositionsOp::buildStep(StepBuilder &step) {
  if (getStarts())
    return emitOpError("already starts at given positions, so no step can be derived");
  Value stepped = AddPositionsOp::create(step.getBuilder(), getLoc(), step.lookup(getInput()),
                                         step.lookup(getTable()), step.getPositions(), getOffset());
  step.map(getResult(), stepped);
  return success();
}

/// Left rows stand for queries; the right side's rows are what each query looks at.
QueryBehaviour MatmulOp::getQueryBehaviour() { return QueryBehaviour::Mixing; }

LogicalResult MatmulOp::buildStep(StepBuilder &step) {
  if (step.isFromSource(getRhs())) {
    step.buildRowByRow(*getOperation());
    return success();
  }
  Value lhs = step.lookup(getLhs()), fresh = step.lookup(getRhs());
  if (cast<RankedTensorType>(fresh.getType()).getRank() != 4)
    return emitOpError("has no head axis, so its right side cannot be cached in a step");
  Value history = step.appendToCache(fresh, getTransposed() ? "keys" : "values");
  Value stepped = MatmulOp::create(step.getBuilder(), getLoc(), lhs, history, getTransposed());
  step.map(getResult(), stepped);
  return success();
}

QueryBehaviour CausalMaskOp::getQueryBehaviour() { return QueryBehaviour::Causal; }

/// A row's history ends at its own position, so the causal mask of a step masks what lies past that.
LogicalResult CausalMaskOp::buildStep(StepBuilder &step) {
  Value scores = step.lookup(getScores());
  Value stepped = PaddingMaskOp::create(step.getBuilder(), getLoc(), scores, step.getLengths(getLoc()));
  step.map(getResult(), stepped);
  return success();
}

QueryBehaviour RecurrenceOp::getQueryBehaviour() { return QueryBehaviour::Recurrent; }

/// One application of the body: states come from each row's hypothesis and are kept for those that follow.
LogicalResult RecurrenceOp::buildStep(StepBuilder &step) {
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
