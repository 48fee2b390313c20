//===- CodeWriter.h - LLVM code that grows at the end of a block -----------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ATTNC_COMPILER_EMIT_CODEWRITER_H
#define ATTNC_COMPILER_EMIT_CODEWRITER_H

#include "compiler/emit/BinaryInterface.h"
#include "compiler/emit/PlannedModule.h"

namespace attnc {

/// Writes code at the end of a block; knows where the sizes are.
class CodeWriter {
public:
  /// `sizeNames` in the order of the vector of sizes; it must live as long as the writer.
  CodeWriter(mlir::Block *block, mlir::Location loc, const std::vector<std::string> &sizeNames)
      : builder(mlir::OpBuilder::atBlockEnd(block)), types(builder.getContext()), loc(loc),
        sizeNames(sizeNames) {}

  mlir::OpBuilder builder;
  InterfaceTypes types;
  mlir::Location loc;

  mlir::Value constant(mlir::Type type, int64_t value);
  mlir::Value address(mlir::Type type, mlir::Value base, mlir::ArrayRef<mlir::LLVM::GEPArg> indices);
  mlir::Value load(mlir::Type type, mlir::Value from);
  void store(mlir::Value value, mlir::Value to);

  /// The vector of sizes, before the first call of evaluate().
  void setSizes(mlir::Value pointer) { sizes = pointer; }

  /// A formula's value as i64. A value computed once serves from there on, but for what a loop computes: see
  /// forget().
  mlir::Value evaluate(attn::SizeAttr formula);

  using Known = llvm::DenseMap<mlir::Attribute, mlir::Value>;
  const Known &known() const { return values; }
  /// Forgets what was computed since, where that does not come before what follows.
  void forget(Known before) { values = std::move(before); }

  /// Whether `formula` is above `bound.most`, or a size in it below 0. An empty axis counts as one of 1, so
  /// that one product can stand for its factors. Doubles cannot overflow, and are exact up to 2^53, which is
  /// above all bounds.
  mlir::Value isBroken(const SizeBound &bound);

private:
  const std::vector<std::string> &sizeNames;
  mlir::Value sizes;
  Known values; // of formulas, and of sizes by name

  mlir::Value size(mlir::StringAttr name);
};

} // namespace attnc

#endif // ATTNC_COMPILER_EMIT_CODEWRITER_H
