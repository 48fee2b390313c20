//===- AttnOps.cpp - operations of the attn dialect --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What the records of AttnOps.td generate, and folds. Result types stand in AttnInfer.cpp, rules in
// AttnVerify.cpp.

#include "dialect/IR/Attn.h"

#include "mlir/IR/OpImplementation.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialect/IR/AttnOps.cpp.inc"

namespace attn {

bool isView(Operation *op) {
  return isa_and_nonnull<SplitHeadsOp, MergeHeadsOp, SliceOp, SelectOp, CollapseOp, ExpandOp>(op);
}

bool makesScores(Operation *op) { return isa_and_nonnull<MatmulOp, AdditiveScoresOp>(op); }

bool actsOnScores(Operation *op) {
  return isa_and_nonnull<ScaleOp, ScoreMapOp, CausalMaskOp, PaddingMaskOp, WindowMaskOp, PrefixMaskOp,
                         ActivationOp, AddOp, MulOp>(op);
}

Value scoresOperand(Operation *op) {
  Operation *first = op->getOperand(0).getDefiningOp();
  bool isSwapped = isa<AddOp, MulOp>(op) && !makesScores(first) && !actsOnScores(first);
  return op->getOperand(isSwapped ? 1 : 0);
}

Operation *findScores(Value scores) {
  Operation *op = scores.getDefiningOp();
  while (op && !makesScores(op))
    op = actsOnScores(op) ? scoresOperand(op).getDefiningOp() : nullptr;
  return op;
}

OpFoldResult ScaleOp::fold(FoldAdaptor) {
  return getFactor().convertToFloat() == 1.0f ? OpFoldResult(getInput()) : OpFoldResult();
}

/// `outer(inner(x))` is `x` where the two are inverse views and the types agree.
template <typename Inverse> static OpFoldResult foldInverse(Value input, Type result) {
  auto inverse = input.getDefiningOp<Inverse>();
  return inverse && inverse.getInput().getType() == result ? OpFoldResult(inverse.getInput())
                                                           : OpFoldResult();
}

OpFoldResult SplitHeadsOp::fold(FoldAdaptor) { return foldInverse<MergeHeadsOp>(getInput(), getType()); }

OpFoldResult MergeHeadsOp::fold(FoldAdaptor) { return foldInverse<SplitHeadsOp>(getInput(), getType()); }

OpFoldResult ExpandOp::fold(FoldAdaptor) { return foldInverse<CollapseOp>(getInput(), getType()); }

OpFoldResult SliceOp::fold(FoldAdaptor) {
  return getInput().getType() == getType() && getOffset() == 0 ? OpFoldResult(getInput()) : OpFoldResult();
}

} // namespace attn
