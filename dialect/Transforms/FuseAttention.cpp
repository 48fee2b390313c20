//===- FuseAttention.cpp - the unfused chain to one region --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// matmul, scale, masks, softmax, matmul become an `attn.fused`; scores and weights then never reach memory.
// Where weights are results, the chain ends with the softmax: scores then lie where the weights will.

#include "dialect/Transforms/Fusion.h"
#include "dialect/Transforms/Passes.h"

using namespace mlir;

namespace attn {

#define GEN_PASS_DEF_FUSEATTENTION
#include "dialect/Transforms/Passes.h.inc"

namespace {

/// Takes the operations from the softmax's scores up to what makes them. Gives the reason where there is no
/// such chain.
LogicalResult collectScores(SoftmaxOp softmax, Group &group, StringRef &reason) {
  Value scores = softmax.getScores();
  while (true) {
    Operation *op = scores.getDefiningOp();
    if (!makesScores(op) && !actsOnScores(op)) {
      reason = "the scores do not come from queries and keys";
      return failure();
    }
    if (!scores.hasOneUse()) {
      reason = "the scores have a second reader";
      return failure();
    }
    group.members.push_back(op);
    if (makesScores(op))
      return success();
    scores = scoresOperand(op);
  }
}

/// What selects the operand of a member (rows of a cache, sentences of a batch) is done inside the kernel.
void collectSelector(Value operand, Group &group) {
  Operation *op = operand.getDefiningOp();
  if (isa_and_nonnull<TakeOp, LookupOp>(op) && !llvm::is_contained(group.members, op)) {
    group.members.push_back(op);
    group.selectors.insert(op);
  }
}

/// A width that is a size could be any.
bool isTooWide(Value heads) {
  int64_t width = cast<RankedTensorType>(heads.getType()).getShape().back();
  return ShapedType::isDynamic(width) || width > widestHead;
}

struct FuseAttention : impl::FuseAttentionBase<FuseAttention> {
  void runOnOperation() override {
    SmallVector<SoftmaxOp> softmaxes;
    for (Block *block : workBlocks(getOperation()))
      llvm::append_range(softmaxes, block->getOps<SoftmaxOp>());
    for (SoftmaxOp softmax : softmaxes)
      fuseChain(softmax);
  }

  /// The matmul that mixes values by the weights in the same kernel, or null, with the reason.
  MatmulOp findContext(SoftmaxOp softmax, Operation *products) {
    Operation *reader = onlyReader(softmax.getWeights());
    if (!reader &&
        llvm::any_of(softmax.getWeights().getUsers(), [](Operation *op) { return isa<MatmulOp>(op); }))
      explainUnfused(softmax,
                     "the weights have a second reader, so they are a kernel's result, and what is made of "
                     "them is another kernel");
    auto context = dyn_cast_or_null<MatmulOp>(reader);
    if (!context)
      return {};
    if (context.getLhs() != softmax.getWeights() || context.getTransposed())
      explainUnfused(reader, "the weights are not its left side, or its right side is transposed");
    else if (auto matmul = dyn_cast<MatmulOp>(products); matmul && !matmul.getTransposed())
      explainUnfused(softmax,
                     "its keys lie as width x key: where they are an input, give them as key x width, "
                     "with strides of their own, and let the matmul be transposed");
    else if (isTooWide(products->getOperand(0)) || isTooWide(context.getRhs()))
      explainUnfused(softmax, "its heads are of a width that is not known or wider than " +
                                  Twine(widestHead) +
                                  ", and a block of them would not fit on a kernel's stack");
    else
      return context;
    return {};
  }

  void fuseChain(SoftmaxOp softmax) {
    Group group;
    StringRef reason;
    if (failed(collectScores(softmax, group, reason)))
      return explainUnfused(softmax, reason);
    if (softmax.getWeights().use_empty())
      return explainUnfused(softmax, "the weights have no reader");
    Operation *products = group.members.back(), *reader = onlyReader(softmax.getWeights());
    group.members.push_back(softmax);
    if (isa_and_nonnull<MeanHeadsOp>(reader)) // or the weights of all heads would need memory
      group.members.push_back(reader);
    else if (MatmulOp context = findContext(softmax, products))
      group.members.push_back(context);
    for (Operation *member : SmallVector<Operation *>(group.members))
      for (Value operand : member->getOperands())
        collectSelector(operand, group);
    fuse(std::move(group), "attention");
    ++numFused;
  }
};

} // namespace
} // namespace attn
