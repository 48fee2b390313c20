//===- EntryPlan.h - places of one entry's values ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Results and states have their place given; everything else gets one in the entry's arena.

#ifndef ATTNC_DIALECT_TRANSFORMS_ENTRYPLAN_H
#define ATTNC_DIALECT_TRANSFORMS_ENTRYPLAN_H

#include "dialect/Transforms/ArenaPlan.h"

namespace attn {

class EntryPlan {
public:
  EntryPlan(mlir::func::FuncOp func, mlir::SymbolTable &symbols)
      : func(func), symbols(symbols), arena(func.getContext()) {}

  /// Annotates the calls with places. States have their offsets already.
  mlir::LogicalResult run();
  size_t getPlacedCount() const { return arena.size(); }

private:
  struct Planned {
    PlaceAttr place;     // where the place is known from the start
    unsigned number = 0; // otherwise its number in the arena
    mlir::Value shared;  // or the value whose place it takes
  };

  KernelOp kernelOf(CallOp call) { return symbols.lookup<KernelOp>(call.getKernel()); }
  mlir::Value findAppendedCache(CallOp call);
  void number(mlir::Block &block);
  void placeResults();
  void placeYielded(RecurrenceOp recurrence);
  mlir::LogicalResult planOutputs(RecurrenceOp recurrence);
  PlaceAttr findPlace(mlir::Value value);
  mlir::LogicalResult placeWrites();
  mlir::LogicalResult placeInState(CallOp call, mlir::Value cache);
  mlir::Value findOnlyNorm(CallOp call, mlir::OpResult result);
  mlir::LogicalResult planCall(CallOp call, unsigned at);
  mlir::FailureOr<unsigned> addToArena(mlir::Operation *op, SizeAttr bytes, unsigned begin, unsigned end);
  unsigned findLastUse(mlir::Value value);
  void annotate(CallOp call);
  PlaceAttr makePlace(Memory memory, SizeAttr offset, mlir::Value value);

  mlir::func::FuncOp func;
  mlir::SymbolTable &symbols;
  ArenaPlan arena;
  llvm::DenseMap<mlir::Operation *, unsigned> order; // of a recurrence: its end, after its body
  llvm::DenseMap<mlir::Value, Planned> planned;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<unsigned>> scratch;
};

} // namespace attn

#endif // ATTNC_DIALECT_TRANSFORMS_ENTRYPLAN_H
