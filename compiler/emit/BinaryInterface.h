//===- BinaryInterface.h - C structures as LLVM types ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The structures of attnrt/bundle.h and HalideRuntime.h that generated code reads and writes, field by field.

#ifndef ATTNC_COMPILER_EMIT_BINARYINTERFACE_H
#define ATTNC_COMPILER_EMIT_BINARYINTERFACE_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"

namespace attnc {

/// A symbol that only the bundle itself sees: `BUNDLE.what`. No name of a spec holds a dot, so none is in its
/// way, and the first word of `what` says what it is, so these do not meet either.
inline std::string localSymbol(llvm::StringRef bundle, const llvm::Twine &what) {
  return (bundle + "." + what).str();
}

/// Field numbers of attnrt_invocation.
enum class InvocationField : int32_t { Context, Tensors, Sizes, Arena, State, Weights, Kernels };

/// Field numbers of attnrt_kernel_context.
enum class ContextField : int32_t { ParallelFor, ReportError, Watcher };

/// Field numbers of halide_buffer_t.
enum class BufferField : int32_t { Device, Interface, Host, Flags, Type, Rank, Axes, Padding };

/// Field numbers of halide_dimension_t.
enum class AxisField : int32_t { Min, Extent, Stride, Flags };

struct InterfaceTypes {
  explicit InterfaceTypes(mlir::MLIRContext *context);
  mlir::Type pointer, int8, int16, int32, int64;
  mlir::LLVM::LLVMStructType invocation;    // attnrt_invocation
  mlir::LLVM::LLVMStructType kernelContext; // attnrt_kernel_context
  mlir::LLVM::LLVMStructType axis;          // halide_dimension_t
  mlir::LLVM::LLVMStructType buffer;        // halide_buffer_t
  mlir::LLVM::LLVMStructType entry;         // attnrt_entry
  mlir::LLVM::LLVMStructType variant;       // attnrt_variant
  mlir::LLVM::LLVMStructType descriptor;    // attnrt_descriptor
};

} // namespace attnc

#endif // ATTNC_COMPILER_EMIT_BINARYINTERFACE_H
