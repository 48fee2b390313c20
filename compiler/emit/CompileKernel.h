//===- CompileKernel.h - a kernel's region to an object file ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Compiles one `attn.kernel` for one target with Halide. Halide numbers names per process: for the same
// object twice, compile each kernel in a process of its own.

#ifndef ATTNC_EMIT_COMPILE_KERNEL_H
#define ATTNC_EMIT_COMPILE_KERNEL_H

#include "compiler/schedules/ScheduleChoice.h"
#include "dialect/IR/Attn.h"

#include "llvm/Support/Error.h"

#include <string>

namespace attnc {

struct KernelTarget {
  std::string name;     // a CpuVariant's target, e.g. x86-64-linux-avx-avx2-f16c-fma-sse41
  bool asserts = false; // check extents and bounds at each call
  ScheduleChoice schedule = {};
};

/// Whether the schedule for `target` is another than that of rules. Compiles nothing.
llvm::Expected<bool> isTuned(attn::KernelOp kernel, const KernelTarget &target);

/// Writes an object with the function `name` (docs/architecture.md, "Kernel functions") to `path`, and tells
/// whether its schedule is another than that of rules. An error does not tell which kernel it is about: the
/// caller knows.
llvm::Expected<bool> compileKernel(attn::KernelOp kernel, const KernelTarget &target, const std::string &name,
                                   const std::string &path);

} // namespace attnc

#endif // ATTNC_EMIT_COMPILE_KERNEL_H
