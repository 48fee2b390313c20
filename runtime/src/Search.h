//===- Search.h - the search for one sentence's best outputs -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Decides, step by step, which hypotheses of a sentence go on. Knows nothing of models: it is told which
// tokens each live hypothesis may take next, and answers which it takes.

#ifndef ATTNRT_SRC_SEARCH_H
#define ATTNRT_SRC_SEARCH_H

#include "TokenRules.h"
#include "attnrt/attnrt.h"

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace attnrt {

/// A finished output.
struct Hypothesis {
  std::vector<int32_t> ids;            // the end token included where `ended`
  std::vector<float> logProbabilities; // of each id: the model's own
  double total = 0;                    // their sum
  float score = 0;                     // what the search ranks by
  bool ended = false;
  std::vector<float> attention; // ids x source tokens, where it was asked for
};

/// Leaves the `count` best, best first; of equal scores the one that came first.
void keepBest(std::vector<Hypothesis> &hypotheses, size_t count);

/// What a search has to keep to.
struct SearchRules {
  int beam = 1;
  int nBest = 1;
  int patience = 1; // how many finished hypotheses end the search
  float lengthPenalty = 1;
  attnrt_stopping stopping = ATTNRT_STOP_EARLY;
  bool ranksLater = false; // what has finished is ranked by more than its score in the end
  int maxLength = 1;
  std::vector<int32_t> ends;

  bool isEnd(int32_t id) const { return std::find(ends.begin(), ends.end(), id) != ends.end(); }
  /// How many continuations a beam looks at: so many that enough of them go on. (Transformers')
  size_t continuationsKept() const { return (1 + ends.size()) * beam; }
  /// How many candidates of one hypothesis a beam can make use of: with every end token among them, as many
  /// as the beam has hypotheses go on, and whatever is worse is neither kept nor among the first `beam`.
  int usefulCandidates() const { return beam + static_cast<int>(ends.size()); }
  /// How many candidates the search needs of each hypothesis.
  int candidatesWanted() const { return beam == 1 ? 1 : usefulCandidates(); }
};

/// A hypothesis of the next step: `parent` is its place among those of this step.
struct Move {
  int parent;
  int32_t id;
};

/// A token that a hypothesis took; `rank` is its place among the continuations, or the sample's number.
struct TakenToken {
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
    double total; // of the scores
    int length;
  };

  int add(int parent, Candidate candidate);
  double total(int node) const { return node < 0 ? 0 : nodes[node].total; }
  int length(int node) const { return node < 0 ? 0 : nodes[node].length; }
  float score(int node, const SearchRules &rules) const;
  std::vector<int32_t> ids(int node) const;
  void appendIds(int node, std::vector<int32_t> &ids) const;
  Hypothesis extract(int node, const SearchRules &rules) const;

private:
  std::vector<Node> nodes;
};

/// total / length ^ penalty.
float normalisedScore(double total, int length, float penalty);

using CandidateLists = std::span<const std::vector<Candidate>>;

/// One sentence of a request.
class Search {
public:
  virtual ~Search() = default;

  bool isDone() const { return liveCount() == 0; }
  virtual int liveCount() const = 0;

  /// Appends the output so far of live hypothesis `row`.
  virtual void appendOutput(int row, std::vector<int32_t> &ids) const = 0;

  /// Puts a given token behind the only live hypothesis. Returns the hypotheses of the next step, until the
  /// next call.
  virtual const std::vector<Move> &force(Candidate token) = 0;

  /// `candidates[r]`: those of live hypothesis r. Returns as force().
  virtual const std::vector<Move> &advance(CandidateLists candidates) = 0;

  /// Best first, at most `count`; samples in the order of their numbers.
  virtual std::vector<Hypothesis> results(size_t count) const = 0;

  /// What hypotheses took in the last force() or advance(), end tokens left out: also those of a search that
  /// is done with it. Settled for greedy search and sampling.
  const std::vector<TakenToken> &taken() const { return takenTokens; }

protected:
  std::vector<Move> moves;
  std::vector<TakenToken> takenTokens;
};

/// A search whose hypotheses form one tree.
class TreeSearch : public Search {
public:
  explicit TreeSearch(SearchRules rules) : rules(std::move(rules)) {}

  int liveCount() const override { return static_cast<int>(live.size()); }
  void appendOutput(int row, std::vector<int32_t> &ids) const override { tree.appendIds(live[row], ids); }
  const std::vector<Move> &force(Candidate token) override;
  std::vector<Hypothesis> results(size_t count) const override;

protected:
  int length() const { return live.empty() ? 0 : tree.length(live[0]); }

  const SearchRules rules;
  HypothesisTree tree;
  std::vector<int> live{-1}; // nodes; all have the same length
  std::vector<int> finished; // nodes
};

/// Beam search; with a beam of 1, greedy search.
class BeamSearch final : public TreeSearch {
public:
  using TreeSearch::TreeSearch;
  const std::vector<Move> &advance(CandidateLists candidates) override;

private:
  /// A continuation of live hypothesis `parent`.
  struct Continuation {
    int parent;
    Candidate candidate;
    double total;
  };

  static bool isBetter(const Continuation &a, const Continuation &b);
  bool mustStop(bool isLastStep) const;

  std::vector<Continuation> best; // of a step
  std::vector<int> next;          // what `live` becomes
  bool bestHasEnded = false;
};

} // namespace attnrt

#endif // ATTNRT_SRC_SEARCH_H
