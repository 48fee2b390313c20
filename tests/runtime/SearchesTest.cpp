//===- SearchesTest.cpp - patience, groups, alternatives, coverage ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "OracleFixture.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace {

using attnrt::api::Hypothesis;
using toy::Ids;
using toy::testSources;

class Searches : public toy::OracleFixture {
protected:
  attnrt_decode_options beamOptions(int beam) const {
    attnrt_decode_options options = model.decodeOptions();
    options.beam = options.n_best = beam;
    return options;
  }

  attnrt_status statusOfDecode(const std::function<void(attnrt_decode_options &)> &set, int sessionBeam = 4) {
    attnrt_decode_options options = beamOptions(4);
    set(options);
    auto opened = session(2, sessionBeam, 12);
    return statusOf([&] { opened.decode({{Ids{3, 4}}}, options); });
  }
};

TEST_F(Searches, PatienceChangesHowManyFinishedOutputsAreWanted) {
  for (const float patience : {0.4f, 1.5f, 3.f})
    for (const attnrt_stopping stopping : {ATTNRT_STOP_EARLY, ATTNRT_STOP_LATER, ATTNRT_STOP_NEVER_EARLY}) {
      attnrt_decode_options options = beamOptions(4);
      options.patience = patience;
      options.stopping = stopping;
      options.n_best = patience < 1 ? 2 : 5;
      expectOracle(options);
    }
}

TEST_F(Searches, ABeamOfOneIsGreedyWhateverElseIsSaid) {
  attnrt_decode_options options = beamOptions(1);
  const auto greedy = session(8, 1, 12).decode(testSources(), options);
  options.stopping = ATTNRT_STOP_NEVER_EARLY;
  options.patience = 1;
  const auto same = session(8, 1, 12).decode(testSources(), options);
  for (size_t s = 0; s < greedy.size(); ++s)
    EXPECT_EQ(greedy[s][0].ids, same[s][0].ids);
}

TEST_F(Searches, DiverseGroupsEqualTheOracle) {
  for (const auto &[beam, groups] : std::vector<std::pair<int, int>>{{2, 2}, {4, 2}, {6, 3}, {6, 2}})
    for (const float penalty : {0.f, 0.5f, 3.f})
      for (const attnrt_stopping stopping : {ATTNRT_STOP_EARLY, ATTNRT_STOP_LATER}) {
        SCOPED_TRACE(std::to_string(beam) + " in " + std::to_string(groups));
        attnrt_decode_options options = beamOptions(beam);
        options.num_beam_groups = groups;
        options.diversity_penalty = penalty;
        options.stopping = stopping;
        options.no_repeat_ngram_size = 3;
        const auto lists = session(8, beam, 12).decode(testSources(), options);
        for (size_t s = 0; s < lists.size(); ++s)
          expectLists(toy::oracleDiverse(testSources()[s], options), lists[s], options.length_penalty);
      }
}

TEST_F(Searches, WhatGroupsTakeInTheirLastStepCounts) {
  attnrt_decode_options options = beamOptions(4);
  options.num_beam_groups = 4;
  options.diversity_penalty = 1000;
  options.min_length = options.max_length = 1;
  const auto lists = session(8, 4, 12).decode(testSources(), options);
  for (size_t s = 0; s < lists.size(); ++s) {
    std::set<Ids> outputs;
    for (const Hypothesis &hypothesis : lists[s])
      outputs.insert(hypothesis.ids);
    EXPECT_EQ(4u, outputs.size());
    expectLists(toy::oracleDiverse(testSources()[s], options), lists[s], options.length_penalty);
  }
}

TEST_F(Searches, GroupsWithoutAPenaltyAreTheSameSearchSeveralTimes) {
  attnrt_decode_options options = beamOptions(4);
  options.num_beam_groups = 2;
  options.n_best = 2;
  const auto lists = session(8, 4, 12).decode(testSources(), options);
  for (const auto &list : lists)
    EXPECT_EQ(list[0].ids, list[1].ids);
}

