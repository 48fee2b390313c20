//===- PackMatrices.cpp - matrices that linears read get panels ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The layout is one for all targets and all readers, so it is part of the weight's type.

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

RankedTensorType inPanels(RankedTensorType type) {
  return RankedTensorType::get(type.getShape(), type.getElementType(),
                               PanelsAttr::get(type.getContext(), panelColumns, /*group=*/1));
}

struct PackMatrices : impl::PackMatricesBase<PackMatrices> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    getOperation().walk([&](LinearOp linear) {
      if (GetWeightOp get = findWeight(linear.getWeight()))
        pack(symbols.lookup<WeightOp>(get.getWeight()));
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
