//===- TokenRules.h - which tokens may come next, and what they count --------===//
// SPDX-License-Identifier: Apache-2.0
//
// Stands between the model and a search: turns the probabilities of a hypothesis' next token into the
// candidates that the search may choose from. docs/decoding.md has each rule's formula and source.

#ifndef ATTNRT_SRC_TOKENRULES_H
#define ATTNRT_SRC_TOKENRULES_H

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace attnrt {

struct Candidate {
  int32_t id;
  float logProbability; // the model's own
  float score;          // what it counts in a search: the same, changed by the rules
};

/// What the model says about the token after one hypothesis.
struct NextTokens {
  std::span<const float> logits;
  float logSum;       // logits less this are log-probabilities; 0 where they are that already
  const int32_t *ids; // of each, best first; null: all of the vocabulary in the order of ids, which a
                      // sentence with a shortlist needs
  int32_t vocabulary;
};

/// The rules of a request.
struct TokenRules {
  std::vector<int32_t> ends;
  int minLength = 0;
  float repetitionPenalty = 1;
  bool penalizesLogits = false;               // not log-probabilities
  int noRepeatNgramSize = 0;                  // 0: none
  std::vector<int32_t> suppressed;            // sorted
  std::vector<int32_t> beginSuppressed;       // sorted; right after what is forced
  std::vector<std::vector<int32_t>> badWords; // none of them empty
  std::optional<int32_t> forcedLast;          // at the maximum length
  bool renormalizes = false;

  bool isEnd(int32_t id) const { return std::find(ends.begin(), ends.end(), id) != ends.end(); }
  /// How many tokens of one step these rules can forbid, whatever came before.
  int forbiddable() const;
  /// Whether they have to see the whole vocabulary in each step.
  bool needsAll() const {
    return renormalizes || repetitionPenalty < 1 || (repetitionPenalty > 1 && penalizesLogits);
  }
  /// Whether they have to where many tokens came before (see countTouched).
  bool lookBack() const { return noRepeatNgramSize > 0 || repetitionPenalty > 1; }
};

/// What a sentence adds to the request's rules.
struct SentenceRules {
  int maxLength = 1; // of its outputs, the end token counted
  int32_t start = 0;
  std::vector<int32_t> prompt;    // read before the output, instead of a start token; empty: there is none
  std::vector<Candidate> forced;  // how each of its outputs begins
  std::vector<int32_t> shortlist; // sorted, the end token among them; empty: all tokens are allowed
};

/// How many tokens the rules that look back forbid or make worse after `history` (see chooseCandidates).
int countTouched(const TokenRules &rules, const SentenceRules &sentence, std::span<const int32_t> history);

/// The tokens that may follow `history` (the start token or the prompt's last one, then the output so far):
/// at least the best `wanted` by score, or all that are allowed, in no particular order.
std::vector<Candidate> chooseCandidates(const TokenRules &rules, const SentenceRules &sentence,
                                        std::span<const int32_t> history, const NextTokens &next,
                                        size_t wanted);

} // namespace attnrt

#endif // ATTNRT_SRC_TOKENRULES_H
