//===- ScheduleSearchTest.cpp - what a search finds among made-up times --------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/tune/ScheduleSearch.h"

#include <gtest/gtest.h>

namespace attnc {
namespace {

/// A machine on which words make kernels so many times as fast.
struct Machine {
  std::map<std::pair<std::string, std::string>, double> speedups = {}; // kernel, parameter=word
  double share = 0.1;                                                  // of each kernel
  int budget = 1000;                                                   // comparisons
  std::function<void(const KernelChoices &, Comparison &)> disturb = [](auto &, auto &) {};
  std::vector<std::string> tried = {};
  std::string withoutEffect = {}; // a parameter

  Comparison compare(const KernelChoices &choices, const std::string &what) {
    tried.push_back(what);
    Comparison comparison;
    for (const auto &[kernel, choice] : choices) {
      double speedup = 1;
      for (const auto &[parameter, word] : choice)
        if (auto found = speedups.find({kernel, parameter + "=" + word}); found != speedups.end())
          speedup *= found->second;
      comparison.kernels[kernel] = {1 / speedup, 1, share / speedup, share, 1 / speedup};
    }
    disturb(choices, comparison);
    return comparison;
  }

  SearchResult search(const KernelChoices &known = {}) {
    return searchSchedules({"a", "b"}, known,
                           {[&](const auto &, const auto &choice) { return !choice.count(withoutEffect); },
                            [&](const auto &choices, const auto &what) { return compare(choices, what); },
                            [&] { return int(tried.size()) < budget; }});
  }
};

TEST(ScheduleSearchTest, RulesStayWhereNothingIsFaster) {
  Machine machine;
  EXPECT_TRUE(machine.search().tuned.empty());
  size_t words = 0;
  for (const ScheduleParameter &parameter : scheduleParameters())
    words += parameter.words.size();
  EXPECT_EQ(machine.tried.size(), words); // and nothing to confirm
}

TEST(ScheduleSearchTest, WordsThatChangeNoScheduleAreNotTried) {
  Machine machine;
  machine.withoutEffect = "tile";
  EXPECT_TRUE(machine.search().tuned.empty());
  EXPECT_FALSE(machine.tried.empty());
  for (const std::string &text : machine.tried)
    EXPECT_FALSE(text.starts_with("tile=")) << text;
}

TEST(ScheduleSearchTest, TheBestWordsOfAllParametersAreTakenTogether) {
  Machine machine{{{{"a", "tile=6x16"}, 1.1}, {{"a", "tile=6x64"}, 1.2}, {{"a", "prefetch=none"}, 1.05}}};
  const auto tuned = machine.search().tuned;
  ASSERT_EQ(tuned.size(), 1u);
  EXPECT_EQ(choiceText(tuned.at("a").choice), "prefetch=none,tile=6x64");
  EXPECT_NEAR(tuned.at("a").times.speedup(), 1.2 * 1.05, 1e-9);
}

TEST(ScheduleSearchTest, LittleGainsAndLittleKernelsAreLeftToRules) {
  Machine little{{{{"a", "tile=6x64"}, 1.02}}};
  EXPECT_TRUE(little.search().tuned.empty());
  Machine rare{{{{"a", "tile=6x64"}, 2}}, 0.001};
  EXPECT_TRUE(rare.search().tuned.empty());
  Machine brief{{{{"a", "tile=6x64"}, 2}}};
  brief.disturb = [](const auto &, Comparison &comparison) { comparison.kernels["a"].byRules = 0.01; };
  EXPECT_TRUE(brief.search().tuned.empty());
}

TEST(ScheduleSearchTest, WordsThatAreBadTogetherAreTriedAlone) {
  Machine machine{{{{"a", "tile=6x64"}, 1.1}, {{"a", "prefetch=none"}, 1.2}}};
  machine.disturb = [](const KernelChoices &choices, Comparison &comparison) {
    for (const auto &[kernel, choice] : choices)
      if (choice.size() > 1)
        comparison.kernels[kernel].share = 1;
  };
  const auto tuned = machine.search().tuned;
  ASSERT_EQ(tuned.size(), 1u);
  EXPECT_EQ(choiceText(tuned.at("a").choice), "prefetch=none");
}

/// Noise: faster once, and never again.
TEST(ScheduleSearchTest, WhatIsNotFasterTwiceIsDropped) {
  Machine machine;
  machine.disturb = [&](const auto &, Comparison &comparison) {
    if (machine.tried.size() == 3)
      comparison.kernels["a"].share /= 2;
  };
  EXPECT_TRUE(machine.search().tuned.empty());
}

TEST(ScheduleSearchTest, WhatIsSlowerInOneBatchSizeIsLeftToRules) {
  Machine machine{{{{"a", "tile=6x64"}, 1.5}}};
  machine.disturb = [](const auto &, Comparison &comparison) { comparison.kernels["a"].worst = 1.1; };
  EXPECT_TRUE(machine.search().tuned.empty());
}

TEST(ScheduleSearchTest, WhatIsNotAboveTheNoiseIsLeftToRules) {
  Machine machine{{{{"a", "tile=6x64"}, 1.1}}};
  machine.disturb = [](const auto &, Comparison &comparison) { comparison.noise = 1.2; };
  EXPECT_TRUE(machine.search().tuned.empty());
}

TEST(ScheduleSearchTest, EarlierRecordsAreTriedFirst) {
  Machine machine{{{{"b", "tasks=by_rows"}, 1.3}}};
  machine.budget = 1;
  const SearchResult found = machine.search({{"b", {{"tasks", "by_rows"}}}, {"a", {{"tile", "6x16"}}}});
  EXPECT_EQ(machine.tried.front(), "earlier records");
  ASSERT_EQ(found.tuned.size(), 1u);
  EXPECT_EQ(choiceText(found.tuned.at("b").choice), "tasks=by_rows");
  EXPECT_EQ(found.outdated, (KernelChoices{{"a", {{"tile", "6x16"}}}}));
}

/// They may be of another workload.
TEST(ScheduleSearchTest, EarlierRecordsOfKernelsThatHardlyRunStay) {
  Machine machine{{}, 0.001};
  EXPECT_TRUE(machine.search({{"a", {{"tile", "6x16"}}}}).outdated.empty());
}

/// Two words that are fast together alone, and another that is not with them.
TEST(ScheduleSearchTest, EarlierRecordsAreTriedAgainAsAWhole) {
  const ScheduleChoice known = {{"tile", "6x64"}, {"prefetch", "none"}};
  Machine machine;
  machine.disturb = [&](const KernelChoices &choices, Comparison &comparison) {
    const ScheduleChoice &choice = choices.at("a");
    comparison.kernels["a"].share /= choice == known                         ? 1.3
                                     : choiceText(choice) == "tasks=by_rows" ? 1.05
                                                                             : 0.9;
  };
  const SearchResult found = machine.search({{"a", known}});
  ASSERT_EQ(found.tuned.size(), 1u);
  EXPECT_EQ(found.tuned.at("a").choice, known);
  EXPECT_TRUE(found.outdated.empty());
}

/// A record that the rules have caught up with.
TEST(ScheduleSearchTest, EarlierRecordsThatChangeNothingGo) {
  Machine machine;
  machine.disturb = [](const auto &, Comparison &comparison) { comparison.kernels.erase("a"); };
  EXPECT_EQ(machine.search({{"a", {{"tile", "6x16"}}}}).outdated, (KernelChoices{{"a", {{"tile", "6x16"}}}}));
}

TEST(ScheduleSearchTest, WordsThatAreLessGoodTogetherAreTriedAlone) {
  Machine machine{{{{"a", "tile=6x64"}, 1.1}, {{"a", "prefetch=none"}, 1.2}}};
  machine.disturb = [](const KernelChoices &choices, Comparison &comparison) {
    for (const auto &[kernel, choice] : choices)
      if (choice.size() > 1)
        comparison.kernels[kernel].share = 0.1 / 1.04;
  };
  const auto tuned = machine.search().tuned;
  ASSERT_EQ(tuned.size(), 1u);
  EXPECT_EQ(choiceText(tuned.at("a").choice), "prefetch=none");
}

TEST(ScheduleSearchTest, BatchSizesCountAlike) {
  const std::vector<std::string> kernels = {"a", "b", "rare"};
  std::map<std::string, KernelTimes> times;
  addBatch({kernels, {1, 2.999, 0.001}, {0.5, 2.999, 0.1}, 2}, times);
  addBatch({kernels, {100, 200, 100}, {110, 200, 100}, 2}, times);
  EXPECT_DOUBLE_EQ(times["a"].milliseconds, 110.5);
  EXPECT_DOUBLE_EQ(times["a"].byRules, 101);
  EXPECT_DOUBLE_EQ(times["a"].shareByRules, (1.0 / 4 + 100.0 / 400) / 2);
  EXPECT_DOUBLE_EQ(times["a"].share, (0.5 / 4 + 110.0 / 400) / 2);
  EXPECT_DOUBLE_EQ(times["a"].worst, 1.1);
  EXPECT_DOUBLE_EQ(times["rare"].worst, 1); // where it hardly runs, it may be slower
}

TEST(ScheduleSearchTest, RecordsOfOthersStay) {
  const ScheduleRecord old = {{{"tile", "6x16"}}, 1, 2};
  ScheduleRecords records;
  for (const char *kernel : {"outdated", "tuned", "idle", "found_by_another"})
    for (const char *target : {"avx2", "avx512"})
      records[{target, kernel}] = old;
  SearchResult found;
  found.outdated = {{"outdated", old.choice}, {"found_by_another", {{"tile", "8x32"}}}};
  found.tuned["tuned"] = {{{"tasks", "by_rows"}}, {3, 4, 0.1, 0.2, 1}};
  updateRecords(records, "avx2", found);
  EXPECT_EQ(records.size(), 7u);
  EXPECT_FALSE(records.count({"avx2", "outdated"}));
  const ScheduleRecord &tuned = records.at({"avx2", "tuned"});
  EXPECT_EQ(choiceText(tuned.choice), "tasks=by_rows");
  EXPECT_EQ(tuned.milliseconds, 3);
  EXPECT_EQ(tuned.byRules, 4);
  EXPECT_EQ(records.at({"avx512", "tuned"}).milliseconds, old.milliseconds);
}

TEST(ScheduleSearchTest, WithoutTimeNothingIsTried) {
  Machine machine{{{{"a", "tile=6x64"}, 1.5}}};
  machine.budget = 0;
  EXPECT_TRUE(machine.search().tuned.empty());
  EXPECT_TRUE(machine.tried.empty());
}

} // namespace
} // namespace attnc
