//===- DecodeRules.h - a request's options, checked ---------------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ATTNRT_SRC_DECODERULES_H
#define ATTNRT_SRC_DECODERULES_H

#include "Sampling.h"
#include "Session.h"

namespace attnrt {

/// What attnrt_decode_options ask for, in the words of those who do it.
struct DecodeRules {
  SearchRules search;
  SamplingRules sampling;
  TokenRules tokens;
  std::vector<SentenceRules> sentences; // the scores of given prefixes are still zero
  bool samples = false, alternatives = false;
  int groups = 1; // of diverse beam search; `search` is for one of them
  float diversityPenalty = 0, minAlternativeProbability = 0, coveragePenalty = 0;
  bool returnsAttention = false;
  bool scoresPrefixes = false;
  bool needsAll = false; // probabilities of the whole vocabulary in each step
  int hypotheses = 1;    // see hypothesesOf()

  bool looksAtAttention() const { return coveragePenalty > 0 || returnsAttention; }
  /// How many candidates the searches need of each row.
  int candidatesForSearch() const;
  /// How many of the best tokens a step has to give for each row, but for rules that look back.
  int candidatesWanted() const;
  /// Whether a step may have to give the whole vocabulary.
  bool mayNeedAll() const { return needsAll || tokens.lookBack(); }
};

/// The bundle's decoding defaults. What pointers lead to belongs to the model.
attnrt_decode_options defaultDecodeOptions(const Model &model);

/// The same without anything that changes probabilities or forces tokens.
attnrt_decode_options plainDecodeOptions(const Model &model);

/// Most of a sentence that are live at once.
int hypothesesOf(const attnrt_decode_options &options);

/// Throws where options contradict the model or each other.
DecodeRules makeDecodeRules(const Model &model, size_t sentences, const attnrt_decode_options &options);

/// Throws where a session lacks the room.
void checkCapacity(const DecodeRules &rules, const attnrt_session_options &room);

} // namespace attnrt

#endif // ATTNRT_SRC_DECODERULES_H
