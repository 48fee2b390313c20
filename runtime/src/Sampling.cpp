//===- Sampling.cpp - drawing tokens from the model's distribution -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "Sampling.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace attnrt {
namespace {

/// The finaliser of SplitMix64 (Steele, Lea and Flood, 2014): a bijection that spreads every bit.
uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

/// A token and its share of the probability; shares need not sum to one.
struct Share {
  Candidate candidate;
  double weight;
};

bool isLarger(const Share &a, const Share &b) {
  return a.weight != b.weight ? a.weight > b.weight : a.candidate.id < b.candidate.id;
}

double sumOf(const std::vector<Share> &shares) {
  double sum = 0;
  for (const Share &share : shares)
    sum += share.weight;
  return sum;
}

/// Keeps the fewest of the first shares that together have the part `p` of the sum, at least one.
void keepFirst(std::vector<Share> &shares, double p) {
  const double enough = p * sumOf(shares);
  double kept = 0;
  size_t count = 0;
  while (count < shares.size() && (count == 0 || kept < enough))
    kept += shares[count++].weight;
  shares.resize(count);
}

/// Leaves the `count` largest shares, the largest first.
void keepLargest(std::vector<Share> &shares, size_t count) {
  count = std::min(count, shares.size());
  std::partial_sort(shares.begin(), shares.begin() + count, shares.end(), isLarger);
  shares.resize(count);
}

/// Nucleus sampling (Holtzman et al., 2020): the fewest of the largest shares that together have the part `p`
/// of the sum. A few are most of it as a rule: no more are sorted than that takes.
void keepNucleus(std::vector<Share> &shares, double p) {
  const double enough = p * sumOf(shares);
  double kept = 0;
  size_t count = 0;
  for (size_t sorted = 0; count < shares.size() && (count == 0 || kept < enough);
       kept += shares[count++].weight)
    if (count == sorted) {
      const auto begin = shares.begin() + sorted;
      sorted = std::min(shares.size(), 4 * sorted + 64);
      std::nth_element(begin, shares.begin() + (sorted - 1), shares.end(), isLarger);
      std::sort(begin, shares.begin() + sorted, isLarger);
    }
  shares.resize(count);
}

/// Locally typical sampling (Meister et al., 2023): first those whose surprise is closest to the expected
/// one.
void keepTypical(std::vector<Share> &shares, double p) {
  const double sum = sumOf(shares);
  const auto surprise = [&](const Share &share) { return -std::log(share.weight / sum); };
  double entropy = 0;
  for (const Share &share : shares)
    entropy += share.weight > 0 ? share.weight / sum * surprise(share) : 0;
  std::sort(shares.begin(), shares.end(), [&](const Share &a, const Share &b) {
    const double x = std::fabs(surprise(a) - entropy), y = std::fabs(surprise(b) - entropy);
    return x != y ? x < y : a.candidate.id < b.candidate.id;
  });
  keepFirst(shares, p);
}

} // namespace

double uniformNumber(uint64_t seed, uint64_t sentence, uint64_t sample, uint64_t position) {
  const uint64_t bits = mix(mix(mix(mix(seed) ^ sentence) ^ sample) ^ position);
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

Candidate drawToken(const SamplingRules &sampling, const std::vector<Candidate> &candidates, double number) {
  float best = candidates[0].score;
  for (const Candidate &candidate : candidates)
    best = std::max(best, candidate.score);
  std::vector<Share> shares;
  shares.reserve(candidates.size());
  for (const Candidate &candidate : candidates)
    shares.push_back({candidate, std::exp((candidate.score - best) / sampling.temperature)});
  if (sampling.topK > 0)
    keepLargest(shares, sampling.topK);
  if (sampling.topP < 1)
    keepNucleus(shares, sampling.topP);
  std::erase_if(shares, [&](const Share &share) { return share.weight < sampling.minP; }); // the best is 1
  if (sampling.typicalP < 1)
    keepTypical(shares, sampling.typicalP);
  double rest = number * sumOf(shares);
  size_t chosen = 0;
  while (chosen + 1 < shares.size() && rest >= shares[chosen].weight)
    rest -= shares[chosen++].weight;
  return shares[chosen].candidate;
}

SampleSearch::SampleSearch(const SearchRules &rules, const SamplingRules &sampling, uint64_t sentence)
    : TreeSearch(rules), sampling(sampling), sentence(sentence), outcomes(rules.nBest, -1) {}

const std::vector<Move> &SampleSearch::force(Candidate token) {
  TreeSearch::force(token);
  takenTokens.clear();
  for (int sample = 0; sample < rules.nBest; ++sample) // all of them begin so
    takenTokens.push_back({sample, token.id});
  return moves;
}

const std::vector<Move> &SampleSearch::advance(CandidateLists candidates) {
  const int position = length();
  std::vector<int> parents(live.size());
  std::iota(parents.begin(), parents.end(), 0);
  if (samples.empty()) {
    parents.assign(rules.nBest, 0);
    samples.resize(rules.nBest);
    std::iota(samples.begin(), samples.end(), 0);
  }
  takenTokens.clear();
  moves.clear();
  std::vector<int> next, nextSamples;
  for (size_t i = 0; i < parents.size(); ++i) {
    const int parent = live[parents[i]];
    const std::vector<Candidate> &allowed = candidates[parents[i]];
    if (allowed.empty()) {
      outcomes[samples[i]] = parent;
      continue;
    }
    const double number = uniformNumber(sampling.seed, sentence, samples[i], position);
    const Candidate token = drawToken(sampling, allowed, number);
    const int node = tree.add(parent, token);
    if (!rules.isEnd(token.id))
      takenTokens.push_back({samples[i], token.id});
    if (rules.isEnd(token.id) || position + 1 >= rules.maxLength) {
      outcomes[samples[i]] = node;
      continue;
    }
    next.push_back(node);
    nextSamples.push_back(samples[i]);
    moves.push_back({parents[i], token.id});
  }
  live = std::move(next);
  samples = std::move(nextSamples);
  return moves;
}

std::vector<Hypothesis> SampleSearch::results(size_t) const {
  if (!finished.empty()) // the prefix alone reached the maximum length
    return std::vector<Hypothesis>(rules.nBest, tree.extract(finished[0], rules));
  std::vector<Hypothesis> all;
  for (const int node : outcomes)
    all.push_back(tree.extract(node, rules));
  return all;
}

} // namespace attnrt
