//===- MergeProjections.cpp - linears of one input to one linear --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Queries, keys and values of one input come from one matmul; keys and values of one source stay in one
// state.

#include "dialect/Transforms/Fusion.h"
#include "dialect/Transforms/JoinedWeights.h"
#include "dialect/Transforms/Passes.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace attn {

#define GEN_PASS_DEF_MERGEPROJECTIONS
#include "dialect/Transforms/Passes.h.inc"

namespace {

/// Why a slice of a merged linear could not stand for the result of `linear`; empty where it could. Heads
/// look at their projection through views, and kernels read rows of any stride, so they can as well look at a
/// slice. But a slice has no epilogue, and what must be dense would be copied.
std::string whyNoSlice(LinearOp linear) {
  for (Operation *user : linear->getUsers()) {
    std::string reader = user->getName().stripDialect().str();
    if (user->hasTrait<OpTrait::IsTerminator>())
      return "it is an output, so a slice would be copied";
    if (isa<WriteStateOp>(user))
      return "it is kept in a state, so a slice would be copied";
    if (isNorm(user) || (isPointwise(user) && linear->hasOneUse()))
      return "a slice would take no " + reader + " into its kernel";
    bool readsSlice = isa<SplitHeadsOp, LinearOp>(user) || isPointwise(user);
    if (!readsSlice)
      return "its reader '" + reader + "' takes no slice";
  }
  return "";
}

/// True where one kernel computes both `linear` and another linear of its input, which gates it or is gated
/// by it.
bool isGated(LinearOp linear) {
  Value last = linear.getResult();
  for (Operation *next = onlyReader(last); isPointwise(next); next = onlyReader(last)) {
    for (Value operand : next->getOperands())
      if (operand != last && !findGate(operand, linear.getInput()).empty())
        return true;
    last = next->getResult(0);
  }
  return false;
}

using LinearsByInput = llvm::MapVector<Value, SmallVector<LinearOp>>;

LinearsByInput sortByInput(func::FuncOp func, llvm::function_ref<bool(LinearOp)> accepts) {
  LinearsByInput byInput;
  for (auto linear : func.getOps<LinearOp>())
    if (!linear->use_empty() && accepts(linear))
      byInput[linear.getInput()].push_back(linear);
  return byInput;
}

/// The state that a linear's result is written to, if nothing else reads it.
WriteStateOp findOnlyWrite(LinearOp linear) {
  return dyn_cast_or_null<WriteStateOp>(onlyReader(linear.getResult()));
}

/// The state that the right side of a matmul is a view of, or null.
StringAttr findState(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (auto read = dyn_cast<ReadStateOp>(op))
      return read.getStateAttr().getAttr();
    if (!isView(op) && !isa<TakeOp>(op))
      return {};
    value = op->getOperand(0);
  }
  return {};
}

/// Keys' state to values' state, for each attention that reads both from states.
llvm::MapVector<StringAttr, StringAttr> findPairs(ModuleOp module) {
  llvm::MapVector<StringAttr, StringAttr> pairs;
  module.walk([&](MatmulOp context) {
    auto softmax = context.getLhs().getDefiningOp<SoftmaxOp>();
    Operation *scores = softmax ? findScores(softmax.getScores()) : nullptr;
    StringAttr values = findState(context.getRhs()),
               keysState = scores ? findState(scores->getOperand(1)) : StringAttr();
    if (values && keysState && values != keysState)
      pairs.insert({keysState, values});
  });
  return pairs;
}

