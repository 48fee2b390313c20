//===- FuseLinear.cpp - a matmul and its epilogue -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Activation, residual and the like belong to the matmul before them, and so does a second matmul that gates
// it; a norm is the kernel's second stage.

#include "dialect/Transforms/Fusion.h"
#include "dialect/Transforms/Passes.h"

using namespace mlir;

namespace attn {

#define GEN_PASS_DEF_FUSELINEAR
#include "dialect/Transforms/Passes.h.inc"

namespace {

struct FuseLinear : impl::FuseLinearBase<FuseLinear> {
  void runOnOperation() override {
    SmallVector<LinearOp> all;
    for (auto linear : getOperation().getOps<LinearOp>())
      all.push_back(linear);
    gates.clear();
    for (LinearOp linear : all)
      if (!gates.contains(linear))
        fuseEpilogue(linear);
  }

  void fuseEpilogue(LinearOp linear) {
    Group group;
    group.members = {linear};
    bool isGated = false;
    Value last = linear.getResult();
    while (last.hasOneUse()) {
      Operation *next = findNext(group, last, isPointwise);
      if (!next)
        break;
      isGated |= takeGates(next, last, linear, group);
      group.members.push_back(next);
      last = next->getResult(0);
    }
    if (!isGated)
      addNorm(group, last);
    numFused += group.members.size() - 1;
    fuse(std::move(group), isGated ? "gated matmul with epilogue" : "matmul with epilogue");
  }

  /// A gate and what it lets through are two linears of one input: both become members, so that neither is
  /// written.
  bool takeGates(Operation *next, Value last, LinearOp linear, Group &group) {
    bool hasTaken = false;
    for (Value operand : next->getOperands()) {
      if (operand == last)
        continue;
      SmallVector<Operation *> chain = findGate(operand, linear.getInput());
      for (Operation *op : chain)
        if (isa<LinearOp>(op))
          gates.insert(op);
      llvm::append_range(group.members, chain);
      hasTaken |= !chain.empty();
    }
    return hasTaken;
  }

  llvm::DenseSet<Operation *> gates; // linears that are part of another one's region; erased
};

} // namespace
} // namespace attn
