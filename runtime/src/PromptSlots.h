//===- PromptSlots.h - where rows of sentences with prompts lie --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A row writes what its token adds to the caches into the slot of its own number. Prompts differ in length,
// so rows are not at one position: a row must not write where another sentence still reads. A sentence has
// slots of its own; those of one that has ended go to the rows behind, so that a step has no rows of ended
// sentences. A row that gets another slot reads the one before as well, where no row writes from then on.

#ifndef ATTNRT_SRC_PROMPTSLOTS_H
#define ATTNRT_SRC_PROMPTSLOTS_H

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace attnrt {

class PromptSlots {
public:
  /// Room for the following calls.
  void reserve(size_t slots);

  /// Begins with slot `rank * sentences + prompts[sentence]` for each of a sentence's `rows`: the prompt is
  /// in the first one.
  void begin(std::span<const int32_t> prompts, int sentences, int rows);

  /// Ends a sentence. Slots of others change.
  void end(int sentence);

  bool isLive(int sentence) const { return slots[sentence * rowsOfEach] != none; }
  int of(int sentence, int rank) const { return slots[sentence * rowsOfEach + rank]; }

private:
  static constexpr int none = -1;

  void closeGaps();

  int rowsOfEach = 0;
  std::vector<int> slots; // of each sentence's rows, one sentence after the other
  std::vector<int> users; // of each slot up to the last one that has a user: its place in `slots`
};

} // namespace attnrt

#endif // ATTNRT_SRC_PROMPTSLOTS_H