struct MergeProjections : impl::MergeProjectionsBase<MergeProjections> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    JoinedWeights weights(symbols);
    merged.clear();
    for (auto func : getOperation().getOps<func::FuncOp>())
      mergeInFunction(func, weights);
    for (auto [keys, values] : findPairs(getOperation()))
      mergeStates(symbols.lookup<StateOp>(keys), symbols.lookup<StateOp>(values), symbols, weights);
    for (auto func : getOperation().getOps<func::FuncOp>())
      explainKept(func);
  }

  void mergeInFunction(func::FuncOp func, JoinedWeights &weights) {
    auto mayBeSlice = [](LinearOp linear) { return whyNoSlice(linear).empty(); };
    for (auto &[input, linears] : sortByInput(func, mayBeSlice))
      for (ArrayRef<LinearOp> alike : groupByStorage(linears, weights))
        if (alike.size() > 1)
          mergeLinears(alike, weights);
  }

  /// Linears whose weights can stand in one matrix, together.
  SmallVector<SmallVector<LinearOp>> groupByStorage(ArrayRef<LinearOp> linears, JoinedWeights &weights) {
    SmallVector<SmallVector<LinearOp>> groups;
    for (LinearOp linear : linears) {
      auto group = llvm::find_if(groups, [&](SmallVector<LinearOp> others) {
        others.push_back(linear);
        return weights.canJoin(others);
      });
      if (group == groups.end())
        groups.push_back({linear});
      else
        group->push_back(linear);
    }
    return groups;
  }

  /// Says why linears of one input are still apart.
  void explainKept(func::FuncOp func) {
    for (auto &[input, linears] : sortByInput(func, [](LinearOp) { return true; })) {
      size_t slices = llvm::count_if(linears, [](LinearOp linear) { return whyNoSlice(linear).empty(); });
      for (LinearOp linear : linears) {
        if (linears.size() == 1 || merged.contains(linear) || isGated(linear))
          continue;
        std::string reason = whyNoSlice(linear);
        if (reason.empty())
          reason = slices > 1 ? "its weight is not stored as those of the other linears of its input are"
                              : "the other linears of its input can be no slices";
        linear.emitRemark() << "not merged: " << reason;
      }
    }
  }

  void mergeLinears(ArrayRef<LinearOp> linears, JoinedWeights &weights) {
    LinearOp whole = weights.join(linears);
    merged.insert(whole);
    whole.emitRemark() << "merged: " << linears.size() << " projections of one input are one linear";
    int64_t offset = 0;
    for (LinearOp linear : linears) {
      OpBuilder builder(linear);
      int64_t width = cast<RankedTensorType>(linear.getType()).getShape().back();
      Value slice = SliceOp::create(builder, linear.getLoc(), whole, offset, width);
      offset += width;
      linear.getResult().replaceAllUsesWith(slice);
      linear.erase();
    }
    numMerged += linears.size();
  }

  void mergeStates(StateOp keys, StateOp values, SymbolTable &symbols, JoinedWeights &weights) {
    SmallVector<WriteStateOp> writes = findWrites(keys, values);
    if (writes.size() != 2)
      return;
    SmallVector<LinearOp> linears{writes[0].getValue().getDefiningOp<LinearOp>(),
                                  writes[1].getValue().getDefiningOp<LinearOp>()};
    if (linears[0].getInput() != linears[1].getInput() || !weights.canJoin(linears))
      return;
    LinearOp whole = weights.join(linears);
    OpBuilder builder(keys);
    auto joined = StateOp::create(builder, keys.getLoc(), (keys.getSymName() + "_and_values").str(),
                                  whole.getType(), SizeAttr());
    symbols.insert(joined);
    builder.setInsertionPointAfter(whole);
    WriteStateOp::create(builder, whole.getLoc(), whole, joined.getSymName());
    int64_t keysWidth = linears[0].getType().getShape().back();
    redirectReaders(keys, joined, 0);
    redirectReaders(values, joined, keysWidth);
    for (WriteStateOp write : writes)
      write.erase();
    for (LinearOp linear : linears)
      linear.erase();
    symbols.erase(keys);
    symbols.erase(values);
    numMerged += 2;
    ++numStatesMerged;
  }

  /// The writes of linears to `keys` and to `values`, in this order, if each is written once and by a linear
  /// of its own.
  SmallVector<WriteStateOp> findWrites(StateOp keys, StateOp values) {
    SmallVector<WriteStateOp> found;
    for (StateOp state : {keys, values}) {
      if (!state)
        return {};
      SmallVector<WriteStateOp> writes;
      getOperation().walk([&](WriteStateOp write) {
        if (write.getState() == state.getSymName())
          writes.push_back(write);
      });
      auto linear = writes.size() == 1 ? writes[0].getValue().getDefiningOp<LinearOp>() : LinearOp();
      if (!linear || findOnlyWrite(linear) != writes[0])
        return {};
      found.push_back(writes[0]);
    }
    return found;
  }

  void redirectReaders(StateOp part, StateOp whole, int64_t offset) {
    int64_t width = cast<RankedTensorType>(part.getType()).getShape().back();
    getOperation().walk([&](ReadStateOp read) {
      if (read.getState() != part.getSymName())
        return;
      OpBuilder builder(read);
      Value all = ReadStateOp::create(builder, read.getLoc(), whole.getType(), whole.getSymName());
      Value slice = SliceOp::create(builder, read.getLoc(), all, offset, width);
      read.getResult().replaceAllUsesWith(slice);
      read.erase();
    });
  }

  llvm::DenseSet<Operation *> merged; // linears that stand for several
};

} // namespace
} // namespace attn
