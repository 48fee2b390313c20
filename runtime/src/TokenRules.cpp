//===- TokenRules.cpp - which tokens may come next, and what they count ------===//
// SPDX-License-Identifier: Apache-2.0
//
// The rules and their order are those of the logits processors of Hugging Face Transformers.

#include "TokenRules.h"
#include "Failure.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace attnrt {
namespace {

bool contains(const std::vector<int32_t> &sorted, int32_t id) {
  return std::binary_search(sorted.begin(), sorted.end(), id);
}

void sortAndDeduplicate(std::vector<int32_t> &ids) {
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
}

/// Each token that would complete a run of `size` tokens that `history` already has.
void forbidRepeatedNgrams(std::span<const int32_t> history, size_t size, std::vector<int32_t> &forbidden) {
  if (history.size() < size)
    return;
  const auto newest = history.last(size - 1);
  for (size_t i = 0; i + size <= history.size(); ++i)
    if (std::equal(newest.begin(), newest.end(), history.begin() + i))
      forbidden.push_back(history[i + size - 1]);
}

/// The last token of each sequence whose other tokens `history` ends with. A sequence longer than `history`
/// is passed over, as in Hugging Face's transformers.
void forbidBadWords(std::span<const int32_t> history, const std::vector<std::vector<int32_t>> &badWords,
                    std::vector<int32_t> &forbidden) {
  for (const std::vector<int32_t> &word : badWords) {
    const size_t before = word.size() - 1;
    if (word.size() <= history.size() && std::equal(word.begin(), word.end() - 1, history.end() - before))
      forbidden.push_back(word.back());
  }
}

/// Sorted; without the tokens that are always suppressed. `position` counts the output's tokens.
std::vector<int32_t> findForbidden(const TokenRules &rules, const SentenceRules &sentence, const Past &past) {
  std::vector<int32_t> forbidden;
  if (past.position < static_cast<size_t>(rules.minLength))
    forbidden.insert(forbidden.end(), rules.ends.begin(), rules.ends.end());
  if (past.position == sentence.forced.size())
    forbidden.insert(forbidden.end(), rules.beginSuppressed.begin(), rules.beginSuppressed.end());
  if (rules.noRepeatNgramSize > 0)
    forbidRepeatedNgrams(past.read, rules.noRepeatNgramSize, forbidden);
  forbidBadWords(past.read, rules.badWords, forbidden);
  sortAndDeduplicate(forbidden);
  return forbidden;
}

bool isMoreProbable(const Candidate &a, const Candidate &b) {
  return a.logProbability != b.logProbability ? a.logProbability > b.logProbability : a.id < b.id;
}

Candidate readToken(const NextTokens &next, size_t at) {
  const float logProbability = next.logits[at] - next.logSum;
  const int32_t id = next.ids ? next.ids[at] : static_cast<int32_t>(at);
  // Ids go back into the model.
  check(id >= 0 && id < next.vocabulary && !std::isnan(logProbability), ATTNRT_KERNEL_FAILED,
        "the model computed no probabilities (token ", id, ", log-probability ", logProbability,
        "): are its weights damaged?");
  return {id, logProbability, logProbability};
}

/// Of n tokens the best has a probability from 1/n to 1. A NaN among the logits may end in numbers that are
/// none, but are no log-probabilities either. Less or more by 1 may be rounding, where logits are large.
void checkBest(const NextTokens &next) {
  const float best = next.logits.empty() ? 0 : next.logits[0];
  check(best >= -std::log(static_cast<float>(next.vocabulary)) - 1 && best <= 1, ATTNRT_KERNEL_FAILED,
        "the model computed no probabilities (the best token's log-probability is ", best,
        "): are its weights damaged?");
}

/// The best `count` tokens by the model's own probability: a heap whose worst is on top.
void readBest(const NextTokens &next, size_t count, std::vector<Candidate> &best) {
  best.reserve(count);
  for (size_t i = 0; i < next.logits.size(); ++i) {
    if (best.size() == count && next.logits[i] - next.logSum <= best.front().logProbability)
      continue;
    if (best.size() == count) {
      std::pop_heap(best.begin(), best.end(), isMoreProbable);
      best.pop_back();
    }
    best.push_back(readToken(next, i));
    std::push_heap(best.begin(), best.end(), isMoreProbable);
  }
}

void readListed(const NextTokens &next, const std::vector<int32_t> &ids, std::vector<Candidate> &listed) {
  for (const int32_t id : ids)
    listed.push_back(readToken(next, id));
}

/// A list ends early where the model gives no more than its first tokens any probability.
void readAll(const NextTokens &next, std::vector<Candidate> &all) {
  all.reserve(next.logits.size());
  for (size_t i = 0; i < next.logits.size() && !(next.ids && i > 0 && next.ids[i] == -1); ++i)
    all.push_back(readToken(next, i));
}

/// Rules that only make tokens worse need the best `count`: as many more than wanted as they can touch. Rules
/// that make some better, or look at the sum of all, need every token.
void readTokens(const TokenRules &rules, const SentenceRules &sentence, const NextTokens &next, size_t count,
                std::vector<Candidate> &tokens) {
  if (!sentence.shortlist.empty())
    return readListed(next, sentence.shortlist, tokens);
  if (next.ids)
    checkBest(next);
  const bool needsEvery = next.ids || rules.repetitionPenalty < 1 || rules.renormalizes;
  if (needsEvery || count >= next.logits.size())
    readAll(next, tokens);
  else
    readBest(next, count, tokens);
}

/// Keskar et al. 2019 (CTRL), in the form for any sign. `logSum`: what logits are above the scores, or 0
/// where scores themselves are meant.
void penalizeRepeated(std::vector<Candidate> &candidates, const std::vector<int32_t> &repeated, float penalty,
                      float logSum) {
  for (Candidate &candidate : candidates)
    if (contains(repeated, candidate.id)) {
      const float logit = candidate.score + logSum;
      candidate.score = (logit < 0 ? logit * penalty : logit / penalty) - logSum;
    }
}

void renormalize(std::vector<Candidate> &candidates) {
  double best = -std::numeric_limits<double>::infinity(), sum = 0;
  for (const Candidate &candidate : candidates)
    best = std::max<double>(best, candidate.score);
  for (const Candidate &candidate : candidates)
    sum += std::exp(candidate.score - best);
  for (Candidate &candidate : candidates)
    candidate.score = static_cast<float>(candidate.score - (best + std::log(sum)));
}

} // namespace

