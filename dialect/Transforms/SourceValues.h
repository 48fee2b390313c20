//===- SourceValues.h - what a decoder computes from its source alone --------===//
// SPDX-License-Identifier: Apache-2.0
//
// Divides the values of `decode` by what they depend on, and moves the source's part to `encode`.

#ifndef ATTNC_DIALECT_TRANSFORMS_SOURCEVALUES_H
#define ATTNC_DIALECT_TRANSFORMS_SOURCEVALUES_H

#include "dialect/IR/StepBuilder.h"

namespace attn {

class SourceValues {
public:
  explicit SourceValues(mlir::func::FuncOp decode);

  bool dependsOnTarget(mlir::Value value) const { return target.contains(value); }
  bool isFromSource(mlir::Value value) const { return source.contains(value) && !target.contains(value); }

  /// Computes in `encode` what the rest of `decode` needs, and writes it to states.
  void moveToEncoder(mlir::func::FuncOp encode, mlir::SymbolTable &symbols);

  StateOp getState(mlir::Value root) const { return states.lookup(root); }
  /// False for a decoder that stands alone.
  bool hasSource() const { return decode.getNumArguments() > 1; }
  mlir::BlockArgument getLengths() const { return decode.getArguments().back(); }
  size_t size() const { return states.size(); }

private:
  void addRoot(mlir::Value needed);
  mlir::Value computeInEncoder(mlir::Value value, mlir::OpBuilder &builder, mlir::IRMapping &mapping);
  std::string nameOf(mlir::Value root);

  mutable mlir::func::FuncOp decode;
  llvm::DenseSet<mlir::Value> source, target;
  llvm::SmallVector<std::pair<mlir::Value, mlir::Value>> roots; // root, and one value that is a view of it
  llvm::DenseMap<mlir::Value, StateOp> states;                  // by root
  llvm::StringMap<int> nameCount;
};

/// Reads source values in one entry.
class EntrySource : public SourceReader {
public:
  /// `lengths` is null where there is no source.
  EntrySource(const SourceValues &values, mlir::Value lengths) : values(values) {
    if (lengths)
      mapping.map(values.getLengths(), lengths);
  }
  bool isFromSource(mlir::Value decoded) const override { return values.isFromSource(decoded); }
  mlir::Value read(mlir::OpBuilder &builder, mlir::Value decoded) override;

private:
  const SourceValues &values;
  mlir::IRMapping mapping;
};

} // namespace attn

#endif // ATTNC_DIALECT_TRANSFORMS_SOURCEVALUES_H
