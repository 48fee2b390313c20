//===- BeamSearchTest.cpp - search against the oracle -------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "OracleFixture.h"

namespace {

using BeamSearch = toy::OracleFixture;

TEST_F(BeamSearch, GreedyTakesTheBestTokenOfEachStep) { expectOracle(model.decodeOptions()); }

TEST_F(BeamSearch, EveryStoppingRuleEqualsTheOracle) {
  for (const attnrt_stopping stopping : {ATTNRT_STOP_EARLY, ATTNRT_STOP_LATER, ATTNRT_STOP_NEVER_EARLY})
    for (const int beam : {1, 2, 3, 5})
      for (const float penalty : {0.f, 0.6f, 1.f, 2.f, -0.5f}) {
        SCOPED_TRACE("stopping " + std::to_string(stopping) + ", beam " + std::to_string(beam) +
                     ", penalty " + std::to_string(penalty));
        attnrt_decode_options options = model.decodeOptions();
        options.stopping = stopping;
        options.beam = options.n_best = beam;
        options.length_penalty = penalty;
        expectOracle(options);
      }
}

TEST_F(BeamSearch, FewerBestThanBeamsAreTheSameSearch) {
  attnrt_decode_options options = model.decodeOptions();
  options.beam = 4;
  options.n_best = 2;
  expectOracle(options);
}

TEST_F(BeamSearch, LengthsAndSuppressedTokensAreKept) {
  const int32_t suppressed[] = {4, 3};
  for (const int32_t minimum : {0, 3, 6})
    for (const int32_t maximum : {6, 9}) {
      attnrt_decode_options options = model.decodeOptions();
      options.beam = options.n_best = 3;
      options.min_length = minimum;
      options.max_length = maximum;
      options.suppressed_count = 2;
      options.suppressed = suppressed;
      expectOracle(options);
    }
}

TEST_F(BeamSearch, ABeamThatHoldsEverythingFindsTheBestOutput) {
  attnrt_decode_options options = model.decodeOptions();
  options.beam = 343; // 7^3: every hypothesis before the last of 4 tokens
  options.max_length = 4;
  options.stopping = ATTNRT_STOP_NEVER_EARLY;
  const std::vector<toy::Ids> sources{toy::testSources()[0], toy::testSources()[3]};
  const auto lists = session(2, 343, 4).decode(sources, options);
  for (size_t s = 0; s < sources.size(); ++s)
    expectEqual(toy::oracleExhaustive(sources[s], 4, 1), lists[s][0], 1);
}

TEST_F(BeamSearch, LogProbabilitiesAreTheModelsOwn) {
  attnrt_decode_options options = model.decodeOptions();
  options.beam = options.n_best = 3;
  options.min_length = 4;
  auto opened = session(8, 3, 12);
  const auto lists = opened.decode(toy::testSources(), options);
  for (size_t s = 0; s < lists.size(); ++s)
    for (const auto &hypothesis : lists[s]) {
      std::vector<float> wanted = opened.score({{toy::testSources()[s]}}, {{hypothesis.ids}})[0];
      wanted.resize(hypothesis.logProbabilities.size());
      EXPECT_EQ(wanted, hypothesis.logProbabilities);
    }
}

} // namespace
