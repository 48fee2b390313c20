//===- KernelBuilder.cpp - a fused region as a kernel -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Finds each operand's role, and from it the type that the kernel sees.

#include "dialect/Transforms/KernelBuilder.h"

#include "dialect/IR/StepBuilder.h"

using namespace mlir;

namespace attn {

static bool isParameter(OpOperand &operand) {
  if (auto linear = dyn_cast<LinearOp>(operand.getOwner()))
    return operand.get() != linear.getInput() && operand.get() != linear.getInputScales();
  return isa<LayerNormOp, RmsNormOp, EmbedOp>(operand.getOwner()) ? operand.getOperandNumber() > 0
         : isa<AddPositionsOp, RotaryOp>(operand.getOwner())      ? operand.getOperandNumber() == 1
         : isa<AdditiveScoresOp>(operand.getOwner())              ? operand.getOperandNumber() == 2
                                                                  : false;
}

static bool actsOnRows(Operation &op) {
  return isa<LinearOp, ActivationOp, AddOp, MulOp, ScaleOp, LayerNormOp, RmsNormOp, L2NormOp, LogSoftmaxOp,
             LogSumExpOp, PickOp, TopKOp, SliceOp, WhereOp, ConcatOp, QuantiseOp, RoundOp>(op);
}

/// Adds what `last` needs of its block, each operation after what it needs itself, then `last`.
static void addInOrder(Operation *last, llvm::SetVector<Operation *> &ordered) {
  SmallVector<std::pair<Operation *, bool>> open = {
      {last, false}}; // and whether what it needs has been added
  while (!open.empty()) {
    auto [op, isReady] = open.pop_back_val();
    if (isReady)
      ordered.insert(op);
    if (ordered.contains(op))
      continue;
    open.push_back({op, true});
    size_t first = open.size();
    Block *block = op->getBlock();
    op->walk<WalkOrder::PreOrder>([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (Operation *before = operand.getDefiningOp(); before && before->getBlock() == block)
          open.push_back({before, false});
    });
    std::reverse(open.begin() + first, open.end());
  }
}

KernelBuilder::KernelBuilder(FusedOp fused) : fused(fused), values(fused.getInputs()) {
  addInOrder(fused.getBody().front().getTerminator(), ordered);
  Block &body = fused.getBody().front();
  isRowByRow = llvm::all_of(body.without_terminator(), actsOnRows);
  bool hasScores = llvm::any_of(body, [](Operation &op) { return makesScores(&op); });
  isAttention = hasScores && !body.getOps<SoftmaxOp>().empty();
  countsPositions = !body.getOps<EmbedOp>().empty() || !body.getOps<RotaryOp>().empty();
  checkRows();
  for (Operation *op : ordered)
    for (OpOperand &operand : op->getOpOperands())
      if (auto argument = dyn_cast<BlockArgument>(operand.get())) {
        KernelInput input{argument.getArgNumber(), findRole(operand)};
        if (!llvm::is_contained(inputs, input))
          inputs.push_back(input);
      }
}

/// Rows are given as (batch, query, width) or (row, width), ids without the width; work on other ranks is
/// left as it is.
void KernelBuilder::checkRows() {
  for (Operation &op : fused.getBody().front())
    for (OpOperand &operand : op.getOpOperands()) {
      if (!isa<BlockArgument>(operand.get()) || isParameter(operand))
        continue;
      RankedTensorType type = tensorOf(operand.get());
      int64_t rank = type.getRank() + (type.getElementType().isInteger(32) ? 1 : 0);
      isRowByRow &= rank == 2 || rank == 3;
    }
}

Role KernelBuilder::findRole(OpOperand &operand) const {
  if (isParameter(operand))
    return Role::Parameter;
  if (isRowByRow)
    return tensorOf(operand.get()).getElementType().isInteger(32) ? Role::RowIds : Role::Rows;
  if (countsPositions)
    return Role::Positions;
  return isAttention ? findAttentionRole(operand) : Role::Unchanged;
}

Role KernelBuilder::findAttentionRole(OpOperand &operand) const {
  Operation *op = operand.getOwner();
  if (auto map = dyn_cast<ScoreMapOp>(op);
      map && operand.getOperandNumber() >= op->getNumOperands() - map.getTables().size())
    return Role::Table;
  RankedTensorType type = tensorOf(operand.get());
  if (type.getRank() == 1 && type.getElementType().isInteger(32))
    return Role::OfBatches;
  if (type.getRank() != 4)
    return Role::Unchanged;
  if (makesScores(op))
    return operand.getOperandNumber() == 0 ? Role::Queries : Role::Keys;
  if (isa<AddOp, MulOp>(op))
    return Role::Scores;
  return isa<TakeOp>(op) && operand.getOperandNumber() == 0 ? Role::Keys : Role::Unchanged;
}

bool KernelBuilder::isCollapsed(const KernelInput &input) const {
  int64_t rank = tensorOf(valueOf(input)).getRank();
  return (input.role == Role::Rows && rank == 3) || (input.role == Role::RowIds && rank == 2);
}

/// A spec may call its batches as a kernel calls another axis, whose extent is another one.
static std::string batchName(StringRef given) {
  bool isAnothers = llvm::is_contained({"head", "query", "key", "width"}, given);
  return (isAnothers ? "batch." : "") + given.str();
}

/// Without names; panels stay.
static RankedTensorType withoutNames(RankedTensorType type) {
  return isa_and_nonnull<AxesAttr>(type.getEncoding())
             ? RankedTensorType::get(type.getShape(), type.getElementType())
             : type;
}

/// Axes over which a kernel loops may have any extent, so that one kernel serves all of them. Only a query
/// axis of one stays, for a step is work of another kind.
static RankedTensorType withNames(RankedTensorType type, ArrayRef<StringRef> names,
                                  ArrayRef<bool> isAnyExtent) {
  SmallVector<int64_t> shape(type.getShape());
  SmallVector<StringRef> allNames(names);
  std::string first = batchName(axisNames(type).front());
  if (names.front() == "batch" && !first.empty())
    allNames[0] = first;
  for (size_t axis = 0; axis < shape.size(); ++axis)
    if (isAnyExtent[axis] && !(names[axis] == "query" && shape[axis] == 1))
      shape[axis] = ShapedType::kDynamic;
  return namedTensor(type.getContext(), shape, allNames, type.getElementType());
}

RankedTensorType KernelBuilder::typeOf(const KernelInput &input) const {
  RankedTensorType type = tensorOf(valueOf(input));
  if (isCollapsed(input))
    type = collapsedType(type);
  switch (input.role) {
  case Role::Unchanged:
    return type;
  case Role::Parameter:
  case Role::Table:
    return withoutNames(type);
  case Role::OfBatches:
    return withNames(type, {"batch"}, {false});
  case Role::Rows:
    return withNames(type, {"row", "width"}, {true, false});
  case Role::RowIds:
    return withNames(type, {"row"}, {true});
  case Role::Queries:
    return withNames(type, {"batch", "head", "query", "width"}, {true, false, true, false});
  case Role::Keys:
    return withNames(type, {"batch", "head", "key", "width"}, {true, false, true, false});
  case Role::Scores:
    return withNames(type, {"batch", "head", "query", "key"}, {true, false, true, true});
  case Role::Positions: {
    if (type.getRank() == 4)
      return withNames(type, {"batch", "head", "query", "width"}, {true, false, true, false});
    StringRef names[] = {"batch", "query", "width"};
    bool isAnyExtent[] = {true, true, false};
    return withNames(type, ArrayRef(names).take_front(type.getRank()),
                     ArrayRef(isAnyExtent).take_front(type.getRank()));
  }
  }
  llvm_unreachable("all roles are above");
}

KernelOp KernelBuilder::build(OpBuilder &builder) {
  OpBuilder::InsertionGuard guard(builder);
  auto kernel = KernelOp::create(builder, fused.getLoc(), "", ArrayAttr());
  Block *body = builder.createBlock(&kernel.getBody());
  for (const KernelInput &input : inputs)
    body->addArgument(typeOf(input), fused.getInputs()[input.number].getLoc());
  IRMapping mapping;
  for (Operation *op : ordered) {
    Operation *clone = builder.clone(*op, mapping);
    for (OpOperand &operand : op->getOpOperands())
      if (auto argument = dyn_cast<BlockArgument>(operand.get())) {
        auto input = llvm::find(inputs, KernelInput{argument.getArgNumber(), findRole(operand)});
        clone->setOperand(operand.getOperandNumber(), body->getArgument(input - inputs.begin()));
      }
    inferResultTypes(clone);
  }
  return kernel;
}

} // namespace attn
