//===- Decode.cpp - from sources to hypotheses -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Runs the searches of all sentences of a request side by side: each step computes the live hypotheses of all
// sentences at once. Sentences share nothing but the call, so their results do not depend on each other.

#include "Decode.h"
#include "Failure.h"
#include "GroupSearch.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace attnrt {
namespace {

/// One request.
class Decoder {
public:
  Decoder(Session &session, std::span<const attnrt_ids> sources, const attnrt_decode_options &options,
          const CancelFlag *cancel)
      : session(session), sources(sources), options(options), cancel(cancel),
        rules(makeDecodeRules(session.model(), sources.size(), options)),
        vocabulary(session.model().decoder().targetVocabulary), chooser(rules.tokens),
        sampler(rules.sampling) {}

  std::vector<std::vector<Hypothesis>> run();

private:
  void begin();
  void usePrompt(SentenceRules &sentence, attnrt_ids prompt) const;
  void scorePrefixes();
  std::unique_ptr<Search> makeSearch(size_t sentence);
  std::span<const int32_t> readBefore(size_t sentence, int hypothesis);
  int candidatesWanted();
  void step();
  NextTokens nextTokens(int row) const;
  void advance(int position);
  const std::vector<Move> &advanceSentence(size_t sentence, int firstRow, int position);
  void report(size_t sentence) const;
  void reportToken(size_t sentence, size_t rank, int32_t id) const;
  void reportList(size_t sentence, const std::vector<Hypothesis> &best) const;
  void attend(std::vector<std::vector<Hypothesis>> &lists);
  void rankByCoverage(std::vector<Hypothesis> &list) const;
  std::vector<std::vector<Hypothesis>> finish();
  bool reportsAtOnce() const { return rules.samples || (rules.hypotheses == 1 && !rules.alternatives); }

  Session &session;
  std::span<const attnrt_ids> sources;
  const attnrt_decode_options &options;
  const CancelFlag *cancel;
  DecodeRules rules;
  const int32_t vocabulary;
  std::vector<std::unique_ptr<Search>> searches; // one per sentence
  bool readsAll = false;                         // logits of the whole vocabulary in this step
  int stepCandidates = 0;                        // or the best of each row

