//===- PromptSlotsTest.cpp - rows of ended sentences leave -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "runtime/src/PromptSlots.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <vector>

namespace attnrt {
namespace {

TEST(PromptSlots, BeginRankByRank) {
  PromptSlots slots;
  const int32_t prompts[] = {1, 0, 2};
  slots.begin(prompts, 3, 2);
  EXPECT_EQ((std::vector{1, 0, 2}), (std::vector{slots.of(0, 0), slots.of(1, 0), slots.of(2, 0)}));
  EXPECT_EQ((std::vector{4, 3, 5}), (std::vector{slots.of(0, 1), slots.of(1, 1), slots.of(2, 1)}));
}

TEST(PromptSlots, AnEndedSentencesGoToTheRowsBehind) {
  PromptSlots slots;
  const int32_t prompts[] = {0, 1, 2, 3};
  slots.begin(prompts, 4, 1);
  slots.end(1);
  EXPECT_FALSE(slots.isLive(1));
  EXPECT_EQ((std::vector{0, 2, 1}), (std::vector{slots.of(0, 0), slots.of(2, 0), slots.of(3, 0)}));
  slots.end(0);
  EXPECT_EQ((std::vector{0, 1}), (std::vector{slots.of(2, 0), slots.of(3, 0)}));
  slots.end(2);
  slots.end(3);
  EXPECT_FALSE(slots.isLive(2) || slots.isLive(3));
}

/// Sentences whose rows write into slots and read what those before them wrote.
class Simulation {
public:
  Simulation(int sentences, int rows, unsigned seed) : rows(rows), random(seed) {
    std::vector<int32_t> prompts(sentences);
    std::iota(prompts.begin(), prompts.end(), 0);
    std::shuffle(prompts.begin(), prompts.end(), random);
    slots.begin(prompts, sentences, rows);
    written.assign(sentences * rows, {});
    for (int sentence = 0; sentence < sentences; ++sentence) {
      const int length = 1 + static_cast<int>(random() % 5);
      for (int position = 0; position < length; ++position)
        written[slots.of(sentence, 0)][position] = sentence;
      live.push_back({sentence, length, {std::vector<int>(length, slots.of(sentence, 0))}});
    }
  }

  bool isOver() const { return live.empty(); }

  void step() {
    std::map<int, int> positions; // of each row, by its slot
    for (Sentence &sentence : live)
      extend(sentence, positions);
    const int count = positions.empty() ? 0 : positions.rbegin()->first + 1;
    EXPECT_LE(count, static_cast<int>(live.size()) * rows);
    for (int slot = 0; slot < count; ++slot)
      if (!positions.count(slot))
        written[slot][0] = nobody;
    for (const Sentence &sentence : live)
      for (const std::vector<int> &history : sentence.histories)
        for (size_t position = 0; position < history.size(); ++position)
          EXPECT_EQ(sentence.number, written[history[position]][static_cast<int>(position)]);
    std::erase_if(live, [&](const Sentence &sentence) {
      const bool ends = random() % 4 == 0;
      if (ends)
        slots.end(sentence.number);
      return ends;
    });
  }

private:
  static constexpr int nobody = -1;
  struct Sentence {
    int number, position;
    std::vector<std::vector<int>> histories; // of each row: the slots that it reads
  };

  /// Rows, of which there may be fewer now, continue any of those before.
  void extend(Sentence &sentence, std::map<int, int> &positions) {
    std::vector<std::vector<int>> next(1 + random() % rows);
    for (size_t rank = 0; rank < next.size(); ++rank) {
      const int slot = slots.of(sentence.number, static_cast<int>(rank));
      EXPECT_TRUE(positions.emplace(slot, sentence.position).second);
      next[rank] = sentence.histories[random() % sentence.histories.size()];
      next[rank].push_back(slot);
      written[slot][sentence.position] = sentence.number;
    }
    ++sentence.position;
    sentence.histories = std::move(next);
  }

  int rows;
  std::mt19937 random;
  PromptSlots slots;
  std::vector<Sentence> live;
  std::vector<std::map<int, int>> written; // of each slot: who wrote a position last
};

TEST(PromptSlots, NobodyWritesWhereAnotherSentenceReads) {
  for (unsigned seed = 0; seed < 200; ++seed)
    for (int rows : {1, 2, 4}) {
      Simulation simulation(1 + seed % 9, rows, seed);
      while (!simulation.isOver() && !testing::Test::HasFailure())
        simulation.step();
    }
}

} // namespace
} // namespace attnrt
