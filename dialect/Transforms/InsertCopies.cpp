//===- InsertCopies.cpp - copies where a value cannot be in place --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A result of an entry and the content of a state are dense and written once, by one kernel. What is a view
// of something else, or has two such places, is copied.

#include "dialect/Transforms/Fusion.h"
#include "dialect/Transforms/Passes.h"

using namespace mlir;

namespace attn {

#define GEN_PASS_DEF_INSERTCOPIES
#include "dialect/Transforms/Passes.h.inc"

namespace {

bool isAppend(FusedOp fused) { return !fused.getBody().front().getOps<AppendOp>().empty(); }

/// True where the operand is a copy made for it alone, as this pass makes them.
bool isCopy(OpOperand &operand) {
  auto fused = operand.get().getDefiningOp<FusedOp>();
  return fused && operand.get().hasOneUse() && llvm::hasSingleElement(fused.getBody().front());
}

struct InsertCopies : impl::InsertCopiesBase<InsertCopies> {
  void runOnOperation() override {
    taken.clear();
    denseOnly.clear();
    if (isOutlined())
      return; // copies are calls, too
    for (Block *block : workBlocks(getOperation()))
      placeIn(*block);
  }

  bool isOutlined() {
    return getOperation().walk([](CallOp) { return WalkResult::interrupt(); }).wasInterrupted();
  }

  void placeIn(Block &body) {
    // Merged heads come last: what else a kernel's result must be decides whether they need a copy.
    placeValues(body, /*areMerged=*/false);
    for (auto merge : llvm::make_early_inc_range(body.getOps<MergeHeadsOp>())) {
      auto fused = merge.getInput().getDefiningOp<FusedOp>();
      if (!fused || isAppend(fused) || denseOnly.contains(merge.getInput()))
        copyInto(merge->getOpOperand(0));
    }
    placeValues(body, /*areMerged=*/true);
    if (isa<RecurrenceOp>(body.getParentOp()))
      placeStates(cast<RecurrenceOp>(body.getParentOp()));
  }

  /// A recurrence's state has one place, which is written before the first position and, when all of a
  /// position's work is done, for the next. A state that is another one's argument is saved before that is
  /// overwritten.
  void placeStates(RecurrenceOp recurrence) {
    size_t states = recurrence.getInitial().size();
    MutableArrayRef<OpOperand> yielded =
        recurrence.getBody().front().getTerminator()->getOpOperands().take_back(states);
    for (OpOperand &operand : yielded)
      if (isa<BlockArgument>(operand.get()))
        copyInto(operand);
    for (OpOperand &operand : yielded)
      copyInto(operand);
    for (OpOperand &operand : recurrence.getInitialMutable())
      if (!operand.get().hasOneUse() || !takePlace(operand.get()))
        copyInto(operand);
  }

  /// Places what is written to states and returned; those values that are merged heads, or the others.
  void placeValues(Block &body, bool areMerged) {
    auto isNow = [&](Value value) { return bool(value.getDefiningOp<MergeHeadsOp>()) == areMerged; };
    for (auto write : llvm::make_early_inc_range(body.getOps<WriteStateOp>()))
      if (isNow(write.getValue()))
        placeInState(write);
    auto recurrence = dyn_cast<RecurrenceOp>(body.getParentOp());
    size_t states = recurrence ? recurrence.getInitial().size() : 0;
    for (OpOperand &operand : body.getTerminator()->getOpOperands().drop_back(states))
      if (isNow(operand.get()) && !takePlace(operand.get()))
        copyInto(operand);
  }

  void placeInState(WriteStateOp write) {
    auto fused = write.getValue().getDefiningOp<FusedOp>();
    if (fused && isAppend(fused))
      return; // written in the cache itself
    // The old content may still be needed while the new one is computed.
    bool isAlsoRead = llvm::any_of(write->getBlock()->getOps<ReadStateOp>(),
                                   [&](ReadStateOp read) { return read.getState() == write.getState(); });
    if (isAlsoRead || !takePlace(write.getValue()))
      copyInto(write->getOpOperand(0));
  }

  /// True where the kernel that computes `value` can write it to where it must be, and no other value claimed
  /// that kernel's result. Merged heads are written in the order in which they are merged.
  bool takePlace(Value value) {
    auto merge = value.getDefiningOp<MergeHeadsOp>();
    Value written = merge ? merge.getInput() : value;
    auto fused = written.getDefiningOp<FusedOp>();
    if (!fused || isAppend(fused) || !taken.insert(written).second)
      return false;
    if (!merge)
      denseOnly.insert(value);
    return true;
  }

  void copyInto(OpOperand &operand) {
    if (isCopy(operand))
      return;
    OpBuilder builder(operand.getOwner());
    Value value = operand.get();
    auto copy = FusedOp::create(builder, value.getLoc(), value.getType(), value);
    Block *body = builder.createBlock(&copy.getBody());
    YieldOp::create(builder, value.getLoc(), body->addArgument(value.getType(), value.getLoc()));
    operand.set(copy.getResult(0));
    operand.getOwner()->emitRemark() << "copied: the value is a view or an argument, or has two places to be";
    ++numCopies;
  }

  llvm::DenseSet<Value> taken;     // results of regions that are results of the entry, or states
  llvm::DenseSet<Value> denseOnly; // among them, those stored in the order of their axes
};

} // namespace
} // namespace attn
