//===- FuseEmbedding.cpp - embed, scale, types, positions, norm ---------------===//
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

/// The embedding that `add` adds to `rows` (of token types, say), if nothing else reads it.
EmbedOp findAdded(Operation *add, Value rows) {
  if (!isa<AddOp>(add))
    return {};
  Value other = add->getOperand(add->getOperand(0) == rows ? 1 : 0);
  auto embed = other.getDefiningOp<EmbedOp>();
  return embed && embed->hasOneUse() ? embed : EmbedOp();
}

struct FuseEmbedding : impl::FuseEmbeddingBase<FuseEmbedding> {
  void runOnOperation() override {
    SmallVector<EmbedOp> all;
    for (auto embed : getOperation().getOps<EmbedOp>())
      all.push_back(embed);
    llvm::SmallPtrSet<Operation *, 2> added;
    for (EmbedOp embed : all)
      if (!added.contains(embed))
        fuseEmbedding(embed, added);
  }

  /// `added` takes the embeddings that became part of this one.
  void fuseEmbedding(EmbedOp embed, llvm::SmallPtrSet<Operation *, 2> &added) {
    Group group;
    group.members = {embed};
    Value last = embed.getResult();
    while (Operation *next = onlyReader(last)) {
      if (EmbedOp other = findAdded(next, last)) {
        group.members.push_back(other);
        added.insert(other);
      } else if (!isa<ScaleOp, AddPositionsOp>(next) || next->getOperand(0) != last) {
        break;
      }
      group.members.push_back(next);
      last = next->getResult(0);
    }
    addNorm(group, last);
    fuse(std::move(group), "embedding");
    ++numFused;
  }
};

} // namespace
} // namespace attn
