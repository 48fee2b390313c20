//===- Decode.cpp - from sources to hypotheses -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Runs the searches of all sentences of a request side by side: each step computes the live hypotheses of all
// sentences at once. Sentences share nothing but the call, so their results do not depend on each other.

#include "Decode.h"
#include "Failure.h"
#include "Sampling.h"

#include <algorithm>
#include <cmath>

namespace attnrt {
namespace {

SearchRules makeRules(const Session &session, const attnrt_decode_options &options) {
  const auto require = [](bool holds, const char *what) { check(holds, ATTNRT_INVALID_ARGUMENT, what); };
  require(options.beam >= 1, "the beam must be 1 or more");
  require(options.n_best >= 1, "n_best must be 1 or more");
  require(options.sample || options.n_best <= options.beam, "n_best is larger than the beam");
  require(std::isfinite(options.length_penalty), "the length penalty is not finite");
  require(options.stopping >= ATTNRT_STOP_EARLY && options.stopping <= ATTNRT_STOP_NEVER_EARLY,
          "unknown stopping rule");
  require(options.max_length >= 1, "the maximum length must be 1 or more");
  require(options.min_length >= 0 && options.min_length <= options.max_length,
          "the minimum length must be from 0 to the maximum length");
  require(options.suppressed_count == 0 || options.suppressed, "the suppressed tokens are missing");

  const attnrt_session_options &room = session.capacity();
  const int32_t hypotheses = options.sample ? options.n_best : options.beam;
  check(hypotheses <= room.beam, ATTNRT_OUT_OF_RANGE, hypotheses,
        " hypotheses are more than the session's beam of ", room.beam);
  check(options.max_length <= room.target, ATTNRT_OUT_OF_RANGE, "the maximum length of ", options.max_length,
        " is more than the session's target length of ", room.target);
  check(options.suppressed_count <= static_cast<size_t>(room.suppressed), ATTNRT_OUT_OF_RANGE,
        options.suppressed_count, " suppressed tokens are more than the session's ", room.suppressed);

  SearchRules rules;
  rules.beam = options.sample ? 1 : options.beam;
  rules.nBest = options.n_best;
  rules.lengthPenalty = options.length_penalty;
  rules.stopping = static_cast<attnrt_stopping>(options.stopping);
  rules.minLength = options.min_length;
  rules.maxLength = options.max_length;
  rules.end = session.model().decoder().tokens.end;
  rules.suppressed.assign(options.suppressed, options.suppressed + options.suppressed_count);
  std::sort(rules.suppressed.begin(), rules.suppressed.end());
  return rules;
}

SamplingRules makeSamplingRules(const attnrt_decode_options &options) {
  const auto require = [](bool holds, const char *what) { check(holds, ATTNRT_INVALID_ARGUMENT, what); };
  require(!options.sample || (std::isfinite(options.temperature) && options.temperature > 0),
          "the temperature must be more than 0");
  require(!options.sample || (options.top_p > 0 && options.top_p <= 1),
          "top_p must be more than 0 and at most 1");
  require(options.top_k >= 0, "top_k must be 0 or more");
  return {options.temperature, options.top_k, options.top_p, options.seed};
}

/// One request.
class Decoder {
public:
  Decoder(Session &session, std::span<const attnrt_ids> sources, const attnrt_decode_options &options,
          const CancelFlag *cancel)
      : session(session), sources(sources), options(options), cancel(cancel),
        rules(makeRules(session, options)), samplingRules(makeSamplingRules(options)),
        vocabulary(session.model().decoder().targetVocabulary) {}

  std::vector<std::vector<Hypothesis>> run();

private:
  void begin();
  void scorePrefixes();
  void computeCandidates();
  std::vector<StepRow> advance(int position);
  std::vector<Move> advanceSentence(size_t sentence, int firstRow, int position);
  void report(size_t sentence) const;
  void reportToken(size_t sentence, size_t rank, int32_t id) const;
  std::vector<std::vector<Hypothesis>> finish() const;
  bool reportsAtOnce() const {
    return options.sample || (options.beam == 1 && options.stopping == ATTNRT_STOP_EARLY);
  }
  size_t prefixLength(size_t sentence) const {
    return options.prefixes ? options.prefixes[sentence].count : 0;
  }

