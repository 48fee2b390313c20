//===- PlanMemory.cpp - a place for each value, state and weight ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Offsets of states and weights, then entry by entry the places of values; the module's sizes.

#include "dialect/Transforms/EntryPlan.h"
#include "dialect/Transforms/Passes.h"

#include "llvm/Support/MathExtras.h"

#include <set>

using namespace mlir;

namespace attn {

#define GEN_PASS_DEF_PLANMEMORY
#include "dialect/Transforms/Passes.h.inc"

namespace {

/// Bytes of a weight in the weight file: full panels, vectors in multiples of 32 floats, all in multiples of
/// 64 bytes.
int64_t fileBytes(RankedTensorType type) {
  int64_t elementBytes = type.getElementTypeBitWidth() / 8;
  int64_t elements = type.getNumElements();
  if (isa_and_nonnull<PanelsAttr>(type.getEncoding()))
    elements = llvm::product_of(panelExtents(type));
  else if (type.getRank() == 1)
    elements = llvm::alignTo(elements, panelColumns);
  return llvm::alignTo(elements * elementBytes, 64);
}

void collectSizes(SizeAttr size, std::set<std::string> &sizes) {
  for (const SizeTerm &term : size.getTerms())
    for (Attribute name : term.names)
      sizes.insert(cast<StringAttr>(name).str());
}

/// Names of sizes in a type: `batch * source` names two.
void collectSizes(Type type, std::set<std::string> &sizes) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  for (unsigned axis = 0; tensor && axis < tensor.getRank(); ++axis)
    if (SizeAttr extent = extentOf(tensor, axis))
      collectSizes(extent, sizes);
}

/// Names of sizes in the strides of arguments or results, where they have any.
void collectStrides(ArrayAttr attributes, std::set<std::string> &sizes) {
  for (Attribute attribute : attributes ? attributes.getValue() : ArrayRef<Attribute>())
    if (auto strides = cast<DictionaryAttr>(attribute).getAs<ArrayAttr>("attn.strides"))
      for (auto stride : strides.getAsRange<SizeAttr>())
        collectSizes(stride, sizes);
}

struct PlanMemory : impl::PlanMemoryBase<PlanMemory> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    placeStates();
    placeWeights();
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      EntryPlan plan(func, symbols);
      if (failed(checkFunction(func)) || failed(plan.run()))
        return signalPassFailure();
      numPlaced += plan.getPlacedCount();
    }
    nameSizes();
  }

  LogicalResult checkFunction(func::FuncOp func) {
    if (!llvm::hasSingleElement(func.getBody()))
      return func.emitOpError() << "needs one block, but has " << func.getBody().getBlocks().size();
    for (Type type : func.getArgumentTypes())
      if (auto tensor = dyn_cast<RankedTensorType>(type); !tensor || !bytesOf(tensor))
        return func.emitOpError() << "has an argument of type " << type << ": each dynamic axis needs a name";
    return success();
  }

  void placeStates() {
    SizeAttr end = SizeAttr::getConstant(&getContext(), 0);
    for (auto state : getOperation().getOps<StateOp>()) {
      state.setOffsetAttr(end);
      end = end.plus(alignedBytes(bytesOf(cast<RankedTensorType>(state.getType()))));
    }
    getOperation()->setAttr("attn.state_bytes", end);
  }

  void placeWeights() {
    int64_t end = 0;
    for (auto weight : getOperation().getOps<WeightOp>()) {
      weight.setOffset(end);
      end += fileBytes(cast<RankedTensorType>(weight.getType()));
    }
    getOperation()->setAttr("attn.weight_bytes", IntegerAttr::get(IntegerType::get(&getContext(), 64), end));
  }

  void nameSizes() {
    std::set<std::string> sizes;
    for (auto state : getOperation().getOps<StateOp>())
      collectSizes(state.getType(), sizes);
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      llvm::for_each(func.getArgumentTypes(), [&](Type type) { collectSizes(type, sizes); });
      collectStrides(func.getArgAttrsAttr(), sizes);
      collectStrides(func.getResAttrsAttr(), sizes);
      func.walk([&](Operation *op) {
        llvm::for_each(op->getResultTypes(), [&](Type type) { collectSizes(type, sizes); });
      });
    }
    // Whatever reads a cache is stepped, and the caller tells each step how much it needs.
    getOperation().walk([&](Operation *op) {
      if (isa<LookupOp, RecallOp>(op))
        sizes.insert("history");
      if (auto write = dyn_cast<WriteStateOp>(op))
        if (SmallVector<StringRef> names = axisNames(tensorOf(write.getValue()));
            llvm::is_contained(names, partAxis))
          sizes.insert(firstOfPart.str());
    });
    SmallVector<StringRef> names(sizes.begin(), sizes.end());
    getOperation()->setAttr("attn.sizes", Builder(&getContext()).getStrArrayAttr(names));
  }
};

} // namespace
} // namespace attn
