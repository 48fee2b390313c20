//===- Decode.cpp - from sources to hypotheses -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Runs the searches of all sentences of a request side by side: each step computes the live hypotheses of all
// sentences at once. Sentences share nothing but the call, so their results do not depend on each other.

#include "Decode.h"
#include "Failure.h"

#include <algorithm>

namespace attnrt {
namespace {

/// One request.
class Decoder {
public:
  Decoder(Session &session, std::span<const attnrt_ids> sources, const attnrt_decode_options &options,
          const CancelFlag *cancel)
      : session(session), sources(sources), options(options), cancel(cancel),
        rules(makeDecodeRules(session, sources.size(), options)),
        vocabulary(session.model().decoder().targetVocabulary) {}

  std::vector<std::vector<Hypothesis>> run();

private:
  void begin();
  void scorePrefixes();
  std::unique_ptr<Search> makeSearch(size_t sentence) const;
  void step();
  NextTokens nextTokens(int row) const;
  std::vector<StepRow> advance(int position);
  std::vector<Move> advanceSentence(size_t sentence, int firstRow, int position);
  void report(size_t sentence) const;
  void reportToken(size_t sentence, size_t rank, int32_t id) const;
  std::vector<std::vector<Hypothesis>> finish() const;
  bool reportsAtOnce() const { return rules.samples || rules.search.beam == 1; }

  Session &session;
  std::span<const attnrt_ids> sources;
  const attnrt_decode_options &options;
  const CancelFlag *cancel;
  DecodeRules rules;
  const int32_t vocabulary;
  std::vector<std::unique_ptr<Search>> searches; // one per sentence
  int stepCandidates = 0;                        // of each row
};

void Decoder::begin() {
  session.encode(sources, static_cast<int>(sources.size()) * rules.hypotheses, rules.search.maxLength);
  if (options.prefixes)
    scorePrefixes();
  for (size_t s = 0; s < sources.size(); ++s)
    searches.push_back(makeSearch(s));
  session.startRows();
}

/// A prefix's tokens need not be among the candidates: their log-probabilities come from the entry `score`.
void Decoder::scorePrefixes() {
  std::vector<std::vector<int32_t>> forced(sources.size());
  std::vector<attnrt_ids> views;
  bool hasPrefix = false;
  for (size_t s = 0; s < sources.size(); ++s) {
    hasPrefix |= options.prefixes[s].count > 0;
    for (const Candidate &token : rules.sentences[s].forced)
      forced[s].push_back(token.id);
    views.push_back({forced[s].size(), forced[s].data()});
  }
  if (!hasPrefix)
    return;
  const std::vector<std::vector<float>> scores = session.score(views);
  for (size_t s = 0; s < sources.size(); ++s)
    for (size_t i = forced[s].size() - options.prefixes[s].count; i < forced[s].size(); ++i)
      rules.sentences[s].forced[i] = {forced[s][i], scores[s][i], scores[s][i]};
}

std::unique_ptr<Search> Decoder::makeSearch(size_t sentence) const {
  if (rules.samples)
    return std::make_unique<SampleSearch>(rules.search, rules.sampling, options.first_sentence + sentence);
  return std::make_unique<BeamSearch>(rules.search);
}

void Decoder::step() {
  if (rules.needsAll) {
    session.probabilities();
    return;
  }
  stepCandidates = std::min(rules.candidatesWanted(), vocabulary);
  session.step(stepCandidates);
}

NextTokens Decoder::nextTokens(int row) const {
  const size_t count = rules.needsAll ? vocabulary : stepCandidates;
  const int32_t *ids = rules.needsAll ? nullptr : session.candidates() + row * count;
  return {{session.scores() + row * count, count}, ids, vocabulary};
}

std::vector<Move> Decoder::advanceSentence(size_t sentence, int firstRow, int position) {
  Search &search = *searches[sentence];
  const SentenceRules &own = rules.sentences[sentence];
  if (static_cast<size_t>(position) < own.forced.size())
    return search.force(own.forced[position]);
  const size_t wanted = rules.samples ? vocabulary : rules.search.candidatesWanted();
  std::vector<std::vector<Candidate>> candidates;
  for (int i = 0; i < search.liveCount(); ++i)
    candidates.push_back(
        chooseCandidates(rules.tokens, own, search.history(i), nextTokens(firstRow + i), wanted));
  return search.advance(candidates);
}

/// Finished rows are left out: the next step is as small as what is still open.
std::vector<StepRow> Decoder::advance(int position) {
  std::vector<StepRow> next;
  int firstRow = 0;
  for (size_t sentence = 0; sentence < searches.size(); ++sentence) {
    const int rowCount = searches[sentence]->liveCount();
    if (rowCount == 0)
      continue;
    for (const Move &move : advanceSentence(sentence, firstRow, position))
      next.push_back({firstRow + move.parent, static_cast<int>(sentence), move.id});
    if (options.on_token)
      report(sentence);
    firstRow += rowCount;
  }
  return next;
}

void Decoder::reportToken(size_t sentence, size_t rank, int32_t id) const {
  check(options.on_token(options.user, sentence, rank, id) == 0, ATTNRT_CANCELLED,
        "cancelled by the token callback");
}

void Decoder::report(size_t sentence) const {
  const Search &search = *searches[sentence];
  if (reportsAtOnce()) {
    for (const SettledToken &token : search.settled())
      reportToken(sentence, token.rank, token.id);
    return;
  }
  if (!search.isDone())
    return;
  const std::vector<Hypothesis> best = search.results(rules.search.nBest);
  for (size_t rank = 0; rank < best.size(); ++rank)
    for (size_t i = 0; i + best[rank].ended < best[rank].ids.size(); ++i)
      reportToken(sentence, rank, best[rank].ids[i]);
}

std::vector<std::vector<Hypothesis>> Decoder::finish() const {
  std::vector<std::vector<Hypothesis>> all;
  for (const auto &search : searches)
    all.push_back(search->results(rules.search.nBest));
  return all;
}

std::vector<std::vector<Hypothesis>> Decoder::run() {
  begin();
  for (int position = 0;; ++position) {
    check(!cancel || !cancel->isSet, ATTNRT_CANCELLED, "cancelled");
    step();
    const std::vector<StepRow> next = advance(position);
    if (next.empty())
      return finish();
    session.moveRows(next);
  }
}

} // namespace

std::vector<std::vector<Hypothesis>> decode(Session &session, std::span<const attnrt_ids> sources,
                                            const attnrt_decode_options &options, const CancelFlag *cancel) {
  return Decoder(session, sources, options, cancel).run();
}

} // namespace attnrt
