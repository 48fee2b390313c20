//===- KernelCache.h - kernels that were compiled before -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A folder with the objects of kernels, by all that they depend on. Any number of processes may use it at
// once.

#ifndef ATTNC_COMPILER_EMIT_KERNELCACHE_H
#define ATTNC_COMPILER_EMIT_KERNELCACHE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <string>

namespace attnc {

/// What the object of a kernel depends on beside the compiler.
struct KernelRequest {
  llvm::StringRef text;     // of the attn.kernel
  llvm::StringRef target;   // of a CpuVariant
  llvm::StringRef schedule; // the text of what is chosen; empty: by rules
  llvm::StringRef symbol;   // of the function
};

struct CompiledKernel {
  std::string object;
  bool isTuned = false; // its schedule is another than that of rules
};

class KernelCache {
public:
  /// Makes the folder where there is none.
  static llvm::Expected<KernelCache> open(llvm::StringRef folder);

  /// What was kept for `request` by this very compiler; nothing where nothing was, or it is damaged.
  std::optional<CompiledKernel> find(const KernelRequest &request) const;
  /// Keeps nothing where the folder cannot be written or the disk is full: compiling again is all that costs.
  void keep(const KernelRequest &request, const CompiledKernel &kernel) const;
  /// Removes what nobody asked for in four weeks, and what was asked for longest ago where all takes more
  /// than 1 GiB. Looks at most once in twenty minutes.
  void prune() const;

private:
  KernelCache(llvm::StringRef folder, llvm::StringRef compiler);
  std::string pathOf(const KernelRequest &request) const;

  std::string folder;
  std::string compiler; // this program and its libraries
};

} // namespace attnc

#endif // ATTNC_COMPILER_EMIT_KERNELCACHE_H
