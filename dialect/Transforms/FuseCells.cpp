//===- FuseCells.cpp - the matmuls and gates of a recurrent cell ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Gates are slices of linears, or linears of their own, that pointwise work brings together. What hangs
// together so, without passing from one layer's output to the next layer's linear, is one cell.

#include "dialect/Transforms/Fusion.h"
#include "dialect/Transforms/Passes.h"

#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace attn {

#define GEN_PASS_DEF_FUSECELLS
#include "dialect/Transforms/Passes.h.inc"

namespace {

bool isPartOfCell(Operation *op) {
  return isPointwise(op) || isa_and_nonnull<LinearOp, SliceOp, WhereOp>(op);
}

/// A gate: a slice of a linear that pointwise work reads.
bool isGate(Operation *op) {
  auto slice = dyn_cast<SliceOp>(op);
  return slice && slice.getInput().getDefiningOp<LinearOp>() && llvm::any_of(slice->getUsers(), isPointwise);
}

bool isMember(const Group &group, Operation *op) { return llvm::is_contained(group.members, op); }

/// What a hypothesis kept (in a step), or what a recurrence carries. Gates of a feed-forward read no such
/// thing.
bool isState(Value value) {
  if (value.getDefiningOp<RecallOp>())
    return true;
  auto recurrence = dyn_cast<RecurrenceOp>(value.getParentBlock()->getParentOp());
  return recurrence && llvm::is_contained(recurrence.getStates(), value);
}

bool readsState(const Group &group) {
  return llvm::any_of(group.members,
                      [](Operation *member) { return llvm::any_of(member->getOperands(), isState); });
}

/// True where nothing outside of the group reads its results before its last member.
bool standsTogether(const Group &group) {
  Operation *last = group.members.back();
  for (Operation *member : group.members)
    for (Operation *user : member->getUsers())
      if (!isMember(group, user) && user->isBeforeInBlock(last))
        return false;
  return true;
}

struct FuseCells : impl::FuseCellsBase<FuseCells> {
  void runOnOperation() override {
    for (Block *block : workBlocks(getOperation()))
      for (Group &group : findCells(*block))
        if (readsState(group))
          fuseCell(group);
  }

  /// What a value's readers have to do with what computes it, but for linears that begin another layer.
  SmallVector<Group> findCells(Block &block) {
    llvm::EquivalenceClasses<Operation *> together;
    for (Operation &op : block) {
      if (!isPartOfCell(&op))
        continue;
      together.insert(&op);
      if (isa<LinearOp>(op))
        continue;
      for (Value operand : op.getOperands())
        if (isPartOfCell(operand.getDefiningOp()))
          together.unionSets(&op, operand.getDefiningOp());
    }
    llvm::MapVector<Operation *, Group> cells;
    for (Operation &op : block)
      if (isGate(&op))
        cells[together.getLeaderValue(&op)];
    for (Operation &op : block)
      if (isPartOfCell(&op))
        if (auto cell = cells.find(together.getLeaderValue(&op)); cell != cells.end())
          cell->second.members.push_back(&op);
    return llvm::map_to_vector(cells, [](auto &cell) { return cell.second; });
  }

  void fuseCell(Group &group) {
    if (!standsTogether(group))
      return explainUnfused(group.members.front(), "a part of the cell is needed before the whole is done");
    // A linear inside of a cell reads whole rows of what comes before it, so those have to be in memory.
    for (Operation *member : group.members)
      if (auto linear = dyn_cast<LinearOp>(member))
        if (Operation *before = linear.getInput().getDefiningOp(); before && isMember(group, before))
          group.alwaysYielded.insert(linear.getInput().getAsOpaquePointer());
    numFused += group.members.size();
    fuse(std::move(group), "recurrent cell");
    ++numCells;
  }
};

} // namespace
} // namespace attn
