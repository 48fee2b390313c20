//===- GroupSearch.cpp - beam searches of one sentence side by side ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "GroupSearch.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace attnrt {

int GroupSearch::liveCount() const {
  int count = 0;
  for (const BeamSearch &group : partedGroups())
    count += group.liveCount();
  return count;
}

void GroupSearch::appendOutput(int row, std::vector<int32_t> &ids) const {
  size_t group = 0;
  for (; row >= groups[group].liveCount(); ++group)
    row -= groups[group].liveCount();
  groups[group].appendOutput(row, ids);
}

const std::vector<Move> &GroupSearch::force(Candidate token) {
  for (BeamSearch &group : groups)
    moves = group.force(token);
  return moves;
}

void GroupSearch::advanceGroup(size_t group, CandidateLists candidates, int firstRow) {
  for (const Move &move : groups[group].advance(candidates))
    moves.push_back({firstRow + move.parent, move.id});
}

const std::vector<Move> &DiverseSearch::advance(CandidateLists candidates) {
  moves.clear();
  std::map<int32_t, int> taken; // how many hypotheses of earlier groups take a token
  int firstRow = 0;
  for (size_t group = 0; group < groups.size(); ++group) {
    const int count = groups[group].liveCount();
    if (count == 0)
      continue;
    const auto rows = candidates.subspan(firstRow, count);
    std::vector<std::vector<Candidate>> lists(rows.begin(), rows.end());
    for (std::vector<Candidate> &list : lists)
      for (Candidate &candidate : list)
        if (const auto found = taken.find(candidate.id); found != taken.end())
          candidate.score -= penalty * static_cast<float>(found->second);
    advanceGroup(group, lists, firstRow);
    for (const TakenToken &token : groups[group].taken())
      ++taken[token.id];
    firstRow += haveParted ? count : 0;
  }
  haveParted = true;
  return moves;
}

std::vector<Hypothesis> DiverseSearch::results(size_t count) const {
  std::vector<Hypothesis> all;
  for (const BeamSearch &group : partedGroups())
    for (Hypothesis &hypothesis : group.results(count))
      all.push_back(std::move(hypothesis));
  keepBest(all, count);
  return all;
}

const std::vector<Move> &AlternativesSearch::advance(CandidateLists candidates) {
  if (!haveParted)
    return part(candidates[0]);
  moves.clear();
  int firstRow = 0;
  for (size_t group = 0; group < groups.size(); ++group) {
    const int count = groups[group].liveCount();
    if (count > 0)
      advanceGroup(group, candidates.subspan(firstRow, count), firstRow);
    firstRow += count;
  }
  return moves;
}

/// Each group takes one of the best tokens, as if there were no other.
const std::vector<Move> &AlternativesSearch::part(std::vector<Candidate> candidates) {
  std::sort(candidates.begin(), candidates.end(), [](const Candidate &a, const Candidate &b) {
    return a.score != b.score ? a.score > b.score : a.id < b.id;
  });
  const auto isRare = [&](const Candidate &candidate) {
    return std::exp(candidate.logProbability) < minProbability;
  };
  if (candidates.size() > 1) // the best one always counts
    candidates.erase(std::remove_if(candidates.begin() + 1, candidates.end(), isRare), candidates.end());
  // With no token at all the first group ends where it is.
  while (groups.size() > std::max<size_t>(candidates.size(), 1))
    groups.pop_back();
  moves.clear();
  for (size_t group = 0; group < groups.size(); ++group) {
    std::vector<std::vector<Candidate>> only(1);
    if (group < candidates.size())
      only[0].push_back(candidates[group]);
    advanceGroup(group, only, 0);
  }
  haveParted = true;
  return moves;
}

std::vector<Hypothesis> AlternativesSearch::results(size_t count) const {
  std::vector<Hypothesis> all;
  for (const BeamSearch &group : partedGroups())
    for (Hypothesis &best : group.results(1))
      all.push_back(std::move(best));
  keepBest(all, count);
  return all;
}

} // namespace attnrt
