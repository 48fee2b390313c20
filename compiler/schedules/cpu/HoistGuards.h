//===- HoistGuards.h - no work for iterations that write nothing ------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ATTNC_SCHEDULES_CPU_HOIST_GUARDS_H
#define ATTNC_SCHEDULES_CPU_HOIST_GUARDS_H

#include "Halide.h"

#include <memory>

namespace attnc {

/// Loops that carry this in their names: most of their iterations may write nothing.
constexpr const char *GuardedLoop = "guarded";

/// A pass over lowered code. Halide guards what a block or tile of masked keys, or a panel that holds none
/// of the best words, adds to a result; where the guard reads memory (lengths, the first key of a window,
/// maxima of panels), it does not guard what is computed for that, nor the loops around it. The pass moves
/// such guards to the head of each iteration of the loops that are named for it.
std::unique_ptr<Halide::Internal::IRMutator> makeHoistGuards();

} // namespace attnc

#endif // ATTNC_SCHEDULES_CPU_HOIST_GUARDS_H
