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

void attn::AttnDialect::initialize() {
  registerAttributes();
  addOperations<
#define GET_OP_LIST
#include "dialect/IR/AttnOps.cpp.inc"
      >();
}