int TokenRules::forbiddable() const {
  return static_cast<int>(suppressed.size() + beginSuppressed.size() + badWords.size() +
                          (minLength > 0 ? ends.size() : 0));
}

int countTouched(const TokenRules &rules, std::span<const int32_t> read) {
  std::vector<int32_t> touched;
  if (rules.repetitionPenalty > 1)
    touched.assign(read.begin(), read.end());
  if (rules.noRepeatNgramSize > 0)
    forbidRepeatedNgrams(read, rules.noRepeatNgramSize, touched);
  sortAndDeduplicate(touched);
  return static_cast<int>(touched.size());
}

void chooseCandidates(const TokenRules &rules, const SentenceRules &sentence, const Past &past,
                      const NextTokens &next, size_t wanted, std::vector<Candidate> &candidates) {
  candidates.clear();
  if (rules.forcedLast && past.position + 1 == static_cast<size_t>(sentence.maxLength))
    return candidates.push_back({*rules.forcedLast, 0, 0});
  const std::vector<int32_t> forbidden = findForbidden(rules, sentence, past);
  std::vector<int32_t> repeated;
  if (rules.repetitionPenalty != 1) {
    repeated.assign(past.read.begin(), past.read.end());
    sortAndDeduplicate(repeated);
  }
  const size_t touched = rules.suppressed.size() + forbidden.size() + repeated.size();
  readTokens(rules, sentence, next, wanted + touched, candidates);
  std::erase_if(candidates, [&](const Candidate &candidate) {
    return candidate.logProbability == -std::numeric_limits<float>::infinity() ||
           contains(forbidden, candidate.id) || contains(rules.suppressed, candidate.id);
  });
  penalizeRepeated(candidates, repeated, rules.repetitionPenalty, rules.penalizesLogits ? next.logSum : 0);
  if (rules.renormalizes)
    renormalize(candidates);
}

} // namespace attnrt
