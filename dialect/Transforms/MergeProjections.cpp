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

/// Heads look at their projection through views, so they can as well look at a slice. Anything else would be
/// an epilogue, which a merged linear cannot have.
bool isReadByHeadsOnly(LinearOp linear) {
  return !linear->use_empty() &&
         llvm::all_of(linear->getUsers(), [](Operation *user) { return isa<SplitHeadsOp>(user); });
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
    for (auto func : getOperation().getOps<func::FuncOp>())
      mergeInFunction(func, weights);
    for (auto [keys, values] : findPairs(getOperation()))
      mergeStates(symbols.lookup<StateOp>(keys), symbols.lookup<StateOp>(values), symbols, weights);
  }

  void mergeInFunction(func::FuncOp func, JoinedWeights &weights) {
    llvm::MapVector<Value, SmallVector<LinearOp>> byInput;
    for (auto linear : func.getOps<LinearOp>())
      if (isReadByHeadsOnly(linear))
        byInput[linear.getInput()].push_back(linear);
    for (auto &[input, linears] : byInput)
      if (linears.size() > 1 && weights.canJoin(linears))
        mergeLinears(linears, weights);
  }

  void mergeLinears(ArrayRef<LinearOp> linears, JoinedWeights &weights) {
    LinearOp merged = weights.join(linears);
    merged.emitRemark() << "merged: " << linears.size() << " projections of one input are one linear";
    int64_t offset = 0;
    for (LinearOp linear : linears) {
      OpBuilder builder(linear);
      int64_t width = cast<RankedTensorType>(linear.getType()).getShape().back();
      Value slice = SliceOp::create(builder, linear.getLoc(), merged, offset, width);
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
    LinearOp merged = weights.join(linears);
    OpBuilder builder(keys);
    auto joined = StateOp::create(builder, keys.getLoc(), (keys.getSymName() + "_and_values").str(),
                                  merged.getType(), SizeAttr());
    symbols.insert(joined);
    builder.setInsertionPointAfter(merged);
    WriteStateOp::create(builder, merged.getLoc(), merged, joined.getSymName());
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
};

} // namespace
} // namespace attn
