//===- ScheduleSearchTest.cpp - what a search finds among made-up times --------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/tune/ScheduleSearch.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace attnc {
namespace {

/// A machine on which words make kernels so many times as fast.
struct Machine {
  std::map<std::pair<std::string, std::string>, double> speedups; // kernel, parameter=word
  double share = 0.1;                                             // of each kernel
  int budget = 1000;                                              // comparisons
  std::vector<std::string> tried = {};

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
    return comparison;
  }

  SearchResult search(const KernelChoices &known = {}) {
    return searchSchedules({"a", "b"}, known,
                           {[&](const auto &choices, const auto &what) { return compare(choices, what); },
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
  Machine rare{{{{"a", "tile=6x64"}, 2}}};
  rare.share = 0.001;
  EXPECT_TRUE(rare.search().tuned.empty());
}

/// Each is good alone; together they are slower than rules.
TEST(ScheduleSearchTest, WordsThatAreBadTogetherAreTriedAlone) {
  Machine machine{{{{"a", "tile=6x64"}, 1.1}, {{"a", "prefetch=none"}, 1.2}}};
  const ScheduleTimer timer = {[&](const KernelChoices &choices, const std::string &what) {
                                 Comparison times = machine.compare(choices, what);
                                 for (const auto &[kernel, choice] : choices)
                                   if (choice.size() > 1)
                                     times.kernels[kernel].share = 1;
                                 return times;
                               },
                               [] { return true; }};
  const auto tuned = searchSchedules({"a"}, {}, timer).tuned;
  ASSERT_EQ(tuned.size(), 1u);
  EXPECT_EQ(choiceText(tuned.at("a").choice), "prefetch=none");
}

/// Noise: faster once, and never again.
TEST(ScheduleSearchTest, WhatIsNotFasterTwiceIsDropped) {
  Machine machine;
  int comparisons = 0;
  const ScheduleTimer timer = {[&](const KernelChoices &choices, const std::string &what) {
                                 Comparison times = machine.compare(choices, what);
                                 if (comparisons++ == 2)
                                   times.kernels["a"].share /= 2;
                                 return times;
                               },
                               [] { return true; }};
  EXPECT_TRUE(searchSchedules({"a", "b"}, {}, timer).tuned.empty());
}

TEST(ScheduleSearchTest, WhatIsSlowerInOneBatchSizeIsLeftToRules) {
  Machine machine{{{{"a", "tile=6x64"}, 1.5}}};
  const ScheduleTimer timer = {[&](const KernelChoices &choices, const std::string &what) {
                                 Comparison times = machine.compare(choices, what);
                                 for (auto &[kernel, time] : times.kernels)
                                   time.worst = 1.1;
                                 return times;
                               },
                               [] { return true; }};
  EXPECT_TRUE(searchSchedules({"a"}, {}, timer).tuned.empty());
}

TEST(ScheduleSearchTest, EarlierRecordsAreTriedFirst) {
  Machine machine{{{{"b", "tasks=by_rows"}, 1.3}}};
  machine.budget = 1;
  const SearchResult found = machine.search({{"b", {{"tasks", "by_rows"}}}, {"a", {{"tile", "6x16"}}}});
  EXPECT_EQ(machine.tried.front(), "earlier records");
  ASSERT_EQ(found.tuned.size(), 1u);
  EXPECT_EQ(choiceText(found.tuned.at("b").choice), "tasks=by_rows");
  EXPECT_EQ(found.outdated, std::set<std::string>{"a"});
}

/// They may be of another workload.
TEST(ScheduleSearchTest, EarlierRecordsOfKernelsThatHardlyRunStay) {
  Machine machine;
  machine.share = 0.001;
  EXPECT_TRUE(machine.search({{"a", {{"tile", "6x16"}}}}).outdated.empty());
}

/// Two words that are good together alone, and another that is not good with them.
TEST(ScheduleSearchTest, EarlierRecordsAreTriedAgainAsAWhole) {
  Machine machine;
  const ScheduleChoice known = {{"tile", "6x64"}, {"prefetch", "none"}};
  const ScheduleTimer timer = {[&](const KernelChoices &choices, const std::string &what) {
                                 Comparison times = machine.compare(choices, what);
                                 for (const auto &[kernel, choice] : choices)
                                   times.kernels[kernel].share /= choice == known ? 1.3
                                                                  : choiceText(choice) == "tasks=by_rows"
                                                                      ? 1.05
                                                                      : 0.9;
                                 return times;
                               },
                               [] { return true; }};
  const SearchResult found = searchSchedules({"a"}, {{"a", known}}, timer);
  ASSERT_EQ(found.tuned.size(), 1u);
  EXPECT_EQ(found.tuned.at("a").choice, known);
  EXPECT_TRUE(found.outdated.empty());
}

TEST(ScheduleSearchTest, WhatIsNotAboveTheNoiseIsLeftToRules) {
  Machine machine{{{{"a", "tile=6x64"}, 1.1}}};
  const ScheduleTimer timer = {[&](const KernelChoices &choices, const std::string &what) {
                                 Comparison times = machine.compare(choices, what);
                                 times.noise = 1.2;
                                 return times;
                               },
                               [] { return true; }};
  EXPECT_TRUE(searchSchedules({"a"}, {}, timer).tuned.empty());
}

TEST(ScheduleSearchTest, WithoutTimeNothingIsTried) {
  Machine machine{{{{"a", "tile=6x64"}, 1.5}}};
  machine.budget = 0;
  EXPECT_TRUE(machine.search().tuned.empty());
  EXPECT_TRUE(machine.tried.empty());
}

} // namespace
} // namespace attnc
