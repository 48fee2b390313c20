//===- BodyAttention.cpp - attention in the body of a recurrence ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialect/Transforms/BodyAttention.h"

using namespace mlir;

namespace attn {

Value findOutside(Value value) {
  while (isView(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  auto recurrence = dyn_cast<RecurrenceOp>(value.getParentBlock()->getParentOp());
  for (size_t i = 0; recurrence && i < recurrence.getShared().size(); ++i)
    if (recurrence.getShared()[i] == value)
      return recurrence.getConstants()[i];
  return value;
}

/// Computes attention's weights once more, so that what gives the context stays one kernel.
static Value repeatAttention(OpBuilder &builder, SoftmaxOp softmax) {
  SmallVector<Operation *> chain{softmax};
  while (!makesScores(chain.back()))
    chain.push_back(scoresOperand(chain.back()).getDefiningOp());
  IRMapping mapping;
  for (Operation *op : llvm::reverse(chain))
    builder.clone(*op, mapping);
  return mapping.lookup(softmax.getWeights());
}

Value addMeanOutput(RecurrenceOp recurrence, SoftmaxOp softmax) {
  Operation *yield = recurrence.getBody().front().getTerminator();
  OpBuilder builder(yield);
  Location loc = softmax.getLoc();
  Value mean = MeanHeadsOp::create(builder, loc, repeatAttention(builder, softmax));
  size_t outputs = recurrence.getOutputs().size();
  yield->insertOperands(outputs, mean);

  auto one = cast<RankedTensorType>(mean.getType()),
       sequence = cast<RankedTensorType>(recurrence.getOutputs().front().getType());
  SmallVector<Type> types(recurrence.getResultTypes());
  types.insert(
      types.begin() + outputs,
      namedTensor(builder.getContext(), {sequence.getDimSize(0), sequence.getDimSize(1), one.getDimSize(2)},
                  {axisNames(sequence)[0], axisNames(sequence)[1], axisNames(one)[2]}, one.getElementType()));
  builder.setInsertionPoint(recurrence);
  auto wider = RecurrenceOp::create(builder, loc, types, recurrence.getSequences(), recurrence.getInitial(),
                                    recurrence.getConstants(), recurrence.getLengths(),
                                    recurrence.getReverse(), ArrayAttr());
  wider.getBody().takeBody(recurrence.getBody());
  for (auto [number, result] : llvm::enumerate(recurrence.getResults()))
    result.replaceAllUsesWith(wider.getResult(number + (number >= outputs)));
  recurrence.erase();
  return wider.getOutputs().back();
}

} // namespace attn
