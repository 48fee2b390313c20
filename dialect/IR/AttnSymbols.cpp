//===- AttnSymbols.cpp - rules about weights, states and kernels --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Whether a name is declared, and declared as what its user takes it for.

#include "dialect/IR/Attn.h"

using namespace mlir;

namespace attn {

/// get_weight_c1, read_state_c1, write_state_c1
template <typename SymbolOp>
static LogicalResult verifySymbol(Operation *op, SymbolTableCollection &symbols, FlatSymbolRefAttr name,
                                  Type type) {
  auto symbol = symbols.lookupNearestSymbolFrom<SymbolOp>(op, name);
  if (!symbol)
    return op->emitOpError() << name << " is no '" << SymbolOp::getOperationName() << "'";
  if (symbol.getType() == type)
    return success();
  InFlightDiagnostic diagnostic = op->emitOpError()
                                  << "has type " << type << ", but " << name << " has " << symbol.getType();
  diagnostic.attachNote(symbol.getLoc()) << "declared here";
  return diagnostic;
}

LogicalResult GetWeightOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifySymbol<WeightOp>(*this, symbols, getWeightAttr(), getType());
}

/// All of a state, or a part of it.
static LogicalResult verifyState(Operation *op, SymbolTableCollection &symbols, FlatSymbolRefAttr name,
                                 Type type) {
  auto state = symbols.lookupNearestSymbolFrom<StateOp>(op, name);
  if (state && type == partOf(cast<RankedTensorType>(state.getType())))
    return success();
  return verifySymbol<StateOp>(op, symbols, name, type);
}

LogicalResult ReadStateOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyState(*this, symbols, getStateAttr(), getType());
}

LogicalResult WriteStateOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyState(*this, symbols, getStateAttr(), getValue().getType());
}

SizeAttr StateOp::beginOf(Type part) {
  auto type = cast<RankedTensorType>(getType());
  SizeAttr begin = *getOffset();
  if (part == type)
    return begin;
  SizeAttr bytes = SizeAttr::getNamed(getContext(), firstOfPart).times(type.getElementTypeBitWidth() / 8);
  for (unsigned axis = 1; axis < type.getRank(); ++axis)
    bytes = bytes.times(extentOf(type, axis));
  return begin.plus(bytes);
}

/// True where a kernel that is compiled for `inside` can be given `outside`.
static bool fits(Type inside, Type outside) {
  auto a = cast<RankedTensorType>(inside), b = cast<RankedTensorType>(outside);
  if (a.getRank() != b.getRank() || a.getElementType() != b.getElementType())
    return false;
  if (isa_and_nonnull<PanelsAttr>(a.getEncoding()) != isa_and_nonnull<PanelsAttr>(b.getEncoding()))
    return false;
  return llvm::all_of(llvm::zip(a.getShape(), b.getShape()), [](auto extents) {
    return ShapedType::isDynamic(std::get<0>(extents)) || std::get<0>(extents) == std::get<1>(extents);
  });
}

static LogicalResult verifyFits(CallOp call, TypeRange inside, TypeRange outside, StringRef what) {
  if (inside.size() != outside.size())
    return call.emitOpError() << "has " << outside.size() << " " << what << ", but " << call.getKernelAttr()
                              << " has " << inside.size();
  for (auto [number, types] : llvm::enumerate(llvm::zip(inside, outside)))
    if (!fits(std::get<0>(types), std::get<1>(types)))
      return call.emitOpError() << "has " << std::get<1>(types) << " as number " << number << " of its "
                                << what << ", but " << call.getKernelAttr() << " takes "
                                << std::get<0>(types);
  return success();
}

LogicalResult CallOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto kernel = symbols.lookupNearestSymbolFrom<KernelOp>(*this, getKernelAttr());
  if (!kernel)
    return emitOpError() << getKernelAttr() << " is no 'attn.kernel'"; // call_c1
  auto yield = cast<YieldOp>(kernel.getBody().front().getTerminator());
  if (failed(verifyFits(*this, kernel.getBody().getArgumentTypes(), getInputs().getTypes(), "inputs")) ||
      failed(verifyFits(*this, yield->getOperandTypes(), getResultTypes(), "results")))
    return failure(); // call_c2
  size_t needed = kernel.getScratch() ? kernel.getScratch()->size() : 0;
  if (getScratch() && getScratch()->size() != needed)
    return emitOpError() << "has " << getScratch()->size() << " places for scratch, but " << getKernelAttr()
                         << " needs " << needed; // call_c4
  return success();
}

} // namespace attn
