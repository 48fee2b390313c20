//===- KernelBuilder.h - a fused region as a kernel ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Gives a region the types and axis names of its own that make equal work equal, wherever it is called from.

#ifndef ATTNC_DIALECT_TRANSFORMS_KERNELBUILDER_H
#define ATTNC_DIALECT_TRANSFORMS_KERNELBUILDER_H

#include "dialect/IR/Attn.h"

#include "llvm/ADT/SetVector.h"

namespace attn {

/// What an operand of a region's operation is to the kernel.
enum class Role {
  Parameter, // a weight, or a tensor in its place, whose axes have extents of their own
  Rows,      // (row, width), once the axes before the width are collapsed
  RowIds,    // (row), likewise
  Queries,   // batch, head, query, width
  Keys,      // batch, head, key, width
  Scores,    // batch, head, query, key
  OfBatches, // ids: batch
  Table,     // of a score map: its axes have extents of their own
  Positions, // batch, query, ... or batch, head, query, width
  Unchanged,
};

/// An input of a kernel: which of the region's inputs, and as what. One value in two roles is two inputs.
struct KernelInput {
  unsigned number;
  Role role;
  bool operator==(const KernelInput &other) const { return number == other.number && role == other.role; }
};

class KernelBuilder {
public:
  explicit KernelBuilder(FusedOp fused);

  /// Builds a kernel without a name at the builder's place.
  KernelOp build(mlir::OpBuilder &builder);

  /// In the order of the kernel's arguments.
  llvm::ArrayRef<KernelInput> getInputs() const { return inputs; }

  /// True where the kernel works on rows, so that the axes before the width are collapsed for a call.
  bool isCollapsed(const KernelInput &input) const;

private:
  Role findRole(mlir::OpOperand &operand) const;
  Role findAttentionRole(mlir::OpOperand &operand) const;
  void checkRows();
  mlir::RankedTensorType typeOf(const KernelInput &input) const;

  mlir::Value valueOf(const KernelInput &input) const { return values[input.number]; }

  FusedOp fused;
  mlir::OperandRange values; // what the region is given
  /// The region's operations as its results need them: whatever order they came in, equal work looks equal.
  llvm::SetVector<mlir::Operation *> ordered;
  bool isRowByRow = false, isAttention = false, countsPositions = false;
  llvm::SmallVector<KernelInput> inputs;
};

} // namespace attn

#endif // ATTNC_DIALECT_TRANSFORMS_KERNELBUILDER_H
