//===- OutlineKernels.cpp - fused regions to kernels and calls -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A region becomes an `attn.kernel` and a call; regions that are equal but for their callers' sizes share
// one.

#include "dialect/Transforms/Fusion.h"
#include "dialect/Transforms/KernelBuilder.h"
#include "dialect/Transforms/KernelNames.h"
#include "dialect/Transforms/Passes.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace attn {

#define GEN_PASS_DEF_OUTLINEKERNELS
#include "dialect/Transforms/Passes.h.inc"

namespace {

/// A row's maximum and sum in each panel of the vocabulary: what remains of logits that are never written.
ArrayAttr findScratch(KernelOp kernel) {
  Block &body = kernel.getBody().front();
  bool isChoice = !body.getOps<TopKOp>().empty() || !body.getOps<PickOp>().empty();
  if (!isChoice || body.getOps<LogSoftmaxOp>().empty() || body.getOps<LinearOp>().empty())
    return {};
  LinearOp linear = *body.getOps<LinearOp>().begin();
  int64_t panels = llvm::divideCeil(cast<RankedTensorType>(linear.getType()).getShape().back(), panelColumns);
  Type type = namedTensor(kernel.getContext(), {ShapedType::kDynamic, panels}, {"row", "panel"},
                          linear.getType().getElementType());
  return Builder(kernel.getContext()).getTypeArrayAttr({type, type});
}

bool areEqual(KernelOp a, KernelOp b) {
  return a.getScratchAttr() == b.getScratchAttr() &&
         OperationEquivalence::isRegionEquivalentTo(&a.getBody(), &b.getBody(),
                                                    OperationEquivalence::IgnoreLocations);
}

/// All kernels of a module.
class KernelTable {
public:
  KernelTable(ModuleOp module, SymbolTable &symbols) : symbols(symbols), builder(module.getContext()) {
    for (auto func : module.getOps<func::FuncOp>())
      if (!first)
        first = func;
  }

  KernelOp findOrInsert(KernelBuilder &kernelBuilder) {
    builder.setInsertionPoint(first);
    KernelOp kernel = kernelBuilder.build(builder);
    if (ArrayAttr scratch = findScratch(kernel))
      kernel.setScratchAttr(scratch);
    std::string name = describeKernel(kernel);
    for (KernelOp known : byName[name])
      if (areEqual(known, kernel)) {
        kernel.erase();
        return known;
      }
    SmallVector<KernelOp> &sharing = byName[name];
    sharing.push_back(kernel);
    kernel.setSymName(sharing.size() == 1 ? name : name + "_" + std::to_string(sharing.size()));
    symbols.insert(kernel);
    ++size;
    return kernel;
  }

  unsigned size = 0;

private:
  SymbolTable &symbols;
  OpBuilder builder;
  func::FuncOp first;
  llvm::StringMap<SmallVector<KernelOp>> byName;
};

/// Collapses values for one function's calls, each once.
class RowViews {
public:
  Value collapse(OpBuilder &builder, Value value) {
    auto expand = value.getDefiningOp<ExpandOp>();
    if (expand && expand.getInput().getType() == collapsedType(cast<RankedTensorType>(value.getType())))
      return expand.getInput();
    Value &rows = views[value];
    if (!rows)
      rows = CollapseOp::create(builder, value.getLoc(), value);
    return rows;
  }

private:
  llvm::DenseMap<Value, Value> views;
};

struct OutlineKernels : impl::OutlineKernelsBase<OutlineKernels> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    KernelTable kernels(getOperation(), symbols);
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      if (func.isExternal())
        continue;
      RowViews rows;
      for (Block *block : workBlocks(func)) {
        for (auto fused : llvm::make_early_inc_range(block->getOps<FusedOp>()))
          outline(fused, kernels, rows);
        eraseUnread(*block);
      }
    }
    numKernels += kernels.size;
    eraseUnusedWeights(symbols);
  }

  void outline(FusedOp fused, KernelTable &kernels, RowViews &rows) {
    KernelBuilder kernelBuilder(fused);
    KernelOp kernel = kernels.findOrInsert(kernelBuilder);
    OpBuilder builder(fused);
    if (fused->getParentOfType<func::FuncOp>()->hasAttr("attn.graph"))
      kernel->setAttr("attn.graph", builder.getUnitAttr());
    SmallVector<Value> inputs = llvm::map_to_vector(kernelBuilder.getInputs(), [&](const KernelInput &input) {
      Value value = fused.getInputs()[input.number];
      return kernelBuilder.isCollapsed(input) ? rows.collapse(builder, value) : value;
    });
    auto yield = cast<YieldOp>(kernel.getBody().front().getTerminator());
    SmallVector<Type> types;
    for (auto [result, inside] : llvm::zip(fused.getResults(), yield.getValues())) {
      auto type = cast<RankedTensorType>(result.getType());
      types.push_back(isCollapsed(inside, type) ? collapsedType(type) : type);
    }
    auto call =
        CallOp::create(builder, fused.getLoc(), types, kernel.getSymName(), inputs, ArrayAttr(), ArrayAttr());
    for (auto [result, called] : llvm::zip(fused.getResults(), call.getResults())) {
      Value whole = called;
      if (called.getType() != result.getType())
        whole = ExpandOp::create(builder, fused.getLoc(), result.getType(), called);
      result.replaceAllUsesWith(whole);
    }
    fused.erase();
    ++numCalls;
  }

  static bool isCollapsed(Value inside, RankedTensorType outside) {
    return cast<RankedTensorType>(inside.getType()).getRank() < outside.getRank();
  }

  /// Views of what is only read as rows, and weights that were joined to others.
  void eraseUnread(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (op.use_empty() && (isView(&op) || isa<GetWeightOp, ReadStateOp>(op)))
        op.erase();
  }

  void eraseUnusedWeights(SymbolTable &symbols) {
    llvm::StringSet<> used;
    getOperation().walk([&](GetWeightOp get) { used.insert(get.getWeight()); });
    for (auto weight : llvm::make_early_inc_range(getOperation().getOps<WeightOp>()))
      if (!used.contains(weight.getSymName()))
        symbols.erase(weight);
  }
};

} // namespace
} // namespace attn
