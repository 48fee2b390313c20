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
};

/// A number in [0, 1) that depends on its four coordinates alone, so samples do not depend on batches or
/// order.
double uniformNumber(uint64_t seed, uint64_t sentence, uint64_t sample, uint64_t position);

/// The token that `number`, from [0, 1), chooses among `candidates`, of which there is at least one.
Candidate drawToken(const SamplingRules &sampling, const std::vector<Candidate> &candidates, double number);

/// nBest samples of one sentence, drawn independently of each other.
class SampleSearch final : public TreeSearch {
public:
  SampleSearch(const SearchRules &rules, const SamplingRules &sampling, uint64_t sentence);

  const std::vector<Move> &force(Candidate token) override;

  /// `candidates[r]` are all tokens that may be drawn, or more.
  const std::vector<Move> &advance(CandidateLists candidates) override;

  std::vector<Hypothesis> results(size_t count) const override;

private:
  const SamplingRules &sampling;
  uint64_t sentence;
  std::vector<int> samples;  // of each live hypothesis; empty before the first draw, when all share one
  std::vector<int> outcomes; // node of each finished sample
};

} // namespace attnrt

#endif // ATTNRT_SRC_SAMPLING_H
