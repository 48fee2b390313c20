//===- EncodeByParts.cpp - sources are encoded some at a time -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialect/Transforms/Passes.h"

#include "mlir/IR/AttrTypeSubElements.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace attn {

#define GEN_PASS_DEF_ENCODEBYPARTS
#include "dialect/Transforms/Passes.h.inc"

namespace {

/// States lie sentence by sentence, and no kernel is better off with more of them.
bool canBePart(func::FuncOp encode, SymbolTable &symbols) {
  auto writes = encode.getOps<WriteStateOp>();
  return !writes.empty() && encode.getOps<RecurrenceOp>().empty() && encode.getOps<ReadStateOp>().empty() &&
         llvm::all_of(writes, [&](WriteStateOp write) {
           auto state = symbols.lookup<StateOp>(write.getState());
           return state && partOf(cast<RankedTensorType>(state.getType()));
         });
}

/// `batch * source` becomes `part * length`. Prompts fill the slots of their numbers.
StringAttr inPart(StringAttr axis) {
  SmallVector<StringRef> factors;
  axis.getValue().split(factors, " * ");
  llvm::replace(factors, StringRef(batchAxis), StringRef(partAxis));
  llvm::replace(factors, StringRef(slotAxis), StringRef(partAxis));
  llvm::replace(factors, StringRef(sourceAxis), StringRef(lengthAxis));
  std::string name = llvm::join(factors, " * ");
  return StringAttr::get(axis.getContext(), sizeNamed(axis.getContext(), name).str());
}

struct EncodeByParts : impl::EncodeByPartsBase<EncodeByParts> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    if (auto encode = symbols.lookup<func::FuncOp>("encode"); encode && canBePart(encode, symbols))
      renameAxes(encode);
    if (auto prefill = symbols.lookup<func::FuncOp>("prefill"); prefill && !prefill->hasAttr("attn.graph"))
      renameAxes(prefill);
  }

  void renameAxes(func::FuncOp func) {
    AttrTypeReplacer replacer;
    replacer.addReplacement([](AxesAttr axes) -> std::optional<Attribute> {
      return AxesAttr::get(axes.getContext(), llvm::map_to_vector(axes.getNames(), inPart));
    });
    replacer.recursivelyReplaceElementsIn(func, /*replaceAttrs=*/true, /*replaceLocs=*/false,
                                          /*replaceTypes=*/true);
  }
};

} // namespace
} // namespace attn
