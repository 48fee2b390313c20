//===- Sampling.h - drawing tokens from the model's distribution -------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ATTNRT_SRC_SAMPLING_H
#define ATTNRT_SRC_SAMPLING_H

#include "Search.h"

namespace attnrt {

struct SamplingRules {
  float temperature = 1;
  int topK = 0;       // 0: all
  float topP = 1;     // 1: all
  float minP = 0;     // 0: all
  float typicalP = 1; // 1: all
  uint64_t seed = 0;

  /// Whether no candidate is left out.
  bool drawsFromAll() const { return topK == 0 && topP >= 1 && minP <= 0 && typicalP >= 1; }
};

/// A number in [0, 1) that depends on its four coordinates alone, so samples do not depend on batches or
/// order.
double uniformNumber(uint64_t seed, uint64_t sentence, uint64_t sample, uint64_t position);

/// Draws tokens. It keeps its memory from one to the next, so it is for one thread.
class Sampler {
public:
  explicit Sampler(const SamplingRules &rules) : rules(rules) {}

  /// A number in [0, 1) for the token at `position`, as uniformNumber() with the rules' seed.
  double numberFor(uint64_t sentence, uint64_t sample, uint64_t position) const {
    return uniformNumber(rules.seed, sentence, sample, position);
  }

  /// The token that `number`, from [0, 1), chooses among `candidates`, of which there is at least one.
  Candidate draw(const std::vector<Candidate> &candidates, double number);

private:
  /// A candidate's share of the probability. Shares need not sum to one; those of lower rank are kept first.
  struct Share {
    float rank, weight;
    int32_t id, place;
  };

  static bool comesFirst(const Share &a, const Share &b) {
    return a.rank != b.rank ? a.rank < b.rank : a.id < b.id;
  }
  void weigh(const std::vector<Candidate> &candidates);
  void keepShares(const std::vector<Candidate> &candidates);
  double sumOfShares() const;
  void keepFirst(size_t count);
  void keepFirstWith(double enough);
  void rankBySurprise(double sum);

  const SamplingRules rules;
  std::vector<float> weights; // of each candidate, or of those kept
  std::vector<double> sums;   // of blocks of weights
  std::vector<Share> shares;
};

/// nBest samples of one sentence, drawn independently of each other.
class SampleSearch final : public TreeSearch {
public:
  /// `sampler` outlives the search; those of a request share it.
  SampleSearch(const SearchRules &rules, Sampler &sampler, uint64_t sentence);

  const std::vector<Move> &force(Candidate token) override;

  /// `candidates[r]` are all tokens that may be drawn, or more.
  const std::vector<Move> &advance(CandidateLists candidates) override;

  std::vector<Hypothesis> results(size_t count) const override;

private:
  void beginSamples();

  Sampler &sampler;
  uint64_t sentence;
  std::vector<int> samples;  // of each live hypothesis; empty before the first draw, when all share one
  std::vector<int> outcomes; // node of each finished sample
  std::vector<int> next, nextSamples; // what `live` and `samples` become
};

} // namespace attnrt

#endif // ATTNRT_SRC_SAMPLING_H