  Session &session;
  std::span<const attnrt_ids> sources;
  const attnrt_decode_options &options;
  const CancelFlag *cancel;
  const SearchRules rules;
  const SamplingRules samplingRules;
  const int32_t vocabulary;
  std::vector<std::unique_ptr<Search>> searches;       // one per sentence
  std::vector<std::vector<float>> prefixProbabilities; // of each prefix's tokens
  std::vector<std::vector<Candidate>> candidates;      // of each row
};

void Decoder::begin() {
  const int hypotheses = options.sample ? options.n_best : options.beam;
  session.encode(sources, static_cast<int>(sources.size()) * hypotheses, rules.maxLength);
  if (options.prefixes)
    scorePrefixes();
  for (size_t s = 0; s < sources.size(); ++s) {
    if (options.sample)
      searches.push_back(std::make_unique<SampleSearch>(rules, samplingRules, options.first_sentence + s));
    else
      searches.push_back(std::make_unique<BeamSearch>(rules));
  }
  session.startRows();
}

/// A prefix's tokens need not be among the candidates: their log-probabilities come from the entry `score`.
void Decoder::scorePrefixes() {
  const std::span prefixes(options.prefixes, sources.size());
  for (size_t s = 0; s < prefixes.size(); ++s)
    check(prefixes[s].count <= static_cast<size_t>(rules.maxLength), ATTNRT_OUT_OF_RANGE, "prefix ", s,
          " has ", prefixes[s].count, " tokens, the maximum length is ", rules.maxLength);
  if (std::any_of(prefixes.begin(), prefixes.end(), [](const attnrt_ids &p) { return p.count > 0; }))
    prefixProbabilities = session.score(prefixes);
}

/// Fills in `candidates` for all rows. Ids go back into the model, so they are checked.
void Decoder::computeCandidates() {
  const int wanted = options.sample ? vocabulary : std::min(rules.candidatesWanted(), vocabulary);
  const float *scores = nullptr;
  if (options.sample) {
    scores = session.probabilities();
  } else {
    session.step(wanted);
    scores = session.scores();
  }
  candidates.resize(session.rowCount());
  for (int row = 0; row < session.rowCount(); ++row) {
    candidates[row].resize(wanted);
    for (int i = 0; i < wanted; ++i) {
      const int64_t at = static_cast<int64_t>(row) * wanted + i;
      const int32_t id = options.sample ? i : session.candidates()[at];
      check(id >= 0 && id < vocabulary && !std::isnan(scores[at]), ATTNRT_KERNEL_FAILED,
            "the model computed no probabilities (token ", id, ", log-probability ", scores[at],
            "): are its weights damaged?");
      candidates[row][i] = {id, scores[at]};
    }
  }
}

std::vector<Move> Decoder::advanceSentence(size_t sentence, int firstRow, int position) {
  Search &search = *searches[sentence];
  if (static_cast<size_t>(position) < prefixLength(sentence))
    return search.force({options.prefixes[sentence].ids[position], prefixProbabilities[sentence][position]});
  return search.advance(std::span(candidates).subspan(firstRow, search.liveCount()));
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
  const std::vector<Hypothesis> best = search.results();
  for (size_t rank = 0; rank < best.size(); ++rank)
    for (size_t i = 0; i + best[rank].ended < best[rank].ids.size(); ++i)
      reportToken(sentence, rank, best[rank].ids[i]);
}

std::vector<std::vector<Hypothesis>> Decoder::finish() const {
  std::vector<std::vector<Hypothesis>> all;
  for (const auto &search : searches)
    all.push_back(search->results());
  return all;
}

std::vector<std::vector<Hypothesis>> Decoder::run() {
  begin();
  for (int position = 0;; ++position) {
    check(!cancel || !cancel->isSet, ATTNRT_CANCELLED, "cancelled");
    computeCandidates();
    const std::vector<StepRow> next = advance(position);
    if (next.empty())
      return finish();
    session.moveRows(next);
  }
}

} // namespace

attnrt_decode_options defaultDecodeOptions(const Model &model) {
  const DecodingInfo &decoding = model.decoder().decoding;
  attnrt_decode_options options{};
  options.size = sizeof options;
  options.beam = decoding.beam;
  options.n_best = 1;
  options.length_penalty = decoding.lengthPenalty;
  options.stopping = decoding.stopping;
  const int64_t limit = model.decoder().targetLimit.value_or(decoding.maxLength);
  options.max_length = static_cast<int32_t>(std::min<int64_t>(decoding.maxLength, limit));
  options.min_length = std::min(decoding.minLength, options.max_length);
  options.temperature = 1;
  options.top_p = 1;
  return options;
}

std::vector<std::vector<Hypothesis>> decode(Session &session, std::span<const attnrt_ids> sources,
                                            const attnrt_decode_options &options, const CancelFlag *cancel) {
  return Decoder(session, sources, options, cancel).run();
}

} // namespace attnrt
