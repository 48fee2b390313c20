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

/// Lists that grow by one in each step seldom move.
template <typename T> void reserve(std::vector<T> &list, size_t count) {
  if (list.capacity() < count)
    list.reserve(2 * count);
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

/// Tokens that the model gives no probability are left out.
void append(const NextTokens &next, size_t at, std::vector<Candidate> &tokens) {
  const Candidate token = readToken(next, at);
  if (token.logProbability != -std::numeric_limits<float>::infinity())
    tokens.push_back(token);
}

/// How many of the logits are above `least` as log-probabilities, or are no numbers: as loops that count have
/// no way out, compilers make vectors of them.
int countAbove(std::span<const float> logits, float logSum, float least) {
  int count = 0;
  for (const float logit : logits)
    count += !(logit - logSum <= least);
  return count;
}

/// `best` is a heap of up to `count` tokens, whose worst is on top.
void putAmongBest(const NextTokens &next, size_t at, size_t count, std::vector<Candidate> &best) {
  if (best.size() == count && next.logits[at] - next.logSum <= best.front().logProbability)
    return;
  if (best.size() == count) {
    std::pop_heap(best.begin(), best.end(), isMoreProbable);
    best.pop_back();
  }
  const size_t before = best.size();
  append(next, at, best);
  if (best.size() > before)
    std::push_heap(best.begin(), best.end(), isMoreProbable);
}

/// The best `count` tokens by the model's own probability. Most blocks of tokens have none of them.
void readBest(const NextTokens &next, size_t count, std::vector<Candidate> &best) {
  constexpr size_t blockSize = 64;
  reserve(best, count);
  for (size_t begin = 0; begin < next.logits.size(); begin += blockSize) {
    const size_t size = std::min(blockSize, next.logits.size() - begin);
    if (best.size() == count &&
        countAbove(next.logits.subspan(begin, size), next.logSum, best.front().logProbability) == 0)
      continue;
    for (size_t i = 0; i < size; ++i)
      putAmongBest(next, begin + i, count, best);
  }
}

void readListed(const NextTokens &next, const std::vector<int32_t> &ids, std::vector<Candidate> &listed) {
  for (const int32_t id : ids)
    append(next, id, listed);
}

/// A list ends early where the model gives no more than its first tokens any probability.
void readGiven(const NextTokens &next, std::vector<Candidate> &given) {
  checkBest(next);
  for (size_t i = 0; i < next.logits.size() && !(i > 0 && next.ids[i] == -1); ++i)
    append(next, i, given);
}

void readRange(const NextTokens &next, int32_t begin, int32_t end, std::vector<Candidate> &tokens) {
  const size_t before = tokens.size();
  tokens.resize(before + (end - begin));
  Candidate *out = tokens.data() + before;
  int unusual = 0;
  for (int32_t id = begin; id < end; ++id) {
    const float logProbability = next.logits[id] - next.logSum;
    *out++ = {id, logProbability, logProbability};
    unusual += !(logProbability > -std::numeric_limits<float>::infinity());
  }
  if (unusual == 0)
    return;
  tokens.resize(before);
  for (int32_t id = begin; id < end; ++id)
    append(next, id, tokens);
}

/// All tokens but `forbidden`.
void readAll(const NextTokens &next, const std::vector<int32_t> &forbidden, std::vector<Candidate> &tokens) {
  tokens.reserve(next.logits.size());
  int32_t begin = 0;
  for (const int32_t id : forbidden) {
    readRange(next, begin, id, tokens);
    begin = id + 1;
  }
  readRange(next, begin, next.vocabulary, tokens);
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

int TokenChooser::countTouched(std::span<const int32_t> read) {
  repeated.clear();
  reserve(repeated, 2 * read.size());
  if (rules.repetitionPenalty > 1)
    repeated.assign(read.begin(), read.end());
  if (rules.noRepeatNgramSize > 0)
    forbidRepeatedNgrams(read, rules.noRepeatNgramSize, repeated);
  sortAndDeduplicate(repeated);
  return static_cast<int>(repeated.size());
}

/// `position` counts the output's tokens.
void TokenChooser::findForbidden(const SentenceRules &sentence, const Past &past) {
  forbidden = rules.suppressed;
  if (past.position < static_cast<size_t>(rules.minLength))
    forbidden.insert(forbidden.end(), rules.ends.begin(), rules.ends.end());
  if (past.position == sentence.forced.size())
    forbidden.insert(forbidden.end(), rules.beginSuppressed.begin(), rules.beginSuppressed.end());
  if (rules.noRepeatNgramSize > 0)
    forbidRepeatedNgrams(past.read, rules.noRepeatNgramSize, forbidden);
  forbidBadWords(past.read, rules.badWords, forbidden);
  sortAndDeduplicate(forbidden);
}

/// Rules that only make tokens worse need the best few: as many more than wanted as they can touch. Rules
/// that make some better, or look at the sum of all, need every token.
void TokenChooser::read(const SentenceRules &sentence, const NextTokens &next, size_t wanted,
                        std::vector<Candidate> &tokens) const {
  const size_t count = wanted + forbidden.size() + repeated.size();
  const bool hasList = !sentence.shortlist.empty();
  if (!hasList && !next.ids &&
      (rules.repetitionPenalty < 1 || rules.renormalizes || count >= next.logits.size()))
    return readAll(next, forbidden, tokens);
  if (hasList)
    readListed(next, sentence.shortlist, tokens);
  else if (next.ids)
    readGiven(next, tokens);
  else
    readBest(next, count, tokens);
  if (!forbidden.empty())
    std::erase_if(tokens, [&](const Candidate &candidate) { return contains(forbidden, candidate.id); });
}

void TokenChooser::choose(const SentenceRules &sentence, const Past &past, const NextTokens &next,
                          size_t wanted, std::vector<Candidate> &candidates) {
  candidates.clear();
  if (rules.forcedLast && past.position + 1 == static_cast<size_t>(sentence.maxLength))
    return candidates.push_back({*rules.forcedLast, 0, 0});
  findForbidden(sentence, past);
  repeated.clear();
  if (rules.repetitionPenalty != 1) {
    reserve(repeated, past.read.size());
    repeated.assign(past.read.begin(), past.read.end());
    sortAndDeduplicate(repeated);
  }
  read(sentence, next, wanted, candidates);
  if (!repeated.empty())
    penalizeRepeated(candidates, repeated, rules.repetitionPenalty, rules.penalizesLogits ? next.logSum : 0);
  if (rules.renormalizes)
    renormalize(candidates);
}

} // namespace attnrt
