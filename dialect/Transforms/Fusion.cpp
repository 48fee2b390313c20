//===- Fusion.cpp - turns operations into a fused region ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Operations are cloned into a region; the values that others read are its results.

#include "dialect/Transforms/Fusion.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace attn {

SmallVector<Block *> workBlocks(func::FuncOp func) {
  if (func.isExternal())
    return {};
  SmallVector<Block *> blocks{&func.getBody().front()};
  for (auto recurrence : func.getOps<RecurrenceOp>())
    blocks.push_back(&recurrence.getBody().front());
  return blocks;
}

bool isPointwise(Operation *op) {
  return isa_and_nonnull<AddOp, MulOp, ActivationOp, ScaleOp, IncrementOp>(op);
}

bool isNorm(Operation *op) { return isa_and_nonnull<LayerNormOp, RmsNormOp>(op); }

Operation *onlyReader(Value value) { return value.hasOneUse() ? *value.user_begin() : nullptr; }

/// True where no reader of the group's results, but for members and `next`, stands before `next`.
static bool canMoveDownTo(const Group &group, Operation *next) {
  Operation *following = next; // reads most members: looking there first keeps long chains cheap
  for (Operation *member : llvm::reverse(group.members)) {
    for (Value result : member->getResults())
      for (Operation *user : result.getUsers())
        if (user != next && user != following && !llvm::is_contained(group.members, user) &&
            user->isBeforeInBlock(next))
          return false;
    following = member;
  }
  return true;
}

Operation *findNext(const Group &group, Value value, llvm::function_ref<bool(Operation *)> accepts) {
  for (Operation *user : value.getUsers())
    if (user->getBlock() == value.getParentBlock() && accepts(user) && canMoveDownTo(group, user))
      return user;
  return nullptr;
}

SmallVector<Operation *> findGate(Value value, Value input) {
  SmallVector<Operation *> chain;
  while (Operation *op = value.hasOneUse() ? value.getDefiningOp() : nullptr) {
    chain.push_back(op);
    if (auto linear = dyn_cast<LinearOp>(op))
      return linear.getInput() == input ? chain : SmallVector<Operation *>();
    if (!isa<ActivationOp, ScaleOp>(op))
      break;
    value = op->getOperand(0);
  }
  return {};
}

using MemberSet = llvm::SmallPtrSet<Operation *, 16>;

/// Values that the members read and others compute, in the order of first use.
static llvm::SetVector<Value> findInputs(const Group &group, const MemberSet &members) {
  llvm::SetVector<Value> inputs;
  for (Operation *member : group.members)
    for (Value operand : member->getOperands())
      if (!members.contains(operand.getDefiningOp()))
        inputs.insert(operand);
  return inputs;
}

static SmallVector<Value> findResults(const Group &group, const MemberSet &members) {
  SmallVector<Value> results;
  for (Operation *member : group.members)
    for (Value result : member->getResults()) {
      bool isReadOutside =
          llvm::any_of(result.getUsers(), [&](Operation *user) { return !members.contains(user); });
      bool isKept = isReadOutside && !group.selectors.contains(member);
      if (isKept || group.alwaysYielded.contains(result.getAsOpaquePointer()) || member->getNumResults() > 1)
        results.push_back(result);
    }
  return results;
}

/// Bytes of the values that no longer reach memory; null where a size has no name.
static SizeAttr findBytesSaved(const Group &group, ArrayRef<Value> results) {
  SizeAttr saved = SizeAttr::getConstant(group.members.front()->getContext(), 0);
  for (Operation *member : group.members)
    for (Value result : member->getResults())
      if (saved && !llvm::is_contained(results, result)) {
        SizeAttr bytes = bytesOf(cast<RankedTensorType>(result.getType()));
        saved = bytes ? saved.plus(bytes) : bytes;
      }
  return saved;
}

static void explainFused(const Group &group, StringRef what, ArrayRef<Value> results) {
  InFlightDiagnostic remark = group.members.front()->emitRemark() << "fused: " << what << " of ";
  llvm::interleaveComma(group.members, remark,
                        [&](Operation *op) { remark << op->getName().stripDialect(); });
  if (SizeAttr saved = findBytesSaved(group, results); saved && !saved.getTerms().empty())
    remark << "; " << saved.str() << " bytes less to write";
}

