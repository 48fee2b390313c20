//===- FuseEmbedding.cpp - embed, scale, positions, norm ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// An embedding's rows are written once, with all that follows them already done.

#include "dialect/Transforms/Fusion.h"
#include "dialect/Transforms/Passes.h"

using namespace mlir;

namespace attn {

#define GEN_PASS_DEF_FUSEEMBEDDING
#include "dialect/Transforms/Passes.h.inc"

namespace {

struct FuseEmbedding : impl::FuseEmbeddingBase<FuseEmbedding> {
  void runOnOperation() override {
    SmallVector<EmbedOp> all;
    for (auto embed : getOperation().getOps<EmbedOp>())
      all.push_back(embed);
    for (EmbedOp embed : all)
      fuseEmbedding(embed);
  }

  void fuseEmbedding(EmbedOp embed) {
    Group group;
    group.members = {embed};
    Value last = embed.getResult();
    while (Operation *next = onlyReader(last)) {
      if (!isa<ScaleOp, AddPositionsOp>(next) || next->getOperand(0) != last)
        break;
      group.members.push_back(next);
      last = next->getResult(0);
    }
    if (Operation *norm = findNext(group, last, isNorm)) {
      group.alwaysYielded.insert(last.getAsOpaquePointer());
      group.members.push_back(norm);
    }
    fuse(std::move(group), "embedding");
    ++numFused;
  }
};

} // namespace
} // namespace attn
