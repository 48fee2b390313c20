//===- GroupSearch.h - beam searches of one sentence side by side ------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ATTNRT_SRC_GROUPSEARCH_H
#define ATTNRT_SRC_GROUPSEARCH_H

#include "Search.h"

namespace attnrt {

/// Beam searches that begin with the same tokens. Their rows stand one search after the other; until the
/// first advance() they have a row in common.
class GroupSearch : public Search {
public:
  int liveCount() const override;
  void appendOutput(int row, std::vector<int32_t> &ids) const override;
  const std::vector<Move> &force(Candidate token) override;

protected:
  GroupSearch(const SearchRules &rules, int count) : groups(count, BeamSearch(rules)) {}

  /// Advances group `group` with `candidates` of its rows; its moves follow those in `moves`.
  void advanceGroup(size_t group, CandidateLists candidates, int firstRow);

  /// The groups that differ: before they part, the first stands for all.
  std::span<const BeamSearch> partedGroups() const {
    return std::span(groups).first(haveParted ? groups.size() : 1);
  }

  std::vector<BeamSearch> groups;
  bool haveParted = false;
};

/// Diverse beam search (Vijayakumar et al., 2016): a token costs `penalty` for each hypothesis of an earlier
/// group that takes it at the same step.
class DiverseSearch final : public GroupSearch {
public:
  DiverseSearch(const SearchRules &rules, int groups, float penalty)
      : GroupSearch(rules, groups), penalty(penalty) {}

  const std::vector<Move> &advance(CandidateLists candidates) override;
  /// Of all groups together.
  std::vector<Hypothesis> results(size_t count) const override;

private:
  float penalty;
};

/// Alternatives at a position: one search for each of the most probable tokens there.
class AlternativesSearch final : public GroupSearch {
public:
  /// First tokens less probable than `minProbability` are left out.
  AlternativesSearch(const SearchRules &rules, int alternatives, float minProbability)
      : GroupSearch(rules, alternatives), minProbability(minProbability) {}

  const std::vector<Move> &advance(CandidateLists candidates) override;
  /// The best of each group.
  std::vector<Hypothesis> results(size_t count) const override;

private:
  const std::vector<Move> &part(std::vector<Candidate> candidates);

  float minProbability;
};

} // namespace attnrt

#endif // ATTNRT_SRC_GROUPSEARCH_H
