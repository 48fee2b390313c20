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

bool isMoreProbable(const Candidate &a, const Candidate &b) {
  return a.logProbability != b.logProbability ? a.logProbability > b.logProbability : a.id < b.id;
}

} // namespace

double uniformNumber(uint64_t seed, uint64_t sentence, uint64_t sample, uint64_t position) {
  const uint64_t bits = mix(mix(mix(mix(seed) ^ sentence) ^ sample) ^ position);
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

SampleSearch::SampleSearch(const SearchRules &rules, const SamplingRules &sampling, uint64_t sentence)
    : Search(rules), sampling(sampling), sentence(sentence), outcomes(rules.nBest, -1) {}

Candidate SampleSearch::draw(std::vector<Candidate> candidates, double number) const {
  if (sampling.topK > 0 && candidates.size() > static_cast<size_t>(sampling.topK)) {
    std::nth_element(candidates.begin(), candidates.begin() + sampling.topK, candidates.end(),
                     isMoreProbable);
    candidates.resize(sampling.topK);
  }
  if (sampling.topP < 1)
    std::sort(candidates.begin(), candidates.end(), isMoreProbable);
  std::vector<double> weights;
  const double best = std::min_element(candidates.begin(), candidates.end(), isMoreProbable)->logProbability;
  for (const Candidate &candidate : candidates)
    weights.push_back(std::exp((candidate.logProbability - best) / sampling.temperature));
  double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  if (sampling.topP < 1) {
    // The fewest tokens that together have the probability topP.
    double kept = 0;
    size_t count = 0;
    while (count < weights.size() && (count == 0 || kept < sampling.topP * sum))
      kept += weights[count++];
    weights.resize(count);
    sum = kept;
  }
  double rest = number * sum;
  size_t chosen = 0;
  while (chosen + 1 < weights.size() && rest >= weights[chosen])
    rest -= weights[chosen++];
  return candidates[chosen];
}

std::vector<Move> SampleSearch::advance(std::span<const std::vector<Candidate>> candidates) {
  const int position = length();
  std::vector<int> parents(live.size());
  std::iota(parents.begin(), parents.end(), 0);
  if (samples.empty()) {
    parents.assign(rules.nBest, 0);
    samples.resize(rules.nBest);
    std::iota(samples.begin(), samples.end(), 0);
  }
  settledTokens.clear();
  std::vector<Move> moves;
  std::vector<int> next, nextSamples;
  for (size_t i = 0; i < parents.size(); ++i) {
    const int parent = live[parents[i]];
    std::vector<Candidate> allowed;
    for (const Candidate &candidate : candidates[parents[i]])
      if (rules.isAllowed(candidate.id, position) && std::isfinite(candidate.logProbability))
        allowed.push_back(candidate);
    if (allowed.empty()) {
      outcomes[samples[i]] = parent;
      continue;
    }
    const Candidate token =
        draw(std::move(allowed), uniformNumber(sampling.seed, sentence, samples[i], position));
    const int node = tree.add(parent, token);
    if (token.id != rules.end)
      settledTokens.push_back({samples[i], token.id});
    if (token.id == rules.end || position + 1 >= rules.maxLength) {
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

std::vector<Hypothesis> SampleSearch::results() const {
  if (!finished.empty()) // the prefix alone reached the maximum length
    return std::vector<Hypothesis>(rules.nBest, tree.extract(finished[0], rules));
  std::vector<Hypothesis> all;
  for (const int node : outcomes)
    all.push_back(tree.extract(node, rules));
  return all;
}

} // namespace attnrt
