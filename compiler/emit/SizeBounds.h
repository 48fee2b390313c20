//===- SizeBounds.h - how large the sizes of an entry may be ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Kernels count the elements of a buffer with 32 bits, and attention has room for so many blocks of keys.

#ifndef ATTNC_COMPILER_EMIT_SIZEBOUNDS_H
#define ATTNC_COMPILER_EMIT_SIZEBOUNDS_H

#include "compiler/emit/BufferView.h"

namespace attnc {

/// `formula` may be at most `most`.
struct SizeBound {
  attn::SizeAttr formula;
  int64_t most = 0;
};

/// The bounds of an entry that makes `calls`, none of which follows from another. Fails with a located error
/// where a constant is past its bound.
mlir::FailureOr<std::vector<SizeBound>> findBounds(llvm::ArrayRef<CallBuffers> calls,
                                                   const PlannedSymbols &symbols);

} // namespace attnc

#endif // ATTNC_COMPILER_EMIT_SIZEBOUNDS_H
