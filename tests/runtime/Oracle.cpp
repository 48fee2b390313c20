//===- Oracle.cpp - the search rules once more, plainly -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Oracle.h"

#include <algorithm>
#include <cmath>

namespace toy {
namespace {

std::vector<float> nextOf(const Ids &source, const Ids &ids) {
  Ids history{start};
  history.insert(history.end(), ids.begin(), ids.end());
  return nextLogProbabilities(source, history);
}

bool isBetterTotal(const OracleHypothesis &a, const OracleHypothesis &b) {
  return a.total != b.total ? a.total > b.total : a.ids < b.ids;
}

/// All continuations that the options allow, best first.
std::vector<OracleHypothesis> continuations(const Ids &source, const std::vector<OracleHypothesis> &live,
                                            const attnrt_decode_options &options) {
  std::vector<OracleHypothesis> all;
  const Ids suppressed(options.suppressed, options.suppressed + options.suppressed_count);
  for (const OracleHypothesis &hypothesis : live) {
    const std::vector<float> next = nextOf(source, hypothesis.ids);
    for (int32_t v = 0; v < targetVocabulary; ++v) {
      const bool isTooEarly = v == end && static_cast<int>(hypothesis.ids.size()) < options.min_length;
      if (isTooEarly || std::count(suppressed.begin(), suppressed.end(), v))
        continue;
      OracleHypothesis longer = hypothesis;
      longer.ids.push_back(v);
      longer.total += next[v];
      all.push_back(longer);
    }
  }
  std::sort(all.begin(), all.end(), isBetterTotal);
  return all;
}

bool isDone(const std::vector<OracleHypothesis> &finished, const std::vector<OracleHypothesis> &live,
            bool bestEnded, const attnrt_decode_options &options) {
  const size_t beam = options.beam;
  if (options.length_penalty == 0 && bestEnded && finished.size() >= static_cast<size_t>(options.n_best))
    return true;
  if (finished.size() < beam || live.empty())
    return live.empty();
  if (options.stopping == ATTNRT_STOP_EARLY)
    return true;
  std::vector<double> scores;
  for (const OracleHypothesis &hypothesis : finished)
    scores.push_back(hypothesis.score(options.length_penalty));
  std::sort(scores.rbegin(), scores.rend());
  double length = static_cast<double>(live[0].ids.size());
  if (options.stopping == ATTNRT_STOP_NEVER_EARLY && options.length_penalty > 0)
    length = options.max_length;
  return scores[beam - 1] >= live[0].total / std::pow(length, options.length_penalty);
}

} // namespace

double OracleHypothesis::score(double penalty) const {
  return total / std::pow(static_cast<double>(std::max<size_t>(ids.size(), 1)), penalty);
}

std::vector<OracleHypothesis> oracleBeam(const Ids &source, const attnrt_decode_options &options) {
  const size_t beam = options.beam;
  std::vector<OracleHypothesis> live(1), finished;
  bool bestEnded = false;
  for (int length = 1; length <= options.max_length; ++length) {
    std::vector<OracleHypothesis> best = continuations(source, live, options);
    best.resize(std::min(best.size(), 2 * beam));
    live.clear();
    for (size_t rank = 0; rank < best.size(); ++rank) {
      const bool counts = rank < beam;
      if (counts && (best[rank].ended() || length == options.max_length)) {
        finished.push_back(best[rank]);
        bestEnded |= rank == 0;
      } else if (!best[rank].ended() && live.size() < beam) {
        live.push_back(best[rank]);
      }
    }
    if (isDone(finished, live, bestEnded, options))
      break;
  }
  std::sort(finished.begin(), finished.end(), [&](const auto &a, const auto &b) {
    return a.score(options.length_penalty) > b.score(options.length_penalty);
  });
  finished.resize(std::min<size_t>(finished.size(), options.n_best));
  return finished;
}

OracleHypothesis oracleExhaustive(const Ids &source, int length, double penalty) {
  OracleHypothesis best;
  best.total = -1e30;
  std::vector<OracleHypothesis> open(1);
  while (!open.empty()) {
    const OracleHypothesis hypothesis = open.back();
    open.pop_back();
    const std::vector<float> next = nextOf(source, hypothesis.ids);
    for (int32_t v = 0; v < targetVocabulary; ++v) {
      OracleHypothesis longer = hypothesis;
      longer.ids.push_back(v);
      longer.total += next[v];
      const bool isWhole = v == end || static_cast<int>(longer.ids.size()) == length;
      if (!isWhole)
        open.push_back(longer);
      else if (longer.score(penalty) > best.score(penalty))
        best = longer;
    }
  }
  return best;
}

} // namespace toy
