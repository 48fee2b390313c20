//===- Attn.h - the attn dialect in C++ ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Everything a pass, the importer or the kernel builder needs to read and write `attn` IR.

#ifndef ATTNC_DIALECT_IR_ATTN_H
#define ATTNC_DIALECT_IR_ATTN_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace attn {

/// One product of a size polynomial: `coefficient * names[0] * names[1] ...`, names sorted.
struct SizeTerm {
  int64_t coefficient;
  llvm::SmallVector<mlir::StringAttr, 2> names;
};
bool operator==(const SizeTerm &a, const SizeTerm &b);
llvm::hash_code hash_value(const SizeTerm &term);

/// How an operation's result at one query position depends on its operands' positions.
enum class QueryBehaviour { RowByRow, Causal, Recurrent, Mixing };

class StepBuilder;

} // namespace attn

#include "dialect/IR/AttnDialect.h.inc"
#include "dialect/IR/AttnEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialect/IR/AttnAttributes.h.inc"
#include "dialect/IR/AttnInterfaces.h.inc"
#define GET_OP_CLASSES
#include "dialect/IR/AttnOps.h.inc"

namespace attn {

/// Names of the axes of `type`, or empty strings where it has no `#attn.axes` encoding.
llvm::SmallVector<llvm::StringRef> axisNames(mlir::RankedTensorType type);

/// Builds a tensor type whose axes are named; `ShapedType::kDynamic` in `shape` makes the axis a size.
mlir::RankedTensorType namedTensor(mlir::MLIRContext *context, llvm::ArrayRef<int64_t> shape,
                                   llvm::ArrayRef<llvm::StringRef> names, mlir::Type element);

} // namespace attn

#endif // ATTNC_DIALECT_IR_ATTN_H
