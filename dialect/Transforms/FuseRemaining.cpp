//===- FuseRemaining.cpp - regions for what no other fusion took ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Chains of pointwise operations are one region, and a product of two values with what acts on scores after
// it; every other operation is a region of its own. Then remarks say what keeps regions apart.

#include "dialect/Transforms/Fusion.h"
#include "dialect/Transforms/Passes.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace attn {

#define GEN_PASS_DEF_FUSEREMAINING
#include "dialect/Transforms/Passes.h.inc"

namespace {

/// Operations that stay as they are: they do no work that a kernel could do, or call one.
bool isLeftAlone(Operation *op) {
  return isView(op) || isa<FusedOp, CallOp, RecurrenceOp, GetWeightOp, ReadStateOp, WriteStateOp>(op) ||
         op->hasTrait<OpTrait::IsTerminator>();
}

/// What a region that begins with `first` goes on with; null: nothing.
bool (*followersOf(Operation *first))(Operation *) {
  if (isPointwise(first))
    return isPointwise;
  return makesScores(first) ? actsOnScores : nullptr;
}

struct FuseRemaining : impl::FuseRemainingBase<FuseRemaining> {
  void runOnOperation() override {
    if (!llvm::hasSingleElement(getOperation().getBody())) {
      getOperation().emitOpError() << "needs one block, but has "
                                   << getOperation().getBody().getBlocks().size();
      return signalPassFailure();
    }
    for (Block *block : workBlocks(getOperation())) {
      fuseIn(*block);
      explainApart(*block);
    }
  }

  void fuseIn(Block &block) {
    Operation *done = nullptr; // it and all before it are left alone; the rest changes
    while (Operation *op = done ? done->getNextNode() : &block.front()) {
      if (isLeftAlone(op))
        done = op;
      else if (isOpTriviallyDead(op))
        op->erase();
      else
        fuseFrom(op);
    }
  }

  void fuseFrom(Operation *first) {
    Group group;
    group.members = {first};
    while (auto takes = followersOf(first)) {
      Value last = group.members.back()->getResult(0);
      Operation *next = last.hasOneUse() ? findNext(group, last, takes) : nullptr;
      if (!next)
        break;
      group.members.push_back(next);
    }
    fuse(std::move(group), makesScores(first) ? "product" : "pointwise");
    ++numRegions;
  }
};

} // namespace
} // namespace attn
