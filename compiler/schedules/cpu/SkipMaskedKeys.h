//===- SkipMaskedKeys.h - no work for keys that a mask hides ----------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ATTNC_SCHEDULES_CPU_SKIP_MASKED_KEYS_H
#define ATTNC_SCHEDULES_CPU_SKIP_MASKED_KEYS_H

#include "Halide.h"

#include <memory>

namespace attnc {

/// A pass over lowered code. Halide guards what a block or tile of masked keys adds to a result; where the
/// guard reads memory (lengths, the first key of a window), it does not guard what is computed for that. The
/// pass moves the guards of attention's loops over keys to the head of each iteration.
std::unique_ptr<Halide::Internal::IRMutator> makeSkipMaskedKeys();

} // namespace attnc

#endif // ATTNC_SCHEDULES_CPU_SKIP_MASKED_KEYS_H