/// Orders the members by what they read: each comes right after its operands, left before right. Unlike the
/// order of the block this does not depend on what stands around the group, so equal work gives equal
/// regions. A chain may be longer than a stack of calls is deep.
static void orderByOperands(Group &group, const MemberSet &members) {
  llvm::SetVector<Operation *> ordered;
  SmallVector<std::pair<Operation *, unsigned>> open; // members, and how many of their operands are done
  auto visit = [&](Operation *op) {
    if (members.contains(op) && !ordered.contains(op))
      open.push_back({op, 0});
  };
  for (Operation *member : llvm::reverse(group.members)) {
    visit(member);
    while (!open.empty()) {
      auto &[op, done] = open.back();
      if (done < op->getNumOperands())
        visit(op->getOperand(done++).getDefiningOp());
      else
        ordered.insert(open.pop_back_val().first);
    }
  }
  group.members.assign(ordered.begin(), ordered.end());
}

void addNorm(Group &group, Value last) {
  if (Operation *norm = findNext(group, last, isNorm)) {
    group.alwaysYielded.insert(last.getAsOpaquePointer());
    group.members.push_back(norm);
  }
}

FusedOp fuse(Group group, StringRef what) {
  llvm::sort(group.members, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  OpBuilder builder(group.members.back());
  const MemberSet members(group.members.begin(), group.members.end());
  orderByOperands(group, members);
  SmallVector<Value> inputs = findInputs(group, members).takeVector(), results = findResults(group, members);
  if (group.members.size() > 1)
    explainFused(group, what, results);

  SmallVector<Location> locations =
      llvm::map_to_vector(group.members, [](Operation *op) { return op->getLoc(); });
  auto fused =
      FusedOp::create(builder, builder.getFusedLoc(locations), TypeRange(ValueRange(results)), inputs);
  Block *body = builder.createBlock(&fused.getBody());
  IRMapping mapping;
  for (Value input : inputs)
    mapping.map(input, body->addArgument(input.getType(), input.getLoc()));
  for (Operation *member : group.members)
    builder.clone(*member, mapping);
  YieldOp::create(builder, fused.getLoc(),
                  llvm::map_to_vector(results, [&](Value result) { return mapping.lookup(result); }));

  for (auto [result, replacement] : llvm::zip(results, fused.getResults()))
    result.replaceAllUsesWith(replacement);
  for (Operation *member : llvm::reverse(group.members))
    if (member->use_empty())
      member->erase();
  return fused;
}

/// A cell's results come from one stage, and have one type.
static bool isCellOfSeveral(FusedOp fused) {
  Block &body = fused.getBody().front();
  bool isCell = llvm::range_size(body.getOps<LinearOp>()) > 1 || !body.getOps<SliceOp>().empty();
  return isCell && fused.getNumResults() > 1;
}

static OpOperand &yieldOf(OpResult result) {
  Operation *end = cast<FusedOp>(result.getOwner()).getBody().front().getTerminator();
  return end->getOpOperand(result.getResultNumber());
}

bool canRound(Value result) {
  auto fused = result.getDefiningOp<FusedOp>();
  if (!fused || isCellOfSeveral(fused))
    return false;
  Value inside = yieldOf(cast<OpResult>(result)).get();
  Operation *last = inside.getDefiningOp();
  return inside.hasOneUse() &&
         (isPointwise(last) || isNorm(last) || isa_and_nonnull<LinearOp, MatmulOp>(last));
}

void roundResult(OpResult result) {
  OpOperand &yielded = yieldOf(result);
  OpBuilder builder(yielded.getOwner());
  Value round = RoundOp::create(builder, yielded.get().getLoc(), yielded.get());
  yielded.set(round);
  result.setType(round.getType());
}

void explainUnfused(Operation *op, const Twine &reason) { op->emitRemark() << "not fused: " << reason; }

} // namespace attn
