//===- Batches.cpp - sequences of similar length together ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Batches.h"

#include <algorithm>
#include <numeric>

namespace attnrt {

size_t makeBatches(std::span<const size_t> lengths, size_t maxSequences, size_t maxTokens, size_t *order,
                   size_t *ends) {
  const size_t count = lengths.size();
  std::iota(order, order + count, size_t{0});
  if (maxTokens > 0)
    std::stable_sort(order, order + count, [&](size_t a, size_t b) { return lengths[a] < lengths[b]; });
  size_t batches = 0, begin = 0;
  for (size_t i = 1; i <= count; ++i) {
    // Sorted, the newest sequence is the longest, to which the others are padded.
    const bool isFull = i == count || i - begin == maxSequences ||
                        (maxTokens > 0 && lengths[order[i]] > maxTokens / (i - begin + 1));
    if (!isFull)
      continue;
    ends[batches++] = i;
    begin = i;
  }
  return batches;
}

} // namespace attnrt
