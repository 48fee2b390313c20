//===- Oracle.cpp - the search rules once more, plainly -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Oracle.h"

#include <algorithm>
#include <cmath>

namespace toy {
namespace {

/// Log-probabilities after the output `ids`.
std::vector<float> nextOf(const Ids &source, const Ids &ids) {
  Ids history{start};
  history.insert(history.end(), ids.begin(), ids.end());
  return nextLogProbabilities(source, history);
}

bool isBetterTotal(const OracleHypothesis &a, const OracleHypothesis &b) {
  return a.total != b.total ? a.total > b.total : a.ids < b.ids;
}

bool endsWith(const Ids &ids, const Ids &ending) {
  return ids.size() >= ending.size() && std::equal(ending.begin(), ending.end(), ids.end() - ending.size());
}

bool contains(const Ids &ids, const Ids &part) {
  return std::search(ids.begin(), ids.end(), part.begin(), part.end()) != ids.end();
}

bool hasId(size_t count, const int32_t *ids, int32_t id) { return std::count(ids, ids + count, id) > 0; }

/// May `token` follow `history`, which begins with the start token? `given` tokens of it were forced.
bool isAllowed(const Ids &history, size_t given, int32_t token, const attnrt_decode_options &options) {
  const size_t position = history.size() - 1;
  if (token == end && position < static_cast<size_t>(options.min_length))
    return false;
  if (hasId(options.suppressed_count, options.suppressed, token))
    return false;
  if (position == given && hasId(options.begin_suppress_count, options.begin_suppress_tokens, token))
    return false;
  Ids longer = history;
  longer.push_back(token);
  const size_t size = options.no_repeat_ngram_size;
  if (size > 0 && history.size() >= size && contains(history, Ids(longer.end() - size, longer.end())))
    return false;
  for (size_t i = 0; i < options.bad_words_count; ++i) {
    const Ids word(options.bad_words_ids[i].ids,
                   options.bad_words_ids[i].ids + options.bad_words_ids[i].count);
    if (word != Ids{end} && word.size() <= history.size() && endsWith(longer, word))
      return false;
  }
  return options.shortlist_count == 0 || token == end ||
         hasId(options.shortlists[0].count, options.shortlists[0].ids, token);
}

double penalize(double score, double penalty) { return score < 0 ? score * penalty : score / penalty; }

/// What each next token counts; minus infinity where it is not allowed.
std::vector<double> scoresOf(const Ids &source, const Ids &ids, const attnrt_decode_options &options) {
  Ids history{start};
  history.insert(history.end(), ids.begin(), ids.end());
  const size_t given = options.forced_bos_token_id >= 0 ? 1 : 0;
  const std::vector<float> next = nextLogProbabilities(source, history);
  std::vector<double> scores(next.begin(), next.end());
  const bool penalizesLogits = options.sample || options.beam == 1;
  const double logSum = penalizesLogits ? nextLogSum(source, history) : 0;
  double sum = 0;
  for (int32_t v = 0; v < targetVocabulary; ++v) {
    if (std::count(history.begin(), history.end(), v))
      scores[v] = penalize(scores[v] + logSum, options.repetition_penalty) - logSum;
    if (!isAllowed(history, given, v, options))
      scores[v] = -INFINITY;
    sum += std::exp(scores[v]);
  }
  const int32_t forced = ids.size() < given ? options.forced_bos_token_id
                         : static_cast<int>(ids.size()) + 1 == options.max_length
                             ? options.forced_eos_token_id
                             : -1;
  for (int32_t v = 0; v < targetVocabulary; ++v) {
    scores[v] -= options.renormalize_logits ? std::log(sum) : 0;
    if (forced >= 0)
      scores[v] = v == forced ? 0 : -INFINITY;
  }
  return scores;
}

/// All continuations that the options allow, best first.
std::vector<OracleHypothesis> continuations(const Ids &source, const std::vector<OracleHypothesis> &live,
                                            const attnrt_decode_options &options) {
  std::vector<OracleHypothesis> all;
  for (const OracleHypothesis &hypothesis : live) {
    const std::vector<double> scores = scoresOf(source, hypothesis.ids, options);
    for (int32_t v = 0; v < targetVocabulary; ++v) {
      if (scores[v] == -INFINITY)
        continue;
      OracleHypothesis longer = hypothesis;
      longer.ids.push_back(v);
      longer.total += scores[v];
      all.push_back(longer);
    }
  }
  std::sort(all.begin(), all.end(), isBetterTotal);
  return all;
}

bool isDone(const std::vector<OracleHypothesis> &finished, const std::vector<OracleHypothesis> &live,
            const attnrt_decode_options &options) {
  const size_t enough = options.beam == 1 ? 1 : std::max(1l, std::lround(options.beam * options.patience));
  if (finished.size() < enough || live.empty())
    return live.empty();
  if (options.stopping == ATTNRT_STOP_EARLY || options.beam == 1)
    return true;
  std::vector<double> scores;
  for (const OracleHypothesis &hypothesis : finished)
    scores.push_back(hypothesis.score(options.length_penalty));
  std::sort(scores.rbegin(), scores.rend());
  double length = static_cast<double>(live[0].ids.size());
  if (options.stopping == ATTNRT_STOP_NEVER_EARLY && options.length_penalty > 0)
    length = options.max_length;
  return scores[enough - 1] >= live[0].total / std::pow(length, options.length_penalty);
}

} // namespace

double OracleHypothesis::score(double penalty) const {
  return total / std::pow(static_cast<double>(std::max<size_t>(ids.size(), 1)), penalty);
}

namespace {

/// One group of a beam search; `options.beam` is its own.
struct Group {
  std::vector<OracleHypothesis> live = std::vector<OracleHypothesis>(1), finished;

