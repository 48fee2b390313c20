//===- WriteObject.h - LLVM dialect to an object file ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ATTNC_COMPILER_EMIT_WRITEOBJECT_H
#define ATTNC_COMPILER_EMIT_WRITEOBJECT_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

namespace attnc {

/// Compiles a module in LLVM dialect to position-independent code for `triple`'s baseline CPU.
llvm::Error writeObject(mlir::ModuleOp lowered, llvm::StringRef triple, llvm::StringRef path);

} // namespace attnc

#endif // ATTNC_COMPILER_EMIT_WRITEOBJECT_H
