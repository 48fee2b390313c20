//===- RoundAttention.cpp - what attention reads as bfloat16 ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Follows what a state holds, or what a region computes, from the regions that compute it to those that read
// it. What only attention reads is held in half the bytes: what is written is rounded, what is read widened,
// or, by products that round what they multiply, taken as it is.

#include "dialect/IR/StepBuilder.h"
#include "dialect/Transforms/Fusion.h"
#include "dialect/Transforms/Passes.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace attn {

#define GEN_PASS_DEF_ROUNDATTENTION
#include "dialect/Transforms/Passes.h.inc"

namespace {

/// The append that makes a result of a region, or null.
AppendOp appendOf(Value value) {
  auto fused = value.getDefiningOp<FusedOp>();
  if (!fused)
    return {};
  unsigned number = cast<OpResult>(value).getResultNumber();
  return fused.getBody().front().getTerminator()->getOperand(number).getDefiningOp<AppendOp>();
}

/// Whether a product may round what it multiplies as attention of many queries does. In graphs products that
/// belong to none are marked as well.
bool isRounded(MatmulOp product) {
  auto left = cast<RankedTensorType>(product.getLhs().getType());
  return product.getRounded() && left.getDimSize(left.getRank() - 2) != 1 &&
         !product->getBlock()->getOps<SoftmaxOp>().empty();
}

/// All values of functions that are one content or a view of it.
class Contents {
public:
  /// What a region computes, for products that round it.
  explicit Contents(OpResult computed) { values.insert(computed); }
  /// What a state holds.
  explicit Contents(StateOp state) : state(state) {
    for (auto func : state->getParentOfType<ModuleOp>().getOps<func::FuncOp>()) {
      func.walk([&](ReadStateOp read) {
        if (read.getState() == state.getSymName())
          values.insert(read);
      });
      func.walk([&](WriteStateOp write) {
        if (write.getState() == state.getSymName())
          values.insert(write.getValue());
      });
    }
  }

  /// What reads or makes the content and is no matter of attention, or null.
  Operation *findObstacle() {
    for (unsigned i = 0; i < values.size(); ++i) {
      Value value = values[i];
      if (Operation *obstacle = followToOrigin(value))
        return obstacle;
      for (OpOperand &use : value.getUses())
        if (Operation *obstacle = followToReader(use))
          return obstacle;
    }
    return nullptr;
  }

  /// Only once no obstacle is found.
  void round() {
    if (state)
      state.setType(rounded(state.getType()));
    for (Value value : values) {
      if (AppendOp append = appendOf(value))
        roundFresh(append);
      else if (value.getDefiningOp<FusedOp>())
        roundResult(cast<OpResult>(value));
      value.setType(rounded(value.getType()));
    }
    for (BlockArgument argument : arguments) {
      argument.setType(rounded(argument.getType()));
      inferReaders(argument);
    }
  }

private:
  static RankedTensorType rounded(Type type) {
    return cast<RankedTensorType>(type).clone(BFloat16Type::get(type.getContext()));
  }

  Operation *followToOrigin(Value value) {
    Operation *origin = value.getDefiningOp();
    if (isView(origin))
      values.insert(origin->getOperand(0));
    else if (!origin)
      return value.getParentBlock()->getParentOp();
    else if (!isa<ReadStateOp>(origin) && !appendOf(value) && !canRound(value))
      return origin;
    return nullptr;
  }

  Operation *followToReader(OpOperand &use) {
    Operation *reader = use.getOwner();
    if (isView(reader))
      values.insert(reader->getResult(0));
    else if (auto write = dyn_cast<WriteStateOp>(reader))
      return state && write.getState() == state.getSymName() ? nullptr : write;
    else if (auto fused = dyn_cast<FusedOp>(reader))
      return followInside(fused, use.getOperandNumber());
    else
      return reader;
    return nullptr;
  }

  /// A state is of bf16 because the spec says so: products widen their right side. What is computed is only
  /// where they would round it.
  bool isRead(OpOperand &use) {
    auto product = dyn_cast<MatmulOp>(use.getOwner());
    return product && (state ? use.getOperandNumber() == 1 : isRounded(product));
  }

  /// Inside a region a state is appended to, or attention reads it.
  Operation *followInside(FusedOp fused, unsigned number) {
    BlockArgument argument = fused.getBody().getArgument(number);
    arguments.push_back(argument);
    SmallVector<Value> open{argument};
    while (!open.empty()) {
      Value value = open.pop_back_val();
      for (OpOperand &use : value.getUses()) {
        Operation *reader = use.getOwner();
        if (isa<TakeOp, LookupOp>(reader) || isView(reader))
          open.push_back(reader->getResult(0));
        else if (auto append = dyn_cast<AppendOp>(reader); append && append.getCache() == value)
          open.push_back(append);
        else if (isa<YieldOp>(reader) && value.getDefiningOp<AppendOp>())
          values.insert(fused.getResult(use.getOperandNumber()));
        else if (!isRead(use))
          return reader;
      }
    }
    return nullptr;
  }

  static void roundFresh(AppendOp append) {
    OpBuilder builder(append);
    Value fresh = append.getFresh();
    append.getFreshMutable().assign(RoundOp::create(builder, fresh.getLoc(), fresh));
  }

  static void inferReaders(Value value) {
    for (Operation *reader : value.getUsers())
      if (isa<TakeOp, LookupOp, AppendOp>(reader) || isView(reader)) {
        inferResultTypes(reader);
        inferReaders(reader->getResult(0));
      }
  }

  StateOp state;
  llvm::SetVector<Value> values;
  SmallVector<BlockArgument> arguments; // of regions that read them
};

/// The result of a region that the operand of a product in another one is, or is a view of; null where there
/// is none.
OpResult findComputed(Value operand) {
  Operation *origin = operand.getDefiningOp();
  while (isView(origin) || isa_and_nonnull<TakeOp>(origin)) {
    operand = origin->getOperand(0);
    origin = operand.getDefiningOp();
  }
  auto argument = dyn_cast<BlockArgument>(operand);
  if (!argument)
    return isa_and_nonnull<FusedOp>(origin) ? cast<OpResult>(operand) : OpResult();
  auto fused = dyn_cast<FusedOp>(argument.getOwner()->getParentOp());
  return fused ? findComputed(fused.getInputs()[argument.getArgNumber()]) : OpResult();
}

struct RoundAttention : impl::RoundAttentionBase<RoundAttention> {
  void runOnOperation() override {
    if (getOperation()->hasAttr(roundsCaches))
      roundStates();
    getOperation()->removeAttr(roundsCaches);
    roundComputed();
  }

  void roundStates() {
    for (auto state : getOperation().getOps<StateOp>()) {
      if (!cast<RankedTensorType>(state.getType()).getElementType().isF32())
        continue;
      Contents contents(state);
      if (Operation *obstacle = contents.findObstacle()) {
        state.emitRemark() << "not rounded: '" << obstacle->getName() << "' makes or reads it";
      } else {
        contents.round();
        ++numRounded;
      }
    }
  }

  /// Once for each value, however many products read it.
  void roundComputed() {
    llvm::SetVector<OpResult> computed;
    getOperation().walk([&](MatmulOp product) {
      if (isRounded(product))
        for (Value operand : product->getOperands())
          if (OpResult found = findComputed(operand))
            computed.insert(found);
    });
    for (OpResult value : computed) {
      if (!cast<RankedTensorType>(value.getType()).getElementType().isF32())
        continue; // of a state
      Contents contents(value);
      if (contents.findObstacle())
        continue;
      contents.round();
      ++numComputed;
    }
  }
};

} // namespace
} // namespace attn
