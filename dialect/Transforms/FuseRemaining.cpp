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

bool isMask(Operation *op) {
  return isa<CausalMaskOp, PaddingMaskOp, WindowMaskOp, PrefixMaskOp, ScoreMapOp>(op);
}

/// Whether the group's region may go on with `next`. What a factor or an activation makes of a masked score
/// is to be what it makes of minus infinity, which masked scores are in memory alone.
bool mayGoOn(const Group &group, Operation *next) {
  Operation *first = group.members.front();
  if (isPointwise(first))
    return isPointwise(next);
  const bool keepsMasks = !isa<MulOp, ActivationOp>(next) || llvm::none_of(group.members, isMask);
  return makesScores(first) && actsOnScores(next) && keepsMasks;
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
    while (group.members.back()->getNumResults() == 1) {
      Value last = group.members.back()->getResult(0);
      auto accepts = [&](Operation *next) { return mayGoOn(group, next); };
      Operation *next = last.hasOneUse() ? findNext(group, last, accepts) : nullptr;
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
