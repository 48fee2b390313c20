//===- AttnVerify.cpp - rules of attn operations ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One labelled check for each constraint that AttnOps.td lists. Result types that follow from operands are checked
// by the inference interface.

#include "dialect/IR/Attn.h"

using namespace mlir;

namespace attn {

static RankedTensorType tensorOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Two extents that must agree: an error says both numbers; a dynamic one agrees with any.
static LogicalResult verifyExtents(Operation *op, int64_t a, const Twine &aName, int64_t b, const Twine &bName) {
  if (ShapedType::isDynamic(a) || ShapedType::isDynamic(b) || a == b)
    return success();
  return op->emitOpError() << aName << " is " << a << ", but " << bName << " is " << b;
}

LogicalResult WeightOp::verify() {
  if (int(bool(getTensors())) + int(bool(getSinusoid())) + int(bool(getValue())) != 1)
    return emitOpError("needs exactly one of 'from', 'sinusoid' and 'value'"); // weight_c1
  return success();
}

LogicalResult EmbedOp::verify() { return success(); }

LogicalResult AddPositionsOp::verify() {
  return verifyExtents(*this, tensorOf(getInput()).getShape().back(), "the input's width", tensorOf(getTable()).getDimSize(1),
                       "the table's width");
}

LogicalResult LinearOp::verify() {
  if (failed(verifyExtents(*this, tensorOf(getInput()).getShape().back(), "the input's width",
                           tensorOf(getWeight()).getDimSize(1), "the weight's width")))
    return failure(); // linear_c1
  if (Value bias = getBias())
    return verifyExtents(*this, tensorOf(getWeight()).getDimSize(0), "the weight's out axis", tensorOf(bias).getDimSize(0),
                         "the bias's"); // linear_c2
  return success();
}

LogicalResult LayerNormOp::verify() { return success(); }
LogicalResult RmsNormOp::verify() { return success(); }
LogicalResult SplitHeadsOp::verify() { return success(); }
LogicalResult MergeHeadsOp::verify() { return success(); }
LogicalResult SliceOp::verify() { return success(); }
LogicalResult CollapseOp::verify() { return success(); }
LogicalResult ExpandOp::verify() { return success(); }
LogicalResult MatmulOp::verify() { return success(); }
LogicalResult PaddingMaskOp::verify() { return success(); }
LogicalResult SoftmaxOp::verify() { return success(); }
LogicalResult MeanHeadsOp::verify() { return success(); }
LogicalResult AppendOp::verify() { return success(); }
LogicalResult LookupOp::verify() { return success(); }
LogicalResult TakeOp::verify() { return success(); }
LogicalResult PickOp::verify() { return success(); }
LogicalResult TopKOp::verify() { return success(); }
LogicalResult RecurrenceOp::verify() { return success(); }
LogicalResult FusedOp::verify() { return success(); }
LogicalResult KernelOp::verify() { return success(); }

/// The type of the symbol that `name` names, if it is a `SymbolOp`.
template <typename SymbolOp>
static LogicalResult verifySymbol(Operation *op, SymbolTableCollection &symbols, FlatSymbolRefAttr name, Type type) {
  auto symbol = symbols.lookupNearestSymbolFrom<SymbolOp>(op, name);
  if (!symbol)
    return op->emitOpError() << name << " is no '" << SymbolOp::getOperationName() << "'";
  if (symbol.getType() == type)
    return success();
  InFlightDiagnostic diagnostic = op->emitOpError() << "has type " << type << ", but " << name << " has " << symbol.getType();
  diagnostic.attachNote(symbol.getLoc()) << "declared here";
  return diagnostic;
}

LogicalResult GetWeightOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifySymbol<WeightOp>(*this, symbols, getWeightAttr(), getType());
}

LogicalResult ReadStateOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifySymbol<StateOp>(*this, symbols, getStateAttr(), getType());
}

LogicalResult WriteStateOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifySymbol<StateOp>(*this, symbols, getStateAttr(), getValue().getType());
}

LogicalResult CallOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (!symbols.lookupNearestSymbolFrom<KernelOp>(*this, getKernelAttr()))
    return emitOpError() << getKernelAttr() << " is no 'attn.kernel'";
  return success();
}

} // namespace attn
