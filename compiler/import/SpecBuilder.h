//===- SpecBuilder.h - what importing models and graphs has in common ------===//
// SPDX-License-Identifier: Apache-2.0
//
// A builder that knows the spec's file, and the two importers it serves.

#ifndef ATTNC_IMPORT_SPECBUILDER_H
#define ATTNC_IMPORT_SPECBUILDER_H

#include "compiler/spec/Spec.h"
#include "dialect/IR/Attn.h"

#include "llvm/ADT/StringMap.h"

namespace attnc {

/// One argument or result of an entry.
struct EntryValue {
  llvm::StringRef name;
  mlir::RankedTensorType type;
};

/// A table that expressions read.
struct ScoreTable {
  llvm::StringRef name;
  mlir::Value value;
};

/// What a score map computes; null: the score as it is, and no mask.
struct ScoreMapText {
  const ScoreExpression *score, *mask;
};

/// What a recurrence reads: see `attn.recurrence`.
struct RecurrenceInputs {
  llvm::SmallVector<mlir::Value> sequences, initial, constants;
  mlir::Value lengths; // may be null
  bool isReversed = false;
};

class SpecBuilder : public mlir::OpBuilder {
public:
  SpecBuilder(const Spec &spec, mlir::ModuleOp module);

  mlir::Location at(Location where);

  /// Declares a weight at the end of the module's weights; attributes that are null are left out.
  attn::WeightOp declareWeight(mlir::Location where, llvm::StringRef symbol, llvm::ArrayRef<int64_t> shape);

  /// Declares all weights of the model, by their symbols.
  llvm::StringMap<attn::WeightOp> declareWeights(const ModelSpec &model);

  /// Asks for the type that the spec gives to the matrix `tensor` of the weight file.
  void setStorage(attn::WeightOp weight, llvm::StringRef tensor);

  /// Whether products of which neither side is a weight may be rounded.
  bool roundsProducts() const { return spec.types.roundsProducts(); }

  /// Builds a recurrence whose body yields what `writeBody` gives.
  attn::RecurrenceOp
  createRecurrence(mlir::Location where, mlir::TypeRange results, const RecurrenceInputs &inputs,
                   llvm::function_ref<llvm::SmallVector<mlir::Value>(attn::RecurrenceOp)> writeBody);

  /// Starts a function at the end of the module and leaves the builder in its body.
  mlir::func::FuncOp startEntry(mlir::Location where, llvm::StringRef name,
                                llvm::ArrayRef<EntryValue> arguments);

  /// Returns the values from the entry, whose type then follows.
  void finishEntry(mlir::func::FuncOp entry, mlir::ValueRange values, llvm::ArrayRef<llvm::StringRef> names);

  mlir::IntegerAttr integerOrNull(const std::optional<int64_t> &value) {
    return value ? getI64IntegerAttr(*value) : mlir::IntegerAttr();
  }

  /// Writes expressions as the body of a score map.
  attn::ScoreMapOp createScoreMap(mlir::Location where, mlir::Value scores, const ScoreMapText &text,
                                  llvm::ArrayRef<ScoreTable> tables);

  /// Reads a weight that was declared.
  mlir::Value getWeight(mlir::Location where, attn::WeightOp weight);

private:
  const Spec &spec;
  mlir::StringAttr file;
  mlir::ModuleOp module;
};

void importModel(const Spec &spec, mlir::ModuleOp module);
void importRecurrent(const Spec &spec, mlir::ModuleOp module);
mlir::LogicalResult importGraph(const Spec &spec, const GraphSpec &graph, mlir::ModuleOp module);

} // namespace attnc

#endif // ATTNC_IMPORT_SPECBUILDER_H
