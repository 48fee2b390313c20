//===- KernelWork.h - how much a call of a kernel does ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Formulas of what one call computes and touches, for profiles: what the kernel has to do, not what it does.

#ifndef ATTNC_COMPILER_EMIT_KERNELWORK_H
#define ATTNC_COMPILER_EMIT_KERNELWORK_H

#include "compiler/emit/BufferView.h"

namespace attnc {

struct KernelWork {
  /// Multiplications and additions of matmuls. A causal mask leaves half of them; keys that lengths or
  /// windows mask count.
  attn::SizeAttr operations;
  /// Of everything read or written, each byte once, but for tables and caches that are read in rows.
  attn::SizeAttr bytes;
  /// Bytes of the rows that are looked up, and of all that there are: several rows may be one, as those that
  /// beams read of their source are, so what is touched is the smaller number at most.
  struct Rows {
    attn::SizeAttr lookedUp, all;
  };
  llvm::SmallVector<Rows> rows;
};

/// `sizes` are the module's: axes that no operand of the call has (`history`) are known by these names.
KernelWork countWork(const CallBuffers &call, attn::KernelOp kernel, llvm::ArrayRef<std::string> sizes);

} // namespace attnc

#endif // ATTNC_COMPILER_EMIT_KERNELWORK_H
