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

/// The attribute of modules whose caches of keys and values are of bf16.
inline constexpr llvm::StringLiteral roundsCaches = "attn.rounds_caches";

/// One product of a size polynomial: `coefficient * names[0] * names[1] ...`, names sorted.
struct SizeTerm {
  int64_t coefficient;
  mlir::ArrayAttr names; // of StringAttr
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

/// Columns of a weight's panel on every target: two AVX-512 registers, four AVX2 ones or eight SSE ones of
/// floats.
inline constexpr int64_t panelColumns = 32;

/// A block of queries, or of values, of a wider head would not fit on a kernel's stack: such attention is not
/// fused.
inline constexpr int64_t widestHead = 1024;

/// Weights in groups and quantised rows are filled up to so many bytes: what one matrix instruction takes at
/// once.
inline constexpr int64_t rowBytes = 64;

/// The extents of a matrix in panels as it lies in memory, slowest first: panels, groups of inputs (filled
/// up), columns and, where there are groups, inputs of a group.
llvm::SmallVector<int64_t> panelExtents(mlir::RankedTensorType type);

/// Names of the axes of `type`, or empty strings where it has no `#attn.axes` encoding.
llvm::SmallVector<llvm::StringRef> axisNames(mlir::RankedTensorType type);

/// Builds a tensor type whose axes are named; `ShapedType::kDynamic` in `shape` makes the axis a size.
mlir::RankedTensorType namedTensor(mlir::MLIRContext *context, llvm::ArrayRef<int64_t> shape,
                                   llvm::ArrayRef<llvm::StringRef> names, mlir::Type element);

/// The type of a value that is a tensor.
inline mlir::RankedTensorType tensorOf(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType());
}

/// Sentences of a request and the positions of its longest source; the same of those sentences that `encode`
/// or `prefill` works on at a time, from number `firstOfPart` on. A prompt's number is that of its slot.
inline constexpr llvm::StringLiteral batchAxis = "batch", sourceAxis = "source", slotAxis = "slot",
                                     partAxis = "part", lengthAxis = "length", firstOfPart = "first";

/// What the name of an axis says: `batch`, `batch * source`.
SizeAttr sizeNamed(mlir::MLIRContext *context, llvm::StringRef name);

/// `type` with `partAxis` for its first axis, `batchAxis` or `slotAxis`, and `lengthAxis` where the second is
/// `sourceAxis`; null where the first has another name or a further one is `sourceAxis`.
mlir::RankedTensorType partOf(mlir::RankedTensorType type);

/// The extent of an axis: a constant, or what the name of a dynamic axis says.
/// Null where a dynamic axis has no name.
SizeAttr extentOf(mlir::RankedTensorType type, unsigned axis);

/// Bytes of a dense value: the product of its extents and its element's size; null where an extent is not
/// known.
SizeAttr bytesOf(mlir::RankedTensorType type);

/// `type` with its first two axes as one: what `attn.collapse` gives.
mlir::RankedTensorType collapsedType(mlir::RankedTensorType type);

/// The type of one position of a sequence: `(batch, 1, width)`, or of ids `(batch, 1)`.
mlir::RankedTensorType positionOf(mlir::RankedTensorType sequence);

/// True for operations that only look at memory in another way: split_heads, merge_heads, slice, select,
/// collapse, expand.
bool isView(mlir::Operation *op);

/// True for operations that make scores of queries (operand 0) and keys (operand 1): matmul, additive_scores.
bool makesScores(mlir::Operation *op);

/// True for operations that may stand between what makes scores and the softmax: masks, maps and pointwise
/// operations.
bool actsOnScores(mlir::Operation *op);

/// The operand through which `op` gets the scores it acts on. A bias may stand on either side of an add.
mlir::Value scoresOperand(mlir::Operation *op);

/// The operation that makes the scores which `scores` are computed from, or null.
mlir::Operation *findScores(mlir::Value scores);

} // namespace attn

#endif // ATTNC_DIALECT_IR_ATTN_H
