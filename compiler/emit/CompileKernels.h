//===- CompileKernels.h - all kernels of a bundle, in parallel -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Each kernel is compiled by a process of its own: Halide counts names per process, so this keeps objects
// equal from run to run, and a crash costs one kernel and not the compiler.

#ifndef ATTNC_COMPILER_EMIT_COMPILEKERNELS_H
#define ATTNC_COMPILER_EMIT_COMPILEKERNELS_H

#include "compiler/emit/CpuVariant.h"
#include "compiler/emit/KernelCache.h"
#include "mlir/IR/BuiltinOps.h"

#include <functional>
#include <map>

namespace attnc {

struct KernelObject {
  std::string kernel;  // in the module
  std::string variant; // its name
  std::string symbol;  // of the compiled function: no bundle may be called attnrt, so it meets no other one of its bundle
  std::string path;
  bool addsBfloats = false; // calls a function of emit/shim that adds up products of bfloat16
  bool isTuned = false;     // its schedule is another than that of rules
};

/// The exit code of `compile-kernel` where a kernel is tuned; 0 where it is not.
constexpr int TunedExitCode = 3;

/// What a progress display needs: the kernel being started, its number from 1, and how many there are.
using KernelProgress = std::function<void(const KernelObject &object, size_t number, size_t total)>;

/// The text of what is chosen (schedules/ScheduleChoice.h), by the names of a variant and a kernel.
using KernelSchedules = std::map<std::pair<std::string, std::string>, std::string>;

struct KernelCompiler {
  std::string program; // understands `compile-kernel FILE --target T --schedule C --symbol S -o OBJECT`
  KernelSchedules schedules;
  KernelProgress progress;
  const KernelCache *cache = nullptr; // none: compiles all
};

/// Compiles every kernel of `planned` for every variant into `folder`, in the order variant by variant,
/// kernel by kernel.
llvm::Expected<std::vector<KernelObject>> compileKernels(mlir::ModuleOp planned,
                                                         llvm::ArrayRef<CpuVariant> variants,
                                                         const KernelCompiler &compiler,
                                                         llvm::StringRef folder);

} // namespace attnc

#endif // ATTNC_COMPILER_EMIT_COMPILEKERNELS_H
