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
  /// Whether what was read before changes what may come next.
  bool needsPast() const { return lookBack() || repetitionPenalty != 1 || !badWords.empty(); }
};

/// What a sentence adds to the request's rules.
struct SentenceRules {
  int maxLength = 1; // of its outputs, the end token counted
  int32_t start = 0;
  std::vector<int32_t> prompt;    // read before the output, instead of a start token; empty: there is none
  std::vector<Candidate> forced;  // how each of its outputs begins
  std::vector<int32_t> shortlist; // sorted, the end token among them; empty: all tokens are allowed
};

/// What came before a token.
struct Past {
  size_t position;               // of the token in the output
  std::span<const int32_t> read; // the prompt or the start token, then the output; nobody looks without
                                 // TokenRules::needsPast()
};

/// Applies the rules of a request. It keeps its memory from one token to the next, so it is for one thread.
class TokenChooser {
public:
  explicit TokenChooser(const TokenRules &rules) : rules(rules) {}

  /// How many tokens the rules that look back forbid or make worse after `read` (see Past).
  int countTouched(std::span<const int32_t> read);

  /// Replaces `candidates` by the tokens that may follow `past`: at least the best `wanted` by score, or all
  /// that are allowed, in no particular order.
  void choose(const SentenceRules &sentence, const Past &past, const NextTokens &next, size_t wanted,
              std::vector<Candidate> &candidates);

private:
  void findForbidden(const SentenceRules &sentence, const Past &past);
  void read(const SentenceRules &sentence, const NextTokens &next, size_t wanted,
            std::vector<Candidate> &tokens) const;

  const TokenRules &rules;
  std::vector<int32_t> forbidden, repeated; // sorted
};

} // namespace attnrt

#endif // ATTNRT_SRC_TOKENRULES_H
