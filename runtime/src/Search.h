//===- Search.h - the search for one sentence's best outputs -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Decides, step by step, which hypotheses of a sentence go on. Knows nothing of models: it is told each live
// hypothesis' most probable next tokens and answers which tokens come next.

#ifndef ATTNRT_SRC_SEARCH_H
#define ATTNRT_SRC_SEARCH_H

#include "attnrt/attnrt.h"

#include <cstdint>
#include <span>
#include <vector>

namespace attnrt {

/// A finished output.
struct Hypothesis {
  std::vector<int32_t> ids;            // the end token included where `ended`
  std::vector<float> logProbabilities; // of each id
  double total = 0;
  float score = 0;
  bool ended = false;
};

/// What a search has to keep to.
struct SearchRules {
  int beam = 1;
  int nBest = 1;
  float lengthPenalty = 1;
  attnrt_stopping stopping = ATTNRT_STOP_EARLY;
  int minLength = 0, maxLength = 1;
  int32_t end = 0;
  std::vector<int32_t> suppressed; // sorted

  /// May `token` be chosen as number `length` (from 0)?
  bool isAllowed(int32_t token, int length) const;
  /// How many candidates beam search needs of each hypothesis.
  int candidatesWanted() const;
};

struct Candidate {
  int32_t id;
  float logProbability;
};

/// A hypothesis of the next step: `parent` is its place among those of this step.
struct Move {
  int parent;
  int32_t id;
};

/// A token of the output that is settled; `rank` is the sample's number when sampling.
struct SettledToken {
  int rank;
  int32_t id;
};

/// The tree of everything tried for one sentence: hypotheses share their beginnings.
class HypothesisTree {
public:
  struct Node {
    int parent; // -1: the first token
    int32_t id;
    float logProbability;
    double total;
    int length;
  };

  int add(int parent, Candidate candidate);
  const Node &operator[](int node) const { return nodes[node]; }
  double total(int node) const { return node < 0 ? 0 : nodes[node].total; }
  float score(int node, const SearchRules &rules) const;
  Hypothesis extract(int node, const SearchRules &rules) const;

private:
  std::vector<Node> nodes;
};

/// total / length ^ penalty.
float normalisedScore(double total, int length, float penalty);

/// One sentence of a request.
class Search {
public:
  explicit Search(const SearchRules &rules) : rules(rules) {}
  virtual ~Search() = default;

  bool isDone() const { return live.empty(); }
  int liveCount() const { return static_cast<int>(live.size()); }

  /// Puts a given token behind the only live hypothesis (a prefix).
  std::vector<Move> force(Candidate token);

  /// `candidates[r]`: those of live hypothesis r, best first. Returns the hypotheses of the next step.
  virtual std::vector<Move> advance(std::span<const std::vector<Candidate>> candidates) = 0;

  /// What the last force() or advance() settled, the end token left out: for greedy search and sampling.
  const std::vector<SettledToken> &settled() const { return settledTokens; }

  /// Best first, at most nBest; samples in the order of their numbers.
  virtual std::vector<Hypothesis> results() const;

protected:
  int length() const { return live.empty() || live[0] < 0 ? 0 : tree[live[0]].length; }

  const SearchRules &rules;
  HypothesisTree tree;
  std::vector<int> live{-1}; // nodes; all have the same length
  std::vector<int> finished; // nodes
  std::vector<SettledToken> settledTokens;
};

/// Beam search; with a beam of 1, greedy search.
class BeamSearch final : public Search {
public:
  using Search::Search;
  std::vector<Move> advance(std::span<const std::vector<Candidate>> candidates) override;

private:
  bool mustStop(bool isLastStep) const;

  bool bestHasEnded = false;
};

} // namespace attnrt

#endif // ATTNRT_SRC_SEARCH_H
