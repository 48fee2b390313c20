//===- Search.cpp - hypotheses and beam search -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The beam rule is the one of CTranslate2 and Hugging Face Transformers: of the best 2 x beam continuations
// (more where there are several end tokens), those among the first `beam` that end are finished, the best
// `beam` that do not end go on.

#include "Search.h"

#include <algorithm>
#include <cmath>

namespace attnrt {

void keepBest(std::vector<Hypothesis> &hypotheses, size_t count) {
  std::stable_sort(hypotheses.begin(), hypotheses.end(),
                   [](const Hypothesis &a, const Hypothesis &b) { return a.score > b.score; });
  hypotheses.resize(std::min(hypotheses.size(), count));
}

float normalisedScore(double total, int length, float penalty) {
  return static_cast<float>(total / std::pow(static_cast<double>(std::max(length, 1)), penalty));
}

int HypothesisTree::add(int parent, Candidate candidate) {
  nodes.push_back(
      {parent, candidate.id, candidate.logProbability, total(parent) + candidate.score, length(parent) + 1});
  return static_cast<int>(nodes.size()) - 1;
}

float HypothesisTree::score(int node, const SearchRules &rules) const {
  return node < 0 ? 0 : normalisedScore(nodes[node].total, nodes[node].length, rules.lengthPenalty);
}

void HypothesisTree::appendIds(int node, std::vector<int32_t> &ids) const {
  const size_t begin = ids.size();
  ids.resize(begin + length(node));
  for (size_t i = ids.size(); i-- > begin; node = nodes[node].parent)
    ids[i] = nodes[node].id;
}

std::vector<int32_t> HypothesisTree::ids(int node) const {
  std::vector<int32_t> ids;
  appendIds(node, ids);
  return ids;
}

Hypothesis HypothesisTree::extract(int node, const SearchRules &rules) const {
  Hypothesis hypothesis;
  hypothesis.ids = ids(node);
  hypothesis.score = score(node, rules);
  hypothesis.ended = node >= 0 && rules.isEnd(nodes[node].id);
  hypothesis.logProbabilities.resize(hypothesis.ids.size());
  for (size_t i = hypothesis.ids.size(); i-- > 0; node = nodes[node].parent)
    hypothesis.logProbabilities[i] = nodes[node].logProbability;
  for (const float value : hypothesis.logProbabilities)
    hypothesis.total += value;
  return hypothesis;
}

const std::vector<Move> &TreeSearch::force(Candidate token) {
  live.assign(1, tree.add(live[0], token));
  takenTokens.assign(1, {0, token.id});
  moves.assign(1, {0, token.id});
  if (length() < rules.maxLength)
    return moves;
  if (rules.isEnd(token.id))
    takenTokens.clear();
  finished.push_back(live[0]);
  live.clear();
  moves.clear();
  return moves;
}

std::vector<Hypothesis> TreeSearch::results(size_t count) const {
  std::vector<std::pair<float, size_t>> order; // of equal scores the one that finished first
  for (size_t i = 0; i < finished.size(); ++i)
    order.emplace_back(-tree.score(finished[i], rules), i);
  std::sort(order.begin(), order.end());
  std::vector<Hypothesis> best;
  for (size_t i = 0; i < std::min(order.size(), count); ++i)
    best.push_back(tree.extract(finished[order[i].second], rules));
  return best;
}

bool BeamSearch::isBetter(const Continuation &a, const Continuation &b) {
  if (a.total != b.total)
    return a.total > b.total;
  return a.parent != b.parent ? a.parent < b.parent : a.candidate.id < b.candidate.id;
}

const std::vector<Move> &BeamSearch::advance(CandidateLists candidates) {
  const int position = length();
  best.clear();
  for (int row = 0; row < liveCount(); ++row)
    for (const Candidate &candidate : candidates[row])
      best.push_back({row, candidate, tree.total(live[row]) + candidate.score});
  const size_t kept = std::min(best.size(), rules.continuationsKept());
  std::partial_sort(best.begin(), best.begin() + kept, best.end(), isBetter);
  best.resize(kept);

  const bool isLastStep = position + 1 >= rules.maxLength;
  takenTokens.clear();
  moves.clear();
  next.clear();
  for (size_t rank = 0; rank < best.size(); ++rank) {
    const Continuation &continuation = best[rank];
    const bool ends = rules.isEnd(continuation.candidate.id);
    const bool counts = rank < static_cast<size_t>(rules.beam);
    if (counts && (ends || isLastStep)) {
      finished.push_back(tree.add(live[continuation.parent], continuation.candidate));
      bestHasEnded |= rank == 0;
    } else if (!ends && !isLastStep && next.size() < static_cast<size_t>(rules.beam)) {
      next.push_back(tree.add(live[continuation.parent], continuation.candidate));
      moves.push_back({continuation.parent, continuation.candidate.id});
    } else {
      continue;
    }
    if (!ends)
      takenTokens.push_back({static_cast<int>(rank), continuation.candidate.id});
  }
  if (next.empty() && finished.empty())
    finished = live; // nothing is allowed any more: what there is counts
  live.swap(next);
  if (mustStop(isLastStep)) {
    live.clear();
    moves.clear();
  }
  return moves;
}

bool BeamSearch::mustStop(bool isLastStep) const {
  if (isLastStep || live.empty())
    return true;
  // Totals only fall, so without a length penalty nothing beats a hypothesis that ended as the best of all.
  if (rules.lengthPenalty == 0 && bestHasEnded && rules.nBest == 1 && !rules.ranksLater)
    return true;
  const size_t enough = rules.patience;
  if (finished.size() < enough)
    return false;
  if (rules.stopping == ATTNRT_STOP_EARLY)
    return true;
  // The worst of the best finished ones against the best that a running one can still reach.
  std::vector<float> scores;
  for (const int node : finished)
    scores.push_back(tree.score(node, rules));
  std::nth_element(scores.begin(), scores.begin() + (enough - 1), scores.end(), std::greater<>());
  const bool countsOnLength = rules.stopping == ATTNRT_STOP_NEVER_EARLY && rules.lengthPenalty > 0;
  const int attainableLength = countsOnLength ? rules.maxLength : length();
  return scores[enough - 1] >= normalisedScore(tree.total(live[0]), attainableLength, rules.lengthPenalty);
}

} // namespace attnrt
