//===- CompileKernels.h - all kernels of a bundle, in parallel -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Each kernel is compiled by a process of its own: Halide counts names per process, so this keeps objects
// equal from run to run, and a crash costs one kernel and not the compiler.

#ifndef ATTNC_COMPILER_EMIT_COMPILEKERNELS_H
#define ATTNC_COMPILER_EMIT_COMPILEKERNELS_H

#include "compiler/emit/CpuVariant.h"
#include "mlir/IR/BuiltinOps.h"

#include <functional>

namespace attnc {

struct KernelObject {
  std::string kernel;  // in the module
  std::string variant; // its name
  std::string symbol;  // of the compiled function
  std::string path;
  bool addsBfloats = false; // calls a function of emit/shim that adds up products of bfloat16
};

/// What a progress display needs: the kernel being started, its number from 1, and how many there are.
using KernelProgress = std::function<void(const KernelObject &object, size_t number, size_t total)>;

/// Compiles every kernel of `planned` for every variant into `folder`, in the order variant by variant,
/// kernel by kernel. `compiler` is the program that understands `compile-kernel FILE --target T --symbol S -o
/// OBJECT`.
llvm::Expected<std::vector<KernelObject>> compileKernels(mlir::ModuleOp planned, llvm::StringRef bundle,
                                                         llvm::ArrayRef<CpuVariant> variants,
                                                         llvm::StringRef compiler, llvm::StringRef folder,
                                                         const KernelProgress &progress);

} // namespace attnc

#endif // ATTNC_COMPILER_EMIT_COMPILEKERNELS_H
