//===- KernelWork.h - how much a call of a kernel does ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Formulas of what one call computes and touches, for profiles: what the kernel has to do, not what it does.

#ifndef ATTNC_COMPILER_EMIT_KERNELWORK_H
#define ATTNC_COMPILER_EMIT_KERNELWORK_H

#include "compiler/emit/BufferView.h"

namespace attnc {

struct KernelWork {
  /// Multiplications and additions of matmuls. A causal mask leaves half of them; keys that lengths mask
  /// count.
  attn::SizeAttr operations;
  /// Of everything read or written, each byte once. Tables and caches count with the rows that are looked up.
  attn::SizeAttr bytes;
};

/// `sizes` are the module's: axes that no operand of the call has (`history`) are known by these names.
KernelWork countWork(const CallBuffers &call, attn::KernelOp kernel, llvm::ArrayRef<std::string> sizes);

} // namespace attnc

#endif // ATTNC_COMPILER_EMIT_KERNELWORK_H
