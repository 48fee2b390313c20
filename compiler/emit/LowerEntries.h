//===- LowerEntries.h - planned entries as LLVM functions ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Phase `llvm`: each entry becomes `int32_t NAME.run.ENTRY(const attnrt_invocation *)`
// (runtime/include/attnrt/bundle.h), which fills Halide buffers on its stack and calls kernels through the
// table. It allocates nothing.

#ifndef ATTNC_COMPILER_EMIT_LOWERENTRIES_H
#define ATTNC_COMPILER_EMIT_LOWERENTRIES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>
#include <vector>

namespace attnc {

/// The kernels of one variant, in the order of the kernel table.
struct VariantSymbols {
  std::string name;
  std::string features; // as in /proc/cpuinfo, separated by spaces
  std::vector<std::string> kernels;
};

/// Lowers every function of `planned` to LLVM dialect in a module of its own; null after a located error.
mlir::OwningOpRef<mlir::ModuleOp> lowerEntries(mlir::ModuleOp planned, llvm::StringRef bundle);

/// Adds the data `BUNDLE_descriptor` to what lowerEntries made of `planned`.
void addDescriptor(mlir::ModuleOp lowered, mlir::ModuleOp planned, llvm::StringRef bundle,
                   llvm::ArrayRef<VariantSymbols> variants, llvm::StringRef manifestHash);

} // namespace attnc

#endif // ATTNC_COMPILER_EMIT_LOWERENTRIES_H
