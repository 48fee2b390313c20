//===- Search.cpp - hypotheses and beam search -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The beam rule is the one of CTranslate2 and, for the later stops, of Hugging Face Transformers: of the best
// 2 x beam continuations, those among the first `beam` that end are finished, the best `beam` that do not end
// go on.

#include "Search.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace attnrt {

bool SearchRules::isAllowed(int32_t token, int length) const {
  if (token == end && length < minLength)
    return false;
  return !std::binary_search(suppressed.begin(), suppressed.end(), token);
}

int SearchRules::candidatesWanted() const {
  const int kept = beam == 1 && stopping == ATTNRT_STOP_EARLY ? 1 : 2 * beam;
  return kept + static_cast<int>(suppressed.size()) + (minLength > 0 ? 1 : 0);
}

float normalisedScore(double total, int length, float penalty) {
  return static_cast<float>(total / std::pow(static_cast<double>(std::max(length, 1)), penalty));
}

int HypothesisTree::add(int parent, Candidate candidate) {
  const int length = parent < 0 ? 1 : nodes[parent].length + 1;
  nodes.push_back(
      {parent, candidate.id, candidate.logProbability, total(parent) + candidate.logProbability, length});
  return static_cast<int>(nodes.size()) - 1;
}

float HypothesisTree::score(int node, const SearchRules &rules) const {
  return node < 0 ? 0 : normalisedScore(nodes[node].total, nodes[node].length, rules.lengthPenalty);
}

Hypothesis HypothesisTree::extract(int node, const SearchRules &rules) const {
  Hypothesis hypothesis;
  if (node < 0)
    return hypothesis;
  const Node &last = nodes[node];
  hypothesis.total = last.total;
  hypothesis.score = score(node, rules);
  hypothesis.ended = last.id == rules.end;
  for (int at = node; at >= 0; at = nodes[at].parent) {
    hypothesis.ids.push_back(nodes[at].id);
    hypothesis.logProbabilities.push_back(nodes[at].logProbability);
  }
  std::reverse(hypothesis.ids.begin(), hypothesis.ids.end());
  std::reverse(hypothesis.logProbabilities.begin(), hypothesis.logProbabilities.end());
  return hypothesis;
}

std::vector<Move> Search::force(Candidate token) {
  live.assign(1, tree.add(live[0], token));
  settledTokens.assign(1, {0, token.id});
  if (length() < rules.maxLength)
    return {{0, token.id}};
  finished.push_back(live[0]);
  live.clear();
  return {};
}

std::vector<Hypothesis> Search::results() const {
  std::vector<std::pair<float, size_t>> order; // of equal scores the one that finished first
  for (size_t i = 0; i < finished.size(); ++i)
    order.emplace_back(-tree.score(finished[i], rules), i);
  std::sort(order.begin(), order.end());
  std::vector<Hypothesis> best;
  for (size_t i = 0; i < order.size() && i < static_cast<size_t>(rules.nBest); ++i)
    best.push_back(tree.extract(finished[order[i].second], rules));
  return best;
}

namespace {

/// A continuation of live hypothesis `parent`.
struct Continuation {
  int parent;
  Candidate candidate;
  double total;
};

bool isBetter(const Continuation &a, const Continuation &b) {
  if (a.total != b.total)
    return a.total > b.total;
  return a.parent != b.parent ? a.parent < b.parent : a.candidate.id < b.candidate.id;
}

} // namespace

std::vector<Move> BeamSearch::advance(std::span<const std::vector<Candidate>> candidates) {
  const int position = length();
  std::vector<Continuation> best;
  for (int row = 0; row < liveCount(); ++row)
    for (const Candidate &candidate : candidates[row])
      // Impossible tokens (minus infinity, and what is no number) are no candidates.
      if (rules.isAllowed(candidate.id, position) &&
          candidate.logProbability > -std::numeric_limits<float>::infinity())
        best.push_back({row, candidate, tree.total(live[row]) + candidate.logProbability});
  const size_t kept = std::min<size_t>(best.size(), 2 * static_cast<size_t>(rules.beam));
  std::partial_sort(best.begin(), best.begin() + kept, best.end(), isBetter);
  best.resize(kept);

  const bool isLastStep = position + 1 >= rules.maxLength;
  settledTokens.clear();
  std::vector<Move> moves;
  std::vector<int> next;
  for (size_t rank = 0; rank < best.size(); ++rank) {
    const Continuation &continuation = best[rank];
    const bool ends = continuation.candidate.id == rules.end;
    const bool counts = rank < static_cast<size_t>(rules.beam);
    if (!ends && counts)
      settledTokens.push_back({0, continuation.candidate.id});
    if (counts && (ends || isLastStep)) {
      finished.push_back(tree.add(live[continuation.parent], continuation.candidate));
      bestHasEnded |= rank == 0;
    } else if (!ends && next.size() < static_cast<size_t>(rules.beam)) {
      next.push_back(tree.add(live[continuation.parent], continuation.candidate));
      moves.push_back({continuation.parent, continuation.candidate.id});
    }
  }
  if (next.empty() && finished.empty())
    finished = live; // nothing is allowed any more: what there is counts
  live = std::move(next);
  if (mustStop(isLastStep)) {
    live.clear();
    moves.clear();
  }
  return moves;
}

bool BeamSearch::mustStop(bool isLastStep) const {
  if (isLastStep || live.empty())
    return true;
  const size_t beam = rules.beam;
  if (rules.lengthPenalty == 0 && bestHasEnded && finished.size() >= static_cast<size_t>(rules.nBest))
    return true;
  if (finished.size() < beam)
    return false;
  if (rules.stopping == ATTNRT_STOP_EARLY)
    return true;
  // The worst of the `beam` best finished ones against the best that a running one can still reach.
  std::vector<float> scores;
  for (const int node : finished)
    scores.push_back(tree.score(node, rules));
  std::nth_element(scores.begin(), scores.begin() + (beam - 1), scores.end(), std::greater<>());
  const bool countsOnLength = rules.stopping == ATTNRT_STOP_NEVER_EARLY && rules.lengthPenalty > 0;
  const int attainableLength = countsOnLength ? rules.maxLength : length();
  return scores[beam - 1] >= normalisedScore(tree.total(live[0]), attainableLength, rules.lengthPenalty);
}

} // namespace attnrt
