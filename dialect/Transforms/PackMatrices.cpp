//===- PackMatrices.cpp - matrices that linears read get panels ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The layout is one for all targets and all readers, so it is part of the weight's type. What something else
// reads as well stays dense.

#include "dialect/Transforms/Passes.h"

using namespace mlir;

namespace attn {

#define GEN_PASS_DEF_PACKMATRICES
#include "dialect/Transforms/Passes.h.inc"

namespace {

/// The weight that a value inside or outside of a fused region stands for, or null.
GetWeightOp findWeight(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto fused = argument ? dyn_cast<FusedOp>(argument.getOwner()->getParentOp()) : FusedOp();
  return fused ? findWeight(fused.getInputs()[argument.getArgNumber()]) : value.getDefiningOp<GetWeightOp>();
}

/// Whether whatever reads a weight reads panels as well: linears' matrices and tables of words are.
bool canBePacked(Value value) {
  return llvm::all_of(value.getUses(), [](OpOperand &use) {
    Operation *reader = use.getOwner();
    if (auto fused = dyn_cast<FusedOp>(reader))
      return canBePacked(fused.getBody().getArgument(use.getOperandNumber()));
    if (auto linear = dyn_cast<LinearOp>(reader))
      return linear.getWeight() == use.get() && linear.getInput() != use.get();
    return isa<EmbedOp>(reader) && use.getOperandNumber() == 1;
  });
}

RankedTensorType inPanels(RankedTensorType type) {
  return RankedTensorType::get(type.getShape(), type.getElementType(),
                               PanelsAttr::get(type.getContext(), panelColumns, /*group=*/1));
}

struct PackMatrices : impl::PackMatricesBase<PackMatrices> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    llvm::SmallPtrSet<Operation *, 4> dense;
    getOperation().walk([&](GetWeightOp get) {
      if (!canBePacked(get.getResult()))
        dense.insert(symbols.lookup(get.getWeight()));
    });
    getOperation().walk([&](LinearOp linear) {
      GetWeightOp get = findWeight(linear.getWeight());
      auto weight = get ? symbols.lookup<WeightOp>(get.getWeight()) : WeightOp();
      if (weight && !dense.contains(weight))
        pack(weight);
    });
    getOperation().walk([&](GetWeightOp get) {
      auto weight = symbols.lookup<WeightOp>(get.getWeight());
      if (weight.getType() != get.getType())
        retype(get.getResult(), weight.getType());
    });
  }

  void pack(WeightOp weight) {
    if (isa_and_nonnull<PanelsAttr>(cast<RankedTensorType>(weight.getType()).getEncoding()))
      return;
    weight.setTypeAttr(TypeAttr::get(inPanels(cast<RankedTensorType>(weight.getType()))));
    ++numPacked;
  }

  void retype(Value value, Type type) {
    value.setType(type);
    for (OpOperand &use : value.getUses())
      if (auto fused = dyn_cast<FusedOp>(use.getOwner()))
        retype(fused.getBody().getArgument(use.getOperandNumber()), type);
  }
};

} // namespace
} // namespace attn
