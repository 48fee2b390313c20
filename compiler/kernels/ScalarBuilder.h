//===- ScalarBuilder.h - the body of a score map as expressions -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One expression for each value, and what is known of a score before the score map's own score is.

#ifndef ATTNC_KERNELS_SCALAR_BUILDER_H
#define ATTNC_KERNELS_SCALAR_BUILDER_H

#include "compiler/kernels/Tensor.h"
#include "dialect/IR/Attn.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace attnc {

/// Conditions that are true where they are not defined: nothing hides the key.
Halide::Expr both(const Halide::Expr &a, const Halide::Expr &b);

/// True but for scores that are masked, by what a mask from outside or a constant holds.
Halide::Expr isUnmasked(const Halide::Expr &score);

/// Expressions of the values in a score map's body, for one score. Operations are built in their order.
class ScalarBuilder {
public:
  /// `score`: the body's first argument.
  explicit ScalarBuilder(mlir::Value score) { ofScore.insert(score); }

  void set(mlir::Value value, Halide::Expr expression) { values[value] = std::move(expression); }
  void setTable(mlir::Value value, Tensor table) { tables[value] = std::move(table); }
  void build(mlir::Operation &op);

  Halide::Expr get(mlir::Value value) const { return values.lookup(value); }
  /// Whether a number may be other than minus infinity, from conditions and masks that do not depend on the
  /// score. Not defined: it may be anywhere.
  Halide::Expr mayBeSeen(mlir::Value value) const { return seen.lookup(value); }

private:
  Halide::Expr expressionOf(mlir::Operation &op) const;
  Halide::Expr elementOf(attn::ElementOp element) const;
  Halide::Expr seenOf(mlir::Operation &op) const;

  llvm::DenseMap<mlir::Value, Halide::Expr> values, seen;
  llvm::DenseMap<mlir::Value, Tensor> tables;
  llvm::DenseSet<mlir::Value> ofScore; // what depends on the score
};

/// Whether an operation in the body of a score map can be part of a kernel.
bool isScalarSupported(mlir::Operation *op);

} // namespace attnc

#endif // ATTNC_KERNELS_SCALAR_BUILDER_H
