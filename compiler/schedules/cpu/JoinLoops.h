//===- JoinLoops.h - stages of one row before the next row ------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ATTNC_SCHEDULES_CPU_JOIN_LOOPS_H
#define ATTNC_SCHEDULES_CPU_JOIN_LOOPS_H

#include "Halide.h"

#include <memory>

namespace attnc {

/// Loops that carry this in their names become one where they follow each other with the same bounds. Each
/// iteration may read what earlier loops wrote in the same iteration only.
constexpr const char *JoinedLoop = "joined";

/// A pass over lowered code. Halide computes each result of a kernel in loops of its own, and so reads rows
/// for one result after the other; joined, a row is read while it is in the first cache.
std::unique_ptr<Halide::Internal::IRMutator> makeJoinLoops();

} // namespace attnc

#endif // ATTNC_SCHEDULES_CPU_JOIN_LOOPS_H
