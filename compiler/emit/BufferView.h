//===- BufferView.h - where each value of a planned entry lies -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Follows the places and views of a planned entry to one description per value: memory, offset, extents,
// strides. Views cost nothing at run time: what they do is worked out here, in size formulas.

#ifndef ATTNC_COMPILER_EMIT_BUFFERVIEW_H
#define ATTNC_COMPILER_EMIT_BUFFERVIEW_H

#include "dialect/IR/Attn.h"
#include "llvm/ADT/DenseMap.h"

namespace attnc {

/// A strided window of one memory. Axes are in the order of the type, slowest first; strides count elements.
struct BufferView {
  attn::Memory memory = attn::Memory::arena;
  int64_t tensor = 0;    // which argument or result of the entry, where `memory` is one
  attn::SizeAttr offset; // bytes from the start of the memory
  llvm::SmallVector<attn::SizeAttr, 4> extents;
  llvm::SmallVector<attn::SizeAttr, 4> strides;
  mlir::Type element;
  attn::SizeAttr pace; // bytes from one position of a loop to the next; null where all see the same
};

/// The buffers of one kernel call in the order the kernel takes them: inputs, results, scratch.
struct CallBuffers {
  attn::CallOp call;
  int64_t kernel = 0; // number in the kernel table
  llvm::SmallVector<BufferView, 8> buffers;
};

/// Calls `begin` up to `end` of an entry, made for each position.
struct CallLoop {
  attn::SizeAttr positions;
  bool isReversed = false;
  size_t begin = 0, end = 0;
};

/// Rows of sentences that were computed one after the other, and are to lie further apart in a state.
struct SpreadRows {
  BufferView computed;  // sentence x position x ...
  attn::SizeAttr apart; // bytes from one sentence to the next in the state
};

/// The calls of an entry in order, the loops among them, which do not overlap, and what is spread at the end.
struct EntryCalls {
  std::vector<CallBuffers> calls;
  std::vector<CallLoop> loops;
  std::vector<SpreadRows> spread;
};

/// The extents of a value of `type` inside `kernel`, called with `buffers`: names of axes are the kernel's
/// own there, and what they stand for, its inputs tell. Other names are sizes of the entry.
llvm::SmallVector<attn::SizeAttr, 4> extentsInCall(mlir::RankedTensorType type, attn::KernelOp kernel,
                                                   llvm::ArrayRef<BufferView> buffers);

/// Kernels, weights and states of a planned module by name.
class PlannedSymbols {
public:
  explicit PlannedSymbols(mlir::ModuleOp module);
  llvm::DenseMap<mlir::StringAttr, attn::WeightOp> weights;
  llvm::DenseMap<mlir::StringAttr, attn::StateOp> states;
  llvm::DenseMap<mlir::StringAttr, std::pair<attn::KernelOp, int64_t>>
      kernels; // with the number in the table
};

/// The calls of `entry`, or failure after a located error.
mlir::FailureOr<EntryCalls> followViews(mlir::func::FuncOp entry, const PlannedSymbols &symbols);

} // namespace attnc

#endif // ATTNC_COMPILER_EMIT_BUFFERVIEW_H
