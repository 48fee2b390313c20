//===- FuseVocabulary.cpp - projection, log-softmax, best tokens --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The logits of a whole vocabulary are large and read once: they stay inside one region.

#include "dialect/Transforms/Fusion.h"
#include "dialect/Transforms/Passes.h"

using namespace mlir;

namespace attn {

#define GEN_PASS_DEF_FUSEVOCABULARY
#include "dialect/Transforms/Passes.h.inc"

namespace {

struct FuseVocabulary : impl::FuseVocabularyBase<FuseVocabulary> {
  void runOnOperation() override {
    for (LogSoftmaxOp logSoftmax : llvm::to_vector(getOperation().getOps<LogSoftmaxOp>()))
      fuseProjection(logSoftmax);
    for (LogSumExpOp logSum : llvm::to_vector(getOperation().getOps<LogSumExpOp>()))
      fuseLogits(logSum);
  }

  void fuseProjection(LogSoftmaxOp logSoftmax) {
    auto linear = logSoftmax.getLogits().getDefiningOp<LinearOp>();
    if (!linear)
      return explainUnfused(logSoftmax, "the logits do not come from a linear");
    if (!linear->hasOneUse())
      return explainUnfused(logSoftmax, "the logits have a second reader");
    Group group;
    group.members = {linear, logSoftmax};
    auto isChoice = [](Operation *op) { return isa<TopKOp, PickOp>(op); };
    for (Operation *reader : logSoftmax->getUsers()) {
      if (isChoice(reader) && logSoftmax->hasOneUse())
        group.members.push_back(reader);
      else if (isChoice(reader))
        explainUnfused(reader, "the log_softmax has a second reader");
    }
    fuse(std::move(group), "vocabulary");
    ++numFused;
  }

  /// Here others read the logits too: they are a result of the region.
  void fuseLogits(LogSumExpOp logSum) {
    auto linear = logSum.getLogits().getDefiningOp<LinearOp>();
    if (!linear)
      return explainUnfused(logSum, "the logits do not come from a linear");
    Group group;
    group.members = {linear};
    if (!findNext(group, linear.getResult(), [&](Operation *next) { return next == logSum; }))
      return explainUnfused(logSum, "others read the logits before it");
    group.members.push_back(logSum);
    fuse(std::move(group), "vocabulary");
    ++numFused;
  }
};

} // namespace
} // namespace attn
