//===- FuseLinear.cpp - a matmul and its epilogue -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Activation, residual and the like belong to the matmul before them; a norm is the kernel's second stage.

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
    for (Block *block : workBlocks(getOperation()))
      llvm::append_range(all, block->getOps<LinearOp>());
    for (LinearOp linear : all)
      fuseEpilogue(linear);
  }

  void fuseEpilogue(LinearOp linear) {
    Group group;
    group.members = {linear};
    Value last = linear.getResult();
    while (last.hasOneUse()) {
      Operation *next = findNext(group, last, isPointwise);
      if (!next)
        break;
      group.members.push_back(next);
      last = next->getResult(0);
    }
    if (Operation *norm = findNext(group, last, isNorm)) {
      group.alwaysYielded.insert(last.getAsOpaquePointer());
      group.members.push_back(norm);
    }
    numFused += group.members.size() - 1;
    fuse(std::move(group), "matmul with epilogue");
  }
};

} // namespace
} // namespace attn
