//===- Sampling.cpp - drawing tokens from the model's distribution -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "Sampling.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <span>

namespace attnrt {
namespace {

/// The finaliser of SplitMix64 (Steele, Lea and Flood, 2014): a bijection that spreads every bit.
uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

/// e^x for x from -88, where it gives zero, to 0. e^x = 2^n * e^r with |r| <= ln(2) / 2 (Cody and Waite,
/// 1980): adding 1.5 * 2^23 rounds to the whole number n, which then stands in the lowest bits; -127 makes
/// 2^n zero. Taylor's terms up to r^6 leave less than 0.35^7 / 7! * e^0.35 < 2^-22, roundings less than as
/// much again. Compilers make vectors of it, of std::exp they do not.
float expOfNegative(float x) {
  constexpr float rounder = 12582912, perOctave = 1.44269504F;
  constexpr float octave = 0.693359375F, octaveRest = -2.12194440e-4F; // ln(2); n times the first is exact
  const float shifted = x * perOctave + rounder, n = shifted - rounder;
  const float r = x - n * octave - n * octaveRest;
  const float power =
      1 + r * (1 + r * (1 / 2.F + r * (1 / 6.F + r * (1 / 24.F + r * (1 / 120.F + r * (1 / 720.F))))));
  return power * std::bit_cast<float>((std::bit_cast<uint32_t>(shifted) + 127) << 23);
}

/// Sums and maxima are of several lanes, which do not wait for each other.
constexpr size_t Lanes = 8;

float largest(const std::vector<float> &values) {
  float lanes[Lanes];
  std::fill(lanes, lanes + Lanes, values[0]);
  const size_t whole = values.size() / Lanes * Lanes;
  for (size_t i = 0; i < whole; i += Lanes)
    for (size_t lane = 0; lane < Lanes; ++lane)
      lanes[lane] = std::max(lanes[lane], values[i + lane]);
  const float best = *std::max_element(lanes, lanes + Lanes);
  return std::accumulate(values.begin() + whole, values.end(), best,
                         [](float a, float b) { return std::max(a, b); });
}

double sumOf(std::span<const float> values) {
  double lanes[Lanes] = {};
  const size_t whole = values.size() / Lanes * Lanes;
  for (size_t i = 0; i < whole; i += Lanes)
    for (size_t lane = 0; lane < Lanes; ++lane)
      lanes[lane] += values[i + lane];
  return std::accumulate(values.begin() + whole, values.end(), std::accumulate(lanes, lanes + Lanes, 0.0));
}

/// How many of the weights are looked at one by one.
constexpr size_t BlockSize = 256;

std::span<const float> blockOf(const std::vector<float> &weights, size_t block) {
  return std::span(weights).subspan(block * BlockSize,
                                    std::min(BlockSize, weights.size() - block * BlockSize));
}

/// Their sum; `sums` becomes those of blocks.
double sumBlocks(const std::vector<float> &weights, std::vector<double> &sums) {
  sums.clear();
  for (size_t block = 0; block * BlockSize < weights.size(); ++block)
    sums.push_back(sumOf(blockOf(weights, block)));
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

/// The first of `values` whose sum with those before it is above `rest`, which loses what is before it; the
/// last one where rounding leaves none.
template <typename Values> size_t findAbove(const Values &values, double &rest) {
  size_t found = 0;
  for (; found + 1 < values.size() && rest >= values[found]; ++found)
    rest -= values[found];
  return found;
}

} // namespace

double uniformNumber(uint64_t seed, uint64_t sentence, uint64_t sample, uint64_t position) {
  const uint64_t bits = mix(mix(mix(mix(seed) ^ sentence) ^ sample) ^ position);
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

/// The best one weighs 1.
void Sampler::weigh(const std::vector<Candidate> &candidates) {
  weights.resize(candidates.size());
  for (size_t i = 0; i < candidates.size(); ++i)
    weights[i] = candidates[i].score;
  const float best = largest(weights), temperature = rules.temperature;
  for (float &weight : weights)
    weight = std::max((weight - best) / temperature, -88.F);
  for (float &weight : weights)
    weight = expOfNegative(weight);
}

double Sampler::sumOfShares() const {
  return std::accumulate(shares.begin(), shares.end(), 0.0,
                         [](double sum, const Share &share) { return sum + share.weight; });
}

void Sampler::keepFirst(size_t count) {
  if (count >= shares.size())
    return;
  std::nth_element(shares.begin(), shares.begin() + count, shares.end(), comesFirst);
  shares.resize(count);
}

/// Leaves the fewest of the first shares that together have `enough`, at least one. Halves again and again
/// the part in which the last one kept lies: those before it have less than `enough`.
void Sampler::keepFirstWith(double enough) {
  double before = 0;
  auto begin = shares.begin(), end = shares.end();
  while (end - begin > 1) {
    const auto middle = begin + (end - begin) / 2;
    std::nth_element(begin, middle, end, comesFirst);
    const double sum = std::accumulate(begin, middle, before,
                                       [](double sum, const Share &share) { return sum + share.weight; });
    if (sum >= enough) {
      end = middle;
    } else {
      begin = middle;
      before = sum;
    }
  }
  shares.erase(end, shares.end());
}

/// First come those whose surprise is closest to the expected one.
void Sampler::rankBySurprise(double sum) {
  double entropy = 0;
  for (Share &share : shares) {
    const auto part = static_cast<float>(share.weight / sum);
    share.rank = -std::log(part);
    entropy += part > 0 ? part * share.rank : 0;
  }
  for (Share &share : shares)
    share.rank = std::fabs(share.rank - static_cast<float>(entropy));
}

/// `topP`: nucleus sampling (Holtzman et al., 2020); of n candidates, those below (1 - topP) / n of the sum
/// have less than 1 - topP of it together, so none of them is in the nucleus. `typicalP`: locally typical
/// sampling (Meister et al., 2023).
void Sampler::keepShares(const std::vector<Candidate> &candidates) {
  double sum = 0, least = 0;
  if (rules.topK == 0) {
    sum = sumBlocks(weights, sums);
    least = std::max<double>(rules.minP, (1.0 - rules.topP) * sum / candidates.size());
  }
  shares.clear();
  for (size_t i = 0; i < candidates.size(); ++i)
    if (weights[i] >= least)
      shares.push_back({-weights[i], weights[i], candidates[i].id, static_cast<int32_t>(i)});
  if (rules.topK > 0) {
    keepFirst(rules.topK);
    sum = sumOfShares();
  }
  if (rules.topP < 1)
    keepFirstWith(rules.topP * sum);
  std::erase_if(shares, [&](const Share &share) { return share.weight < rules.minP; }); // the best is 1
  if (rules.typicalP < 1) {
    sum = sumOfShares();
    rankBySurprise(sum);
    keepFirstWith(rules.typicalP * sum);
  }
  weights.clear();
  for (const Share &share : shares)
    weights.push_back(share.weight);
}

Candidate Sampler::draw(const std::vector<Candidate> &candidates, double number) {
  weigh(candidates);
  if (!rules.drawsFromAll())
    keepShares(candidates);
  double rest = number * sumBlocks(weights, sums);
  const size_t block = findAbove(sums, rest);
  const size_t chosen = block * BlockSize + findAbove(blockOf(weights, block), rest);
  return candidates[rules.drawsFromAll() ? chosen : shares[chosen].place];
}

SampleSearch::SampleSearch(const SearchRules &rules, Sampler &sampler, uint64_t sentence)
    : TreeSearch(rules), sampler(sampler), sentence(sentence), outcomes(rules.nBest, -1) {}

const std::vector<Move> &SampleSearch::force(Candidate token) {
  TreeSearch::force(token);
  const bool isEnd = takenTokens.empty();
  takenTokens.clear();
  for (int sample = 0; !isEnd && sample < rules.nBest; ++sample) // all of them begin so
    takenTokens.push_back({sample, token.id});
  return moves;
}

/// All samples have the hypothesis of the prefix so far.
void SampleSearch::beginSamples() {
  live.assign(rules.nBest, live[0]);
  samples.resize(rules.nBest);
  std::iota(samples.begin(), samples.end(), 0);
}

const std::vector<Move> &SampleSearch::advance(CandidateLists candidates) {
  const int position = length();
  const bool areFirst = samples.empty();
  if (areFirst)
    beginSamples();
  takenTokens.clear();
  moves.clear();
  next.clear();
  nextSamples.clear();
  for (size_t i = 0; i < live.size(); ++i) {
    const int row = areFirst ? 0 : static_cast<int>(i);
    const std::vector<Candidate> &allowed = candidates[row];
    if (allowed.empty()) {
      outcomes[samples[i]] = live[i];
      continue;
    }
    const Candidate token = sampler.draw(allowed, sampler.numberFor(sentence, samples[i], position));
    const int node = tree.add(live[i], token);
    if (!rules.isEnd(token.id))
      takenTokens.push_back({samples[i], token.id});
    if (rules.isEnd(token.id) || position + 1 >= rules.maxLength) {
      outcomes[samples[i]] = node;
      continue;
    }
    next.push_back(node);
    nextSamples.push_back(samples[i]);
    moves.push_back({row, token.id});
  }
  live.swap(next);
  samples.swap(nextSamples);
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