TEST_F(Searches, AlternativesAreTheBestFirstTokensEachContinued) {
  for (const int beam : {1, 2}) {
    attnrt_decode_options options = beamOptions(beam);
    options.n_best = 3;
    options.return_alternatives = 1;
    options.forced_bos_token_id = 6;
    const auto lists = session(8, 3 * beam, 12).decode(testSources(), options);
    for (size_t s = 0; s < lists.size(); ++s)
      expectLists(toy::oracleAlternatives(testSources()[s], options), lists[s], options.length_penalty);
  }
}

TEST_F(Searches, RareAlternativesAreLeftOut) {
  attnrt_decode_options options = beamOptions(1);
  options.n_best = 4;
  options.return_alternatives = 1;
  options.min_alternative_probability = 1;
  auto opened = session(8, 4, 12);
  const auto greedy = session(8, 1, 12).decode(testSources(), beamOptions(1));
  const auto lists = opened.decode(testSources(), options);
  for (size_t s = 0; s < lists.size(); ++s) {
    ASSERT_EQ(1u, lists[s].size()); // the best first token always counts
    EXPECT_EQ(greedy[s][0].ids, lists[s][0].ids);
  }
}

TEST_F(Searches, AnOutputThatIsGivenWholeIsReturnedOnce) {
  const std::vector<Ids> prefixes{{3, 4, 5}};
  const auto views = attnrt::api::view(prefixes);
  for (const int alternatives : {0, 1}) {
    attnrt_decode_options options = beamOptions(4);
    options.n_best = alternatives ? 1 : 4;
    options.return_alternatives = alternatives;
    options.num_beam_groups = alternatives ? 1 : 2;
    options.max_length = 3;
    options.prefixes = views.data();
    const auto lists = session(1, 4, 12).decode({{testSources()[0]}}, options);
    ASSERT_EQ(1u, lists[0].size());
    EXPECT_EQ(prefixes[0], lists[0][0].ids);
  }
}

TEST_F(Searches, AttentionComesWithEachHypothesis) {
  attnrt_decode_options options = beamOptions(3);
  options.return_attention = 1;
  auto opened = session(8, 3, 12);
  const auto lists = opened.decode(testSources(), options);
  for (size_t s = 0; s < lists.size(); ++s)
    for (const Hypothesis &hypothesis : lists[s]) {
      auto wanted = opened.attend(testSources()[s], hypothesis.ids);
      wanted.resize(hypothesis.logProbabilities.size() * testSources()[s].size());
      EXPECT_EQ(wanted, hypothesis.attention);
    }
}

/// The toy's attention: target position t looks at source position t, or at the last one.
double toyCoverage(size_t sourceLength, size_t targetLength) {
  double penalty = 0;
  for (size_t k = 0; k < sourceLength; ++k) {
    const bool isLast = k + 1 == sourceLength;
    const size_t looks = k >= targetLength ? 0 : isLast ? targetLength - k : 1;
    penalty += std::log(std::clamp(static_cast<double>(looks), 1e-30, 1.0));
  }
  return penalty;
}

TEST_F(Searches, TheCoveragePenaltyRanksAllThatFinished) {
  for (const float weight : {0.01f, 0.2f})
    for (const float lengthPenalty : {0.f, 1.f}) {
      attnrt_decode_options options = beamOptions(4);
      options.length_penalty = lengthPenalty;
      options.stopping = ATTNRT_STOP_NEVER_EARLY;
      options.n_best = 2;
      options.coverage_penalty = weight;
      const auto lists = session(8, 4, 12).decode(testSources(), options);
      for (size_t s = 0; s < lists.size(); ++s) {
        std::vector<std::pair<double, Ids>> ranked;
        for (const auto &hypothesis : toy::oracleFinished(testSources()[s], options))
          ranked.push_back({hypothesis.score(lengthPenalty) +
                                weight * toyCoverage(testSources()[s].size(), hypothesis.ids.size()),
                            hypothesis.ids});
        std::stable_sort(ranked.begin(), ranked.end(),
                         [](const auto &a, const auto &b) { return a.first > b.first; });
        ASSERT_EQ(std::min<size_t>(2, ranked.size()), lists[s].size());
        for (size_t rank = 0; rank < lists[s].size(); ++rank) {
          Ids ids = lists[s][rank].ids;
          if (lists[s][rank].ended)
            ids.push_back(toy::end);
          EXPECT_EQ(ranked[rank].second, ids);
          EXPECT_NEAR(ranked[rank].first, lists[s][rank].score, 1e-4); // a score of at most 700 as a float
        }
      }
    }
}

