//===- JoinLoops.h - stages of some rows before the next rows ---------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ATTNC_SCHEDULES_CPU_JOIN_LOOPS_H
#define ATTNC_SCHEDULES_CPU_JOIN_LOOPS_H

#include "Halide.h"

#include <memory>

namespace attnc {

/// Loops of this name become one where they follow each other with the same bounds. An iteration may read
/// what earlier loops wrote in the same iteration, and nothing else of theirs.
constexpr const char *JoinedLoop = "joined";

/// A pass over lowered code. Halide computes each result of a kernel in loops of its own, and so reads all
/// rows for one result after the other. Joined, a group of rows is read again while it is in the caches, by
/// the same thread, and threads are asked for once.
std::unique_ptr<Halide::Internal::IRMutator> makeJoinLoops();

} // namespace attnc

#endif // ATTNC_SCHEDULES_CPU_JOIN_LOOPS_H
