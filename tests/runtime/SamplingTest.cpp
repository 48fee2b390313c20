//===- SamplingTest.cpp - draws from many tokens against double precision -----===//
// SPDX-License-Identifier: Apache-2.0

#include "runtime/src/Sampling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

namespace {

using attnrt::Candidate;
using attnrt::SamplingRules;

/// A token and its weight.
using Share = std::pair<int32_t, double>;

double sumOf(const std::vector<Share> &shares) {
  double sum = 0;
  for (const Share &share : shares)
    sum += share.second;
  return sum;
}

/// Leaves the first shares that together have the part `p` of the sum.
void keepFirst(std::vector<Share> &shares, double p) {
  const double enough = p * sumOf(shares);
  double kept = 0;
  size_t count = 0;
  while (count < shares.size() && (count == 0 || kept < enough))
    kept += shares[count++].second;
  shares.resize(count);
}

/// The rules one after the other, as their papers have them.
std::vector<Share> referenceShares(const SamplingRules &rules, const std::vector<Candidate> &candidates) {
  double best = candidates[0].score;
  for (const Candidate &candidate : candidates)
    best = std::max<double>(best, candidate.score);
  std::vector<Share> shares;
  for (const Candidate &candidate : candidates)
    shares.emplace_back(candidate.id, std::exp((candidate.score - best) / rules.temperature));
  if (rules.topK > 0 || rules.topP < 1)
    std::stable_sort(shares.begin(), shares.end(), [](auto &a, auto &b) { return a.second > b.second; });
  if (rules.topK > 0)
    shares.resize(std::min<size_t>(shares.size(), rules.topK));
  if (rules.topP < 1)
    keepFirst(shares, rules.topP);
  std::erase_if(shares, [&](const Share &share) { return share.second < rules.minP; });
  if (rules.typicalP < 1) {
    double entropy = 0;
    const double sum = sumOf(shares);
    for (const Share &share : shares)
      entropy -= share.second > 0 ? share.second / sum * std::log(share.second / sum) : 0;
    const auto distance = [&](const Share &share) {
      return std::fabs(-std::log(share.second / sum) - entropy);
    };
    std::stable_sort(shares.begin(), shares.end(),
                     [&](auto &a, auto &b) { return distance(a) < distance(b); });
    keepFirst(shares, rules.typicalP);
  }
  return shares;
}

/// Numbers that draw one token are one part of [0, 1), as long as its share, so of evenly spaced ones so many
/// draw it, or one more or less. Weights are off by less than 2^-21 of themselves, and by |x| e^x 2^-23 <
/// 2^-24 for the rounding of a difference x: bounds by less than 2^-20.
void expectReference(const SamplingRules &rules, const std::vector<Candidate> &candidates) {
  const std::vector<Share> shares = referenceShares(rules, candidates);
  constexpr int draws = 200;
  attnrt::Sampler sampler(rules);
  std::map<int32_t, int> counts;
  for (int i = 0; i < draws; ++i)
    ++counts[sampler.draw(candidates, (i + 0.5) / draws).id];
  const double sum = sumOf(shares);
  int drawn = 0;
  for (const auto &[id, weight] : shares) {
    const int count = counts.contains(id) ? counts[id] : 0;
    EXPECT_NEAR(draws * weight / sum, count, 1 + draws * 0x1p-20) << "token " << id;
    drawn += count;
  }
  EXPECT_EQ(draws, drawn) << "others were drawn";
}

class Sampling : public testing::TestWithParam<int> {};

TEST_P(Sampling, DrawsAsTheReferenceDoes) {
  std::mt19937 random(GetParam());
  std::normal_distribution<float> scores(-12, 4); // some are 16 above the others and as many below
  std::vector<Candidate> candidates;
  for (int id = 0; id < GetParam(); ++id) {
    const float score = scores(random);
    candidates.push_back({id, score, score});
  }
  for (const float temperature : {0.01F, 0.7F, 1.F, 8.F})
    for (const SamplingRules &rules :
         {SamplingRules{}, SamplingRules{.topK = 3}, SamplingRules{.topK = 300, .topP = 0.5F},
          SamplingRules{.topP = 0.95F}, SamplingRules{.topP = 0.3F, .minP = 0.2F},
          SamplingRules{.minP = 0.01F}, SamplingRules{.typicalP = 0.9F},
          SamplingRules{.topP = 0.9F, .typicalP = 0.5F}}) {
      SamplingRules warm = rules;
      warm.temperature = temperature;
      SCOPED_TRACE(testing::Message()
                   << "temperature " << temperature << ", top_k " << rules.topK << ", top_p " << rules.topP
                   << ", min_p " << rules.minP << ", typical_p " << rules.typicalP);
      expectReference(warm, candidates);
    }
}

INSTANTIATE_TEST_SUITE_P(Tokens, Sampling, testing::Values(1, 2, 7, 8, 255, 256, 257, 513, 32003));

TEST(SamplingAtExtremes, ScoresFarApartAreNoProblem) {
  const std::vector<Candidate> candidates = {{0, -3e38F, -3e38F}, {1, -1, -1}, {2, -1e5F, -1e5F}};
  attnrt::Sampler sampler({.temperature = 1e-3F});
  for (const double number : {0.0, 0x1p-53, 0.5, 1 - 0x1p-53})
    EXPECT_EQ(1, sampler.draw(candidates, number).id) << number;
}

} // namespace