  // Kept, so that steps allocate nothing.
  TokenChooser chooser;
  Sampler sampler;
  std::vector<StepRow> next;
  std::vector<int32_t> read;
  std::vector<std::vector<Candidate>> candidates; // of each of a sentence's hypotheses
};

/// A step's kernel inserts words into a list of the best, which takes the square of its length. The best of
/// more are found in the logits of all, where the session has room for these; the numbers are the same.
constexpr int MostCandidates = 16;

void Decoder::begin() {
  session.encode(sources, static_cast<int>(sources.size()) * rules.hypotheses, rules.search.maxLength);
  for (size_t s = 0; !session.model().decoder().hasSource && s < sources.size(); ++s)
    usePrompt(rules.sentences[s], sources[s]);
  for (size_t s = 0; s < sources.size(); ++s)
    session.startFrom(s, rules.sentences[s].start);
  if (rules.scoresPrefixes)
    scorePrefixes();
  for (size_t s = 0; s < sources.size(); ++s)
    searches.push_back(makeSearch(s));
  candidates.resize(rules.hypotheses);
  session.startRows();
}

/// Outputs end where the model has no more positions. The last token of all is not read again.
void Decoder::usePrompt(SentenceRules &sentence, attnrt_ids prompt) const {
  sentence.prompt.assign(prompt.ids, prompt.ids + prompt.count);
  const std::optional<int64_t> limit = session.model().decoder().targetLimit;
  const auto readBefore = static_cast<int64_t>(prompt.count) - 1;
  if (limit)
    sentence.maxLength = static_cast<int>(std::min<int64_t>(sentence.maxLength, *limit - readBefore));
}

/// A prefix's tokens need not be among the candidates: their log-probabilities come from the entry `score`.
/// No end token is scored after them: a prefix may be as long as an output.
void Decoder::scorePrefixes() {
  std::vector<std::vector<int32_t>> forced(sources.size());
  std::vector<attnrt_ids> views;
  for (size_t s = 0; s < sources.size(); ++s) {
    for (const Candidate &token : rules.sentences[s].forced)
      forced[s].push_back(token.id);
    views.push_back({forced[s].size(), forced[s].data()});
  }
  const std::vector<std::vector<float>> scores = session.score(views, /*withEnd=*/false);
  for (size_t s = 0; s < sources.size(); ++s)
    for (size_t i = forced[s].size() - options.prefixes[s].count; i < forced[s].size(); ++i)
      rules.sentences[s].forced[i] = {forced[s][i], scores[s][i], scores[s][i]};
}

std::unique_ptr<Search> Decoder::makeSearch(size_t sentence) {
  SearchRules search = rules.search;
  search.maxLength = rules.sentences[sentence].maxLength;
  if (rules.samples)
    return std::make_unique<SampleSearch>(search, sampler, options.first_sentence + sentence);
  if (rules.alternatives)
    return std::make_unique<AlternativesSearch>(search, search.nBest, rules.minAlternativeProbability);
  if (rules.groups > 1)
    return std::make_unique<DiverseSearch>(search, rules.groups, rules.diversityPenalty);
  return std::make_unique<BeamSearch>(search);
}

/// The prompt or the start token, then the output; until the next call.
std::span<const int32_t> Decoder::readBefore(size_t sentence, int hypothesis) {
  const SentenceRules &own = rules.sentences[sentence];
  read.reserve(own.prompt.size() + 1 + own.maxLength);
  read = own.prompt;
  if (read.empty())
    read.push_back(own.start);
  searches[sentence]->appendOutput(hypothesis, read);
  return read;
}

/// How many of the best tokens this step has to give for each row: beside those that its rules touch there
/// are enough for the search.
int Decoder::candidatesWanted() {
  int touched = 0;
  for (size_t s = 0; rules.tokens.lookBack() && s < searches.size(); ++s)
    for (int i = 0; i < searches[s]->liveCount(); ++i)
      touched = std::max(touched, chooser.countTouched(readBefore(s, i)));
  return std::min(rules.candidatesWanted() + touched, vocabulary);
}

void Decoder::step() {
  const uint32_t uses = session.capacity().uses;
  readsAll = rules.needsAll || !(uses & ATTNRT_USE_DECODE);
  if (!readsAll) {
    stepCandidates = candidatesWanted();
    readsAll =
        (uses & ATTNRT_USE_SAMPLE) && stepCandidates > std::min(MostCandidates, session.mostCandidates());
  }
  if (readsAll)
    session.logits();
  else
    session.step(stepCandidates);
}

NextTokens Decoder::nextTokens(int row) const {
  if (readsAll)
    return {{session.scores(row, vocabulary), size_t(vocabulary)}, session.logSum(row), nullptr, vocabulary};
  const int count = stepCandidates;
  return {{session.scores(row, count), size_t(count)}, 0, session.candidates(row, count), vocabulary};
}

const std::vector<Move> &Decoder::advanceSentence(size_t sentence, int firstRow, int position) {
  Search &search = *searches[sentence];
  const SentenceRules &own = rules.sentences[sentence];
  if (static_cast<size_t>(position) < own.forced.size())
    return search.force(own.forced[position]);
  const int drawn = rules.sampling.topK > 0 ? rules.sampling.topK : vocabulary;
  const size_t wanted = rules.samples ? drawn : rules.candidatesForSearch();
  for (int i = 0; i < search.liveCount(); ++i) {
    const Past past{static_cast<size_t>(position),
                    rules.tokens.needsPast() ? readBefore(sentence, i) : std::span<const int32_t>()};
    chooser.choose(own, past, nextTokens(firstRow + i), wanted, candidates[i]);
  }
  return search.advance(std::span(candidates).first(search.liveCount()));
}

/// Finished rows are left out: the next step is as small as what is still open.
void Decoder::advance(int position) {
  next.clear();
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
}

void Decoder::reportToken(size_t sentence, size_t rank, int32_t id) const {
  bool goesOn = false;
  try {
    goesOn = options.on_token(options.user, sentence, rank, id) == 0;
  } catch (...) {
    fail(ATTNRT_CANCELLED, "the token callback threw an exception");
  }
  check(goesOn, ATTNRT_CANCELLED, "cancelled by the token callback");
}

void Decoder::report(size_t sentence) const {
  const Search &search = *searches[sentence];
  if (reportsAtOnce()) {
    for (const TakenToken &token : search.taken())
      if (rules.samples || token.rank == 0) // where the best one ends, the next best is not in the result
        reportToken(sentence, token.rank, token.id);
    return;
  }
  if (search.isDone() && rules.coveragePenalty == 0)
    reportList(sentence, search.results(rules.search.nBest));
}

void Decoder::reportList(size_t sentence, const std::vector<Hypothesis> &best) const {
  for (size_t rank = 0; rank < best.size(); ++rank)
    for (size_t i = 0; i + best[rank].ended < best[rank].ids.size(); ++i)
      reportToken(sentence, rank, best[rank].ids[i]);
}

/// Fills in the attention of all hypotheses: one call for the first ones, one for the second ones, ...
void Decoder::attend(std::vector<std::vector<Hypothesis>> &lists) {
  size_t most = 0;
  for (const std::vector<Hypothesis> &list : lists)
    most = std::max(most, list.size());
  for (size_t rank = 0; rank < most; ++rank) {
    std::vector<attnrt_ids> targets(lists.size(), attnrt_ids{0, nullptr});
    for (size_t s = 0; s < lists.size(); ++s)
      if (rank < lists[s].size() && !lists[s][rank].ids.empty()) // the last token is predicted, not read
        targets[s] = {lists[s][rank].ids.size() - 1, lists[s][rank].ids.data()};
    const auto attention = session.attend(targets, sources);
    for (size_t s = 0; s < lists.size(); ++s)
      if (rank < lists[s].size() && !lists[s][rank].ids.empty())
        lists[s][rank].attention = attention[s];
  }
}

/// Wu et al. 2016, equation 14: source tokens that got less than a whole token's attention cost.
void Decoder::rankByCoverage(std::vector<Hypothesis> &list) const {
  for (Hypothesis &hypothesis : list) {
    if (hypothesis.ids.empty())
      continue;
    const size_t sourceCount = hypothesis.attention.size() / hypothesis.ids.size();
    double penalty = 0;
    for (size_t k = 0; k < sourceCount; ++k) {
      double covered = 0;
      for (size_t q = 0; q < hypothesis.ids.size(); ++q)
        covered += hypothesis.attention[q * sourceCount + k];
      penalty += std::log(std::clamp(covered, 1e-30, 1.0)); // a weight may round to zero
    }
    hypothesis.score += static_cast<float>(rules.coveragePenalty * penalty);
  }
  keepBest(list, rules.search.nBest);
}

std::vector<std::vector<Hypothesis>> Decoder::finish() {
  const bool ranks = rules.coveragePenalty > 0;
  std::vector<std::vector<Hypothesis>> all;
  for (const auto &search : searches) // what is ranked again comes in full
    all.push_back(search->results(ranks ? std::numeric_limits<size_t>::max() : rules.search.nBest));
  if (rules.looksAtAttention())
    attend(all);
  for (size_t s = 0; ranks && s < all.size(); ++s) {
    rankByCoverage(all[s]);
    if (options.on_token && !reportsAtOnce())
      reportList(s, all[s]);
  }
  return all;
}

std::vector<std::vector<Hypothesis>> Decoder::run() {
  checkCapacity(rules, session.capacity());
  if (sources.empty())
    return {};
  begin();
  for (int position = 0;; ++position) {
    check(!cancel || !cancel->isSet, ATTNRT_CANCELLED, "cancelled");
    step();
    advance(position);
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
