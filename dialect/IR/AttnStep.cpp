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

LogicalResult RecurrenceOp::buildStep(StepBuilder &) {
  return emitOpError("in a decoder cannot be stepped yet");
}

} // namespace attn