TEST_F(Searches, AllAreBitEqualAloneAndTogether) {
  for (int kind = 0; kind < 3; ++kind) {
    attnrt_decode_options options = beamOptions(4);
    options.num_beam_groups = kind == 0 ? 2 : 1;
    options.diversity_penalty = kind == 0 ? 1.f : 0.f;
    options.return_alternatives = kind == 1;
    options.n_best = 3;
    options.coverage_penalty = kind == 2 ? 0.1f : 0.f;
    const auto together = session(8, 12, 12, 2).decode(testSources(), options);
    auto alone = session(1, 12, 12);
    for (size_t s = 0; s < testSources().size(); ++s) {
      const auto same = alone.decode({{testSources()[s]}}, options)[0];
      ASSERT_EQ(same.size(), together[s].size());
      for (size_t rank = 0; rank < same.size(); ++rank) {
        EXPECT_EQ(same[rank].logProbabilities, together[s][rank].logProbabilities);
        EXPECT_EQ(same[rank].score, together[s][rank].score);
      }
    }
  }
}

TEST_F(Searches, ContradictionsAreRefused) {
  EXPECT_EQ(ATTNRT_OK, statusOfDecode([](auto &) {}));
  for (const std::function<void(attnrt_decode_options &)> &set :
       std::vector<std::function<void(attnrt_decode_options &)>>{
           [](auto &o) { o.patience = 0; }, [](auto &o) { o.patience = 0.25f, o.n_best = 2; },
           [](auto &o) { o.num_beam_groups = 0; }, [](auto &o) { o.num_beam_groups = 3; },
           [](auto &o) { o.diversity_penalty = 1; },
           [](auto &o) { o.num_beam_groups = 2, o.diversity_penalty = -1; },
           [](auto &o) { o.num_beam_groups = 2, o.return_alternatives = 1; },
           [](auto &o) { o.coverage_penalty = -1; }, [](auto &o) { o.coverage_penalty = NAN; },
           [](auto &o) { o.min_alternative_probability = 1.5f; },
           [](auto &o) { o.sample = 1, o.return_alternatives = 1; },
           [](auto &o) { o.sample = 1, o.coverage_penalty = 1; }})
    EXPECT_EQ(ATTNRT_INVALID_ARGUMENT, statusOfDecode(set));
  EXPECT_EQ(ATTNRT_OUT_OF_RANGE, statusOfDecode([](auto &o) { o.return_alternatives = 1; })); // 4 x 4 > 4
}

TEST_F(Searches, AttentionIsThereOnlyIfItWasAskedFor) {
  attnrt_session_options room = model.sessionOptions();
  room.uses = ATTNRT_USE_DECODE;
  attnrt_decode_options options = model.decodeOptions();
  options.return_attention = 1;
  attnrt::api::Session opened(model, room);
  EXPECT_EQ(ATTNRT_INVALID_ARGUMENT, statusOf([&] { opened.decode({{Ids{3}}}, options); }));
  options.return_attention = 0;
  const attnrt_ids source{1, testSources()[0].data()};
  attnrt_result *result = nullptr;
  attnrt::api::check(attnrt_decode(opened.handle(), 1, &source, &options, &result));
  size_t rows = 0, columns = 0;
  const float *values = nullptr;
  EXPECT_EQ(ATTNRT_INVALID_ARGUMENT, attnrt_result_attention(result, 0, 0, &rows, &columns, &values));
  EXPECT_EQ(ATTNRT_OUT_OF_RANGE, attnrt_result_attention(result, 0, 1, &rows, &columns, &values));
  attnrt_result_destroy(result);
}

} // namespace
