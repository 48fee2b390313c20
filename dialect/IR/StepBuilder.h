//===- StepBuilder.h - values of a decoder at one new position ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What QueryAxisInterface::buildStep works with: the step's values, its positions and its caches.

#ifndef ATTNC_DIALECT_IR_STEPBUILDER_H
#define ATTNC_DIALECT_IR_STEPBUILDER_H

#include "dialect/IR/Attn.h"

#include "llvm/ADT/StringMap.h"

namespace attn {

/// Gives `op` the result types that follow from its operands, and a score map's body its tables' types.
void inferResultTypes(mlir::Operation *op);

/// Clones `op` with mapped operands and infers its result types anew.
mlir::Operation *cloneInferred(mlir::OpBuilder &builder, mlir::Operation &op, mlir::IRMapping &mapping);

/// The inputs of a step, one entry for each live row. A prefill is a step over all positions of prompts: its
/// rows begin at position 0 and have no ancestors.
struct StepInputs {
  mlir::Value positions; // row
  mlir::Value ancestors; // row x capacity; null in a prefill
  mlir::Value sources;   // row; null where there is no source
};

/// What the step reads besides its inputs: values that depend on the source alone, kept by `encode`.
class SourceReader {
public:
  virtual ~SourceReader() = default;
  virtual bool isFromSource(mlir::Value decoded) const = 0;
  /// The value as an entry reads it, still one for each sentence (`batch`).
  virtual mlir::Value read(mlir::OpBuilder &builder, mlir::Value decoded) = 0;
};

class StepBuilder {
public:
  StepBuilder(mlir::OpBuilder &builder, StepInputs inputs, SourceReader &sources, mlir::SymbolTable &symbols)
      : builder(builder), inputs(inputs), sources(sources), symbols(symbols) {}

  mlir::OpBuilder &getBuilder() { return builder; }
  mlir::Value getPositions() const { return inputs.positions; }
  bool isPrefill() const { return !inputs.ancestors; }

  /// Lengths of the rows' histories: `positions + 1`.
  mlir::Value getLengths(mlir::Location loc);

  bool isFromSource(mlir::Value decoded) const { return sources.isFromSource(decoded); }

  /// The step's value for a value of `decode`. What depends on the source alone is taken for each row's
  /// sentence.
  mlir::Value lookup(mlir::Value decoded);

  void map(mlir::Value decoded, mlir::Value stepped) { mapping.map(decoded, stepped); }

  /// Writes new keys or values (row, head, query, width) to a cache and gives what each row may look at: its
  /// history (row, head, history, width), or, in a prefill, what was written.
  mlir::Value appendToCache(mlir::Value fresh, llvm::StringRef name);

  /// The cache of a recurrence's state, by the order in which they are asked for: two positions of each slot.
  StateOp findOrCreateStateCache(mlir::Value initial);

  /// What each row's hypothesis kept in `cache` at its last position; `initial` (row, 1, width) at position
  /// 0.
  mlir::Value recall(StateOp cache, mlir::Value initial);

  /// Keeps a new state (row, 1, width) for the rows that follow.
  void keep(mlir::Value fresh, StateOp cache);

  /// Builds `op` as one that acts row by row.
  mlir::Operation *buildRowByRow(mlir::Operation &op);

  /// Builds `op`, which counts queries from `starts` on, so that it counts from the rows' positions.
  template <typename Op> mlir::LogicalResult buildFromPositions(Op op) {
    if (op.getStarts())
      return op.emitOpError("already starts at given positions, so no step can be derived");
    auto stepped = mlir::cast<Op>(buildRowByRow(*op.getOperation()));
    if (!isPrefill()) // whose queries count from 0
      stepped.getStartsMutable().assign(inputs.positions);
    return mlir::success();
  }

  /// The key side of scores or context in the step: from a source's state, or through a cache of its own.
  mlir::FailureOr<mlir::Value> buildKeys(mlir::Operation *op, mlir::Value keys, llvm::StringRef name);

private:
  StateOp findOrCreateCache(mlir::RankedTensorType type, mlir::Location loc, llvm::StringRef name);
  mlir::Value append(mlir::Value fresh, StateOp cache);

  mlir::OpBuilder &builder;
  StepInputs inputs;
  SourceReader &sources;
  mlir::SymbolTable &symbols;
  mlir::IRMapping mapping;
  llvm::StringMap<int> cacheCount; // caches built so far, by the stem of their names
  mlir::Value lengths;
};

} // namespace attn

#endif // ATTNC_DIALECT_IR_STEPBUILDER_H
