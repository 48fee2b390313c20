//===- KernelPipeline.h - a scheduled kernel, ready to be compiled ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Finds the archetype of a kernel's region, builds its stages and schedules them for a CPU.

#ifndef ATTNC_SCHEDULES_KERNEL_PIPELINE_H
#define ATTNC_SCHEDULES_KERNEL_PIPELINE_H

#include "compiler/schedules/CpuTarget.h"
#include "compiler/schedules/ScheduleChoice.h"
#include "dialect/IR/Attn.h"

#include "llvm/Support/Error.h"

namespace attnc {

struct KernelPipeline {
  std::vector<Halide::Func> outputs; // their buffers, in order: results, then scratch
  std::vector<Halide::Argument> arguments;
  /// The first output's buffer is not an argument of the kernel: it is the second output's, worked on in
  /// place.
  bool firstSharesSecond = false;
  bool isTuned = false; // a choice has made its schedule another than that of rules
};

/// `choice`: parameters that rules do not choose. An error says which operation no kernel can be built for.
/// Throws what Halide throws.
llvm::Expected<KernelPipeline> buildKernelPipeline(attn::KernelOp kernel, const CpuTarget &cpu,
                                                   const ScheduleChoice &choice = {});

} // namespace attnc

#endif // ATTNC_SCHEDULES_KERNEL_PIPELINE_H
