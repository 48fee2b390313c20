//===- Fusion.h - turns operations into a fused region -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What all fusions share: making the region, finding the next operation of a chain, and saying what was done.

#ifndef ATTNC_DIALECT_TRANSFORMS_FUSION_H
#define ATTNC_DIALECT_TRANSFORMS_FUSION_H

#include "dialect/IR/Attn.h"

namespace attn {

/// Operations that become one region, in the order of the block; the last one's place becomes the region's
/// place.
struct Group {
  llvm::SmallVector<mlir::Operation *> members;
  /// Members whose results stay inside even if others read them: those read their own copy.
  llvm::SmallPtrSet<mlir::Operation *, 4> selectors;
  /// Values that are yielded whether or not somebody reads them.
  llvm::SmallPtrSet<void *, 2> alwaysYielded;
};

/// The blocks in which there is work to fuse: the function's own, and the bodies of its recurrences.
llvm::SmallVector<mlir::Block *> workBlocks(mlir::func::FuncOp func);

/// True for add, mul, activation, scale and increment.
bool isPointwise(mlir::Operation *op);
bool isNorm(mlir::Operation *op);

/// The only operation that reads `value`, or null.
mlir::Operation *onlyReader(mlir::Value value);

/// The operation of `group`'s block that may follow as its next member: it reads `value`, and moving the
/// group down to it moves no result past a reader. Null where `accepts` takes none.
mlir::Operation *findNext(const Group &group, mlir::Value value,
                          llvm::function_ref<bool(mlir::Operation *)> accepts);

/// Takes the norm that reads `last` in, if there is one: the kernel's second stage, which needs `last` whole.
void addNorm(Group &group, mlir::Value last);

/// Replaces the group by an `attn.fused` and tells so in a remark. Sorts the members first.
FusedOp fuse(Group group, llvm::StringRef what);

/// Whether a region can round a value that it computes before it is written: the last stage of its kernel is
/// one of elements, gives no other result, and nothing in it reads the value from memory.
bool canRound(mlir::Value result);

/// Rounds such a value, which is of bf16 then.
void roundResult(mlir::OpResult result);

/// A remark of `attnc explain`: why something was not fused.
void explainUnfused(mlir::Operation *op, const llvm::Twine &reason);

/// Says of the regions of a block, once all work is in regions, why neighbours are apart.
void explainApart(mlir::Block &block);

/// The operations of a chain from a linear of `input` to `value`, if nothing else reads any of them.
llvm::SmallVector<mlir::Operation *> findGate(mlir::Value value, mlir::Value input);

} // namespace attn

#endif // ATTNC_DIALECT_TRANSFORMS_FUSION_H
