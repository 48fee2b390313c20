//===- Batches.h - sequences of similar length together -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ATTNRT_SRC_BATCHES_H
#define ATTNRT_SRC_BATCHES_H

#include <cstddef>
#include <span>

namespace attnrt {

/// What attnrt_make_batches() does; `order` and `ends` have room for each length. Gives the number of
/// batches.
size_t makeBatches(std::span<const size_t> lengths, size_t maxSequences, size_t maxTokens, size_t *order,
                   size_t *ends);

} // namespace attnrt

#endif // ATTNRT_SRC_BATCHES_H
