//===- AttnDialect.cpp - registers the attn dialect -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The dialect's operations and attributes, entered once per context.

#include "dialect/IR/Attn.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

#include "dialect/IR/AttnDialect.cpp.inc"
#include "dialect/IR/AttnInterfaces.cpp.inc"

/// What the arguments and results of entries are called, and how they lie in memory.
static LogicalResult verifyEntryValue(Operation *op, NamedAttribute attribute) {
  if (attribute.getName() == "attn.name" && !isa<StringAttr>(attribute.getValue()))
    return op->emitOpError("has an 'attn.name' that is not a string");
  if (attribute.getName() != "attn.strides")
    return success();
  auto strides = dyn_cast<ArrayAttr>(attribute.getValue());
  if (!strides || !llvm::all_of(strides, llvm::IsaPred<attn::SizeAttr>))
    return op->emitOpError("has 'attn.strides' that are no list of '#attn.size'");
  return success();
}

LogicalResult attn::AttnDialect::verifyRegionArgAttribute(Operation *op, unsigned, unsigned,
                                                          NamedAttribute attribute) {
  return verifyEntryValue(op, attribute);
}

LogicalResult attn::AttnDialect::verifyRegionResultAttribute(Operation *op, unsigned, unsigned,
                                                             NamedAttribute attribute) {
  return verifyEntryValue(op, attribute);
}

void attn::AttnDialect::initialize() {
  registerAttributes();
  addOperations<
#define GET_OP_LIST
#include "dialect/IR/AttnOps.cpp.inc"
      >();
}
