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
    SmallVector<LogSoftmaxOp> all;
    for (auto logSoftmax : getOperation().getOps<LogSoftmaxOp>())
      all.push_back(logSoftmax);
    for (LogSoftmaxOp logSoftmax : all)
      fuseProjection(logSoftmax);
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
};

} // namespace
} // namespace attn
