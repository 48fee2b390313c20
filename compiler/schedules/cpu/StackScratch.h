//===- StackScratch.h - scratch of any size lies on the stack ---------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ATTNC_SCHEDULES_CPU_STACK_SCRATCH_H
#define ATTNC_SCHEDULES_CPU_STACK_SCRATCH_H

#include "Halide.h"

#include <memory>

namespace attnc {

/// A pass over lowered code. Halide takes what is stored in `MemoryType::Stack` from the heap where it has
/// more than 16 KiB; the pass leaves it on the stack. (Stages stored in `MemoryType::Register` lie there at
/// any size, but Halide moves what they keep from iteration to iteration.)
std::unique_ptr<Halide::Internal::IRMutator> makeStackScratch();

} // namespace attnc

#endif // ATTNC_SCHEDULES_CPU_STACK_SCRATCH_H
