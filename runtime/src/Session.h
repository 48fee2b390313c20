//===- Session.h - one model's entries and the memory they work in -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Calls a bundle's entries within a fixed capacity. All lengths and ids are checked before an entry sees
// them.

#ifndef ATTNRT_SRC_SESSION_H
#define ATTNRT_SRC_SESSION_H

#include "EntryCaller.h"
#include "PromptSlots.h"

namespace attnrt {

/// A hypothesis of the next step.
struct StepRow {
  int parent; // its row in this step
  int sentence;
  int32_t id; // its newest token
};

class Session : public EntryCaller {
public:
  /// `executor` null: a pool of the session's own.
  Session(std::shared_ptr<const Model> model, const attnrt_session_options &options, Executor *executor);

  /// Begins a request: computes what depends on the sources alone. `slots` hypotheses and `positions` tokens
  /// of each will follow at most. Without an encoder, sources are prompts. Their tokens are the caller's
  /// until the request's last call.
  void encode(std::span<const attnrt_ids> sources, int slots, int positions);

  /// Replaces the start token of a sentence of the request.
  void startFrom(size_t sentence, int32_t token) { starts[sentence] = token; }

  /// Begins decoding: one row per sentence, at the start token or the prompt's last one.
  void startRows();
  /// Replaces the rows by the next step's: sentences in their order, each one's rows side by side.
  void moveRows(const std::vector<StepRow> &next);

  /// Computes the best `count` tokens of each row (row x count, best first): at most so many.
  void step(int count);
  int mostCandidates() const;
  const int32_t *candidates(int row, int count) const {
    return candidateIds.as<int32_t>() + int64_t(liveSlots[row]) * count;
  }

  /// Computes the logits of each row's next token (row x vocabulary).
  void logits();
  /// What a row's logits have to lose to be log-probabilities.
  float logSum(int row) const { return logSums[liveSlots[row]]; }

  /// The `count` numbers of a row that were computed last: log-probabilities by step(), logits by logits().
  const float *scores(int row, int count) const {
    return results.as<float>() + int64_t(liveSlots[row]) * count;
  }

  /// The log-probabilities of each target's tokens, then, `withEnd`, of the end token: one list per sentence
  /// of the request.
  std::vector<std::vector<float>> score(std::span<const attnrt_ids> targets, bool withEnd = true);

  /// The attention of each target's tokens and of the token after it, one list per sentence of the request:
  /// (target.count + 1) x source.count. `sources` are the request's.
  std::vector<std::vector<float>> attend(std::span<const attnrt_ids> targets,
                                         std::span<const attnrt_ids> sources);

private:
  enum Size { Batch, Candidate, Capacity, History, Row, Slot, Target, sizeCount };

  void resolve();
  void allocate();
  int64_t arenaFor(uint32_t use, const char *entry) const;
  /// Fails unless the session was created for `use` and the bundle has its entry.
  void requireUse(uint32_t use, const char *entry) const;
  void callFor(uint32_t use, const char *entry, const std::vector<void *> &tensors);
  void placeStepArguments();
  bool hasPrompts() const { return !owner->decoder().hasSource; }
  /// No more than the model has.
  int64_t positionsOf(int64_t wanted) const;
  /// Of a target, and of the prompt that it follows.
  int64_t mostPositions() const;
  int64_t arenaForEncoding(int64_t tokens, int64_t longest);
  void encodeParts();
  void placePart(const Part &part);
  /// A prompt's last token is left to the first step.
  size_t encodedTokens(const attnrt_ids &source) const { return source.count - (hasPrompts() ? 1 : 0); }
  void setSource(int64_t longest);
  void endSentences(const std::vector<StepRow> &next);
  void placeRows(const std::vector<StepRow> &next);
  size_t firstLabel(size_t sentence) const;
  /// Tokens to read, and those to score: each target's and `ends` (0 or 1) end tokens.
  int placeTargets(std::span<const attnrt_ids> targets, size_t ends);
  int64_t &size(Size which) { return whole.sizes[places[which]]; }
  int64_t size(Size which) const { return whole.sizes[places[which]]; }

  std::vector<int> places;                               // of each Size in a lane's sizes
  int sourcePlace = -1;                                  // of the longest source; -1: sources are prompts
  int partPlace = -1, firstPlace = -1, lengthPlace = -1; // of the sizes of a part; -1: all is encoded at once
  std::vector<attnrt_ids> request;                       // its sources: the caller's tokens
  Memory results;
  std::vector<int32_t> sourceIds;                 // batch x source, or one part's after the other
  std::vector<int32_t> sourceLengths;             // batch, as sentences lie in the states
  std::vector<int32_t> stateRows;                 // of each sentence: its number in the states
  std::vector<int32_t> starts;                    // batch
  std::vector<int32_t> promptStarts;              // batch: zeros, where prompts begin
  std::vector<int32_t> ids, positions, sentences; // row
  std::vector<int32_t> nextPositions;             // row
  Memory ancestors, nextAncestors;                // int32, row x capacity
  Memory candidateIds;                            // int32, row x candidate
  std::vector<float> logSums;                     // row
  std::vector<int32_t> targetIds, labels;         // batch x target
  std::vector<int> liveSlots, parentSlots; // of each live row, now and before: its place in those above
  std::vector<void *> stepTensors;         // of a step's entry
  int stepRows = 0;                        // up to the last of them
  PromptSlots promptSlots;                 // of sentences with prompts
};

} // namespace attnrt

#endif // ATTNRT_SRC_SESSION_H
