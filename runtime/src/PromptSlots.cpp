//===- PromptSlots.cpp - where rows of sentences with prompts lie ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "PromptSlots.h"

namespace attnrt {

void PromptSlots::reserve(size_t count) {
  slots.reserve(count);
  users.reserve(count);
}

void PromptSlots::begin(std::span<const int32_t> prompts, int sentences, int rows) {
  rowsOfEach = rows;
  slots.resize(static_cast<size_t>(sentences) * rows);
  users.resize(slots.size());
  for (int sentence = 0; sentence < sentences; ++sentence)
    for (int rank = 0; rank < rows; ++rank) {
      const int slot = rank * sentences + prompts[sentence], place = sentence * rows + rank;
      slots[place] = slot;
      users[slot] = place;
    }
}

void PromptSlots::end(int sentence) {
  for (int rank = 0; rank < rowsOfEach; ++rank) {
    int &slot = slots[sentence * rowsOfEach + rank];
    users[slot] = none;
    slot = none;
  }
  closeGaps();
}

void PromptSlots::closeGaps() {
  for (size_t slot = 0; slot < users.size(); ++slot) {
    while (!users.empty() && users.back() == none)
      users.pop_back();
    if (slot >= users.size() || users[slot] != none)
      continue;
    users[slot] = users.back();
    slots[users[slot]] = static_cast<int>(slot);
    users.pop_back();
  }
}

} // namespace attnrt