  /// `lost`: what each token loses. Returns the last tokens of the new hypotheses that have not ended.
  Ids advance(const Ids &source, const attnrt_decode_options &options,
              const std::vector<double> &lost = std::vector<double>(targetVocabulary, 0)) {
    if (live.empty())
      return {};
    const size_t beam = options.beam;
    const size_t length = live[0].ids.size();
    const bool isLast = static_cast<int>(length) + 1 >= options.max_length;
    std::vector<OracleHypothesis> best = continuations(source, live, options);
    for (OracleHypothesis &hypothesis : best)
      hypothesis.total -= lost[hypothesis.ids.back()];
    std::sort(best.begin(), best.end(), isBetterTotal);
    best.resize(std::min(best.size(), 2 * beam));
    if (best.empty() && finished.empty())
      finished = live; // nothing may follow
    live.clear();
    for (size_t rank = 0; rank < best.size(); ++rank) {
      if (rank < beam && (best[rank].ended() || isLast))
        finished.push_back(best[rank]);
      else if (!best[rank].ended() && live.size() < beam)
        live.push_back(best[rank]);
    }
    Ids tokens;
    for (const OracleHypothesis &hypothesis : isLast ? finished : live)
      if (!hypothesis.ended() && hypothesis.ids.size() == length + 1)
        tokens.push_back(hypothesis.ids.back());
    if (isLast || isDone(finished, live, options))
      live.clear();
    return tokens;
  }
};

void keepBest(std::vector<OracleHypothesis> &hypotheses, size_t count, double penalty) {
  std::stable_sort(hypotheses.begin(), hypotheses.end(),
                   [&](const auto &a, const auto &b) { return a.score(penalty) > b.score(penalty); });
  hypotheses.resize(std::min(hypotheses.size(), count));
}

} // namespace

std::vector<OracleHypothesis> oracleFinished(const Ids &source, const attnrt_decode_options &options) {
  Group group;
  while (!group.live.empty())
    group.advance(source, options);
  return group.finished;
}

std::vector<OracleHypothesis> oracleBeam(const Ids &source, const attnrt_decode_options &options) {
  std::vector<OracleHypothesis> finished = oracleFinished(source, options);
  keepBest(finished, options.n_best, options.length_penalty);
  return finished;
}

std::vector<OracleHypothesis> oracleDiverse(const Ids &source, const attnrt_decode_options &options) {
  attnrt_decode_options own = options;
  own.beam = options.beam / options.num_beam_groups;
  std::vector<Group> groups(options.num_beam_groups);
  for (int step = 0; step < options.max_length; ++step) {
    std::vector<double> lost(targetVocabulary, 0);
    for (Group &group : groups)
      for (const int32_t token : group.advance(source, own, lost))
        lost[token] += static_cast<double>(options.diversity_penalty);
  }
  std::vector<OracleHypothesis> all;
  for (Group &group : groups) {
    keepBest(group.finished, options.n_best, options.length_penalty);
    all.insert(all.end(), group.finished.begin(), group.finished.end());
  }
  keepBest(all, options.n_best, options.length_penalty);
  return all;
}

std::vector<OracleHypothesis> oracleAlternatives(const Ids &source, const attnrt_decode_options &options) {
  Group beginning;
  if (options.forced_bos_token_id >= 0)
    beginning.advance(source, options);
  std::vector<OracleHypothesis> all;
  for (const OracleHypothesis &first : continuations(source, beginning.live, options)) {
    if (all.size() == static_cast<size_t>(options.n_best))
      break;
    Group group;
    group.live = {first};
    if (first.ended())
      std::swap(group.live, group.finished);
    while (!group.live.empty())
      group.advance(source, options);
    keepBest(group.finished, 1, options.length_penalty);
    all.push_back(group.finished[0]);
  }
  keepBest(all, options.n_best, options.length_penalty);
  return all;
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
