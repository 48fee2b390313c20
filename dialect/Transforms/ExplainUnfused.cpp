//===- ExplainUnfused.cpp - why a region did not become part of another ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Looks at finished regions: wherever one reads what another computes, by an operation that a kernel might go
// on with, a remark says why the two are apart. So silence means that nothing could be fused.

#include "dialect/Transforms/Fusion.h"

using namespace mlir;

namespace attn {
namespace {

/// Operations that some kernel goes on with after its first work, or might.
bool isFollower(Operation *op) {
  return isPointwise(op) || isNorm(op) || actsOnScores(op) || isa<L2NormOp, RotaryOp>(op);
}

/// A value of one region that an operation of another one reads.
struct Neighbours {
  FusedOp first;
  Value value;     // a result of `first`
  Operation *last; // computes `value` inside of `first`
  Operation *view; // stands between the two, or null
  Operation *reader;
};

bool has(FusedOp fused, llvm::function_ref<bool(Operation *)> accepts) {
  return llvm::any_of(fused.getBody().front(), [&](Operation &op) { return accepts(&op); });
}

size_t sizeOf(FusedOp fused) { return llvm::range_size(fused.getBody().front().without_terminator()); }

/// True where `op` belongs with what another operation of its region computes.
bool isAtHome(Operation *op) {
  return llvm::any_of(op->getOperands(), [](Value operand) { return operand.getDefiningOp(); });
}

/// What a kernel is, as docs/architecture.md calls it, and which operations it goes on with.
struct Family {
  StringRef name;
  bool takesPointwise = false, takesNorm = false, takesMasks = false;
};

Family familyOf(FusedOp fused) {
  size_t linears = llvm::range_size(fused.getBody().front().getOps<LinearOp>());
  if (has(fused, [](Operation *op) { return isa<SoftmaxOp>(op); }) && has(fused, makesScores))
    return {"attention"};
  if (has(fused, makesScores))
    return {"a product of two values", true, false, true};
  if (has(fused, [](Operation *op) { return isa<LogSoftmaxOp, LogSumExpOp>(op); }))
    return {"a vocabulary projection"};
  if (linears > 0 && has(fused, [](Operation *op) { return isa<SliceOp>(op); }))
    return {"a recurrent cell"};
  if (linears > 0)
    return {linears > 1 ? "a gated linear" : "a linear", true, linears == 1};
  if (has(fused, [](Operation *op) { return isa<EmbedOp>(op); }))
    return {"an embedding", false, true};
  if (has(fused, isPointwise))
    return {"pointwise operations", true};
  return {fused.getBody().front().front().getName().stripDialect()};
}

/// What keeps a reader out of a kernel that takes such operations.
std::string whyNotTaken(const Neighbours &pair) {
  std::string last = pair.last->getName().stripDialect().str();
  if (isNorm(pair.reader))
    return has(pair.first, isNorm) ? "the kernel of the " + last + " has a norm already"
                                   : "another reader of the " + last + " comes before it";
  size_t readers = llvm::range_size(pair.value.getUsers()) + llvm::range_size(pair.last->getUsers()) - 1;
  for (Operation *user : pair.value.getUsers()) {
    if (user->hasTrait<OpTrait::IsTerminator>())
      return "the " + last + " is an output as well";
    if (isa<WriteStateOp>(user))
      return "the " + last + " is kept in a state as well";
  }
  if (readers > 1)
    return "the " + last + " has a second reader";
  if (isAtHome(pair.reader))
    return "it is in the kernel of another operation that it reads";
  return "another reader of the kernel of the " + last + " comes before it";
}

/// Which kernels take such operations.
StringRef whoTakes(Operation *reader) {
  if (isNorm(reader))
    return "norms go only into kernels of one linear or of an embedding";
  if (isPointwise(reader))
    return "pointwise operations go only into kernels of linears, of products and of pointwise operations";
  if (actsOnScores(reader))
    return "masks and score maps go only into kernels of attention and of products";
  return "it is always a kernel of its own";
}

bool takes(const Family &family, Operation *reader) {
  return isNorm(reader)        ? family.takesNorm
         : isPointwise(reader) ? family.takesPointwise
                               : actsOnScores(reader) && family.takesMasks;
}

std::string whyApart(const Neighbours &pair) {
  std::string last = pair.last->getName().stripDialect().str(),
              reader = pair.reader->getName().stripDialect().str();
  if (pair.view)
    return "between it and the " + last + " stands a " + pair.view->getName().stripDialect().str();
  if (isNorm(pair.last))
    return "a kernel ends with its " + last;
  Family family = familyOf(pair.first);
  if (!takes(family, pair.reader))
    return ("the kernel of " + family.name + " cannot take " + reader + " in, because " +
            whoTakes(pair.reader))
        .str();
  return whyNotTaken(pair);
}

/// What `value` is, or is a view of; `view` gets the view that is read.
Value findComputed(Value value, Operation *&view) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isView(op))
      break;
    view = view ? view : op;
    value = op->getOperand(0);
  }
  return value;
}

void explainOperand(FusedOp second, unsigned number) {
  Neighbours pair;
  pair.view = nullptr;
  pair.value = findComputed(second.getInputs()[number], pair.view);
  pair.first = pair.value.getDefiningOp<FusedOp>();
  if (!pair.first)
    return;
  auto yield = cast<YieldOp>(pair.first.getBody().front().getTerminator());
  pair.last = yield.getValues()[cast<OpResult>(pair.value).getResultNumber()].getDefiningOp();
  for (OpOperand &use : second.getBody().getArgument(number).getUses()) {
    pair.reader = use.getOwner();
    // Of masks and maps the lengths, starts and tables are no work to go on with.
    bool goesOn = isFollower(pair.reader) && (use.getOperandNumber() == 0 || isPointwise(pair.reader));
    // What has found a kernel elsewhere is worth a word only if this one stays alone for it.
    bool isSettled = isAtHome(pair.reader) &&
                     (sizeOf(pair.first) > 1 || pair.view || !takes(familyOf(pair.first), pair.reader));
    if (pair.last && goesOn && !isSettled)
      explainUnfused(pair.reader, whyApart(pair));
  }
}

} // namespace

void explainApart(Block &block) {
  for (auto fused : block.getOps<FusedOp>())
    for (unsigned number = 0; number < fused.getInputs().size(); ++number)
      explainOperand(fused, number);
}

} // namespace attn
