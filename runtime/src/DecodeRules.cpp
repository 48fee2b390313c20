//===- DecodeRules.cpp - a request's options, checked -------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "DecodeRules.h"
#include "Failure.h"
#include "attnrt/ranges.hpp"

#include <algorithm>
#include <cmath>

namespace attnrt {
namespace {

template <typename... Parts> void require(bool holds, const Parts &...parts) {
  check(holds, ATTNRT_INVALID_ARGUMENT, parts...);
}

/// `0.1`, not `0.100000001`; whole numbers whole.
std::string text(double number) {
  char digits[32];
  const bool isWhole = number == std::trunc(number) && std::abs(number) < 1e15;
  std::snprintf(digits, sizeof digits, isWhole ? "%.0f" : "%.7g", number);
  return digits;
}

template <typename Number> void requireIn(Range range, Number value, const char *name) {
  require(range.holds(value), "'", name, "' is ", text(value), ", which is not in ", text(range.low), " to ",
          text(range.high));
}

/// Of `count`, which the caller gives, nothing is read before it is known to be no absurd number.
void requireAtMost(size_t most, size_t count, const char *name, const char *what) {
  require(count <= most, "'", name, "' has ", count, " ", what, ", but may have ", most, " at most");
}

/// A list of ids that the caller gives; `name` is the option's.
std::vector<int32_t> readIds(attnrt_ids given, int32_t vocabulary, const char *name) {
  require(given.count == 0 || given.ids, "'", name, "' is null");
  for (size_t i = 0; i < given.count; ++i)
    require(given.ids[i] >= 0 && given.ids[i] < vocabulary, "'", name, "' has the id ", given.ids[i],
            ", which is not in 0 to ", vocabulary - 1);
  return {given.ids, given.ids + given.count};
}

/// No longer than the vocabulary, even where an id comes twice.
std::vector<int32_t> readSet(attnrt_ids given, int32_t vocabulary, const char *name) {
  requireAtMost(vocabulary, given.count, name, "ids");
  std::vector<int32_t> ids = readIds(given, vocabulary, name);
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

void checkSearch(const DecoderInfo &decoder, const attnrt_decode_options &options) {
  requireIn(ranges::beam, options.beam, "beam");
  requireIn(ranges::beam, options.n_best, "n_best");
  requireIn(ranges::lengthPenalty, options.length_penalty, "length_penalty");
  require(options.stopping >= ATTNRT_STOP_EARLY && options.stopping <= ATTNRT_STOP_NEVER_EARLY,
          "'stopping' is ", options.stopping, ", which is not an attnrt_stopping");
  requireIn(ranges::maxLength, options.max_length, "max_length");
  requireIn(ranges::minLength, options.min_length, "min_length");
  require(options.min_length <= options.max_length, "'min_length' is ", options.min_length,
          ", more than 'max_length' (", options.max_length, ")");
  check(options.max_length <= decoder.targetLimit.value_or(options.max_length), ATTNRT_OUT_OF_RANGE,
        "'max_length' is ", options.max_length, ", but the model's positions end at ",
        decoder.targetLimit.value_or(0));
}

void checkGroups(const attnrt_decode_options &options) {
  const int32_t groups = options.num_beam_groups;
  requireIn(ranges::beam, groups, "num_beam_groups");
  require(options.beam % groups == 0, "'num_beam_groups' is ", groups, ", which does not divide 'beam' (",
          options.beam, ")");
  requireIn(ranges::penalty, options.diversity_penalty, "diversity_penalty");
  require(groups > 1 || options.diversity_penalty == 0,
          "'diversity_penalty' needs 'num_beam_groups' of 2 or more");
  require(!options.return_alternatives || groups == 1,
          "'return_alternatives' and 'num_beam_groups' exclude each other");
}

void checkSpecialSearches(const attnrt_decode_options &options) {
  requireIn(ranges::patience, options.patience, "patience");
  requireIn(ranges::penalty, options.coverage_penalty, "coverage_penalty");
  requireIn(ranges::probability, options.min_alternative_probability, "min_alternative_probability");
  if (!options.sample)
    return checkGroups(options);
  require(options.num_beam_groups == 1, "'num_beam_groups' is for searches, not for samples");
  require(!options.return_alternatives, "'return_alternatives' is for searches, not for samples");
  require(options.coverage_penalty == 0, "'coverage_penalty' is for searches, not for samples");
}

SearchRules makeSearchRules(const DecoderInfo &decoder, const attnrt_decode_options &options) {
  checkSearch(decoder, options);
  checkSpecialSearches(options);
  SearchRules rules;
  rules.beam = options.sample ? 1 : options.beam / options.num_beam_groups;
  rules.nBest = options.n_best;
  rules.patience = 1;
  if (rules.beam > 1)
    rules.patience = std::max(1, static_cast<int>(std::lround(rules.beam * options.patience)));
  rules.ranksLater = options.coverage_penalty > 0;
  rules.lengthPenalty = options.length_penalty;
  // A beam of 1 is greedy search, which ends when its hypothesis does.
  rules.stopping = rules.beam == 1 ? ATTNRT_STOP_EARLY : static_cast<attnrt_stopping>(options.stopping);
  rules.maxLength = options.max_length;
  rules.ends = decoder.tokens.ends;
  const int most = std::min(options.num_beam_groups * rules.patience, static_cast<int>(ranges::beam.high));
  require(options.sample || options.return_alternatives || rules.nBest <= most, "'n_best' is ", rules.nBest,
          ", but a 'beam' of ", options.beam, " with a 'patience' of ", text(options.patience),
          " gives at most ", most);
  return rules;
}

SamplingRules makeSamplingRules(const attnrt_decode_options &options) {
  requireIn(ranges::temperature, options.temperature, "temperature");
  requireIn(ranges::topK, options.top_k, "top_k");
  requireIn(ranges::share, options.top_p, "top_p");
  requireIn(ranges::probability, options.min_p, "min_p");
  requireIn(ranges::share, options.typical_p, "typical_p");
  return {options.temperature, options.top_k, options.top_p, options.min_p, options.typical_p, options.seed};
}

TokenRules makeTokenRules(const DecoderInfo &decoder, const attnrt_decode_options &options) {
  const int32_t vocabulary = decoder.targetVocabulary;
  requireIn(ranges::repetitionPenalty, options.repetition_penalty, "repetition_penalty");
  requireIn(ranges::ngramSize, options.no_repeat_ngram_size, "no_repeat_ngram_size");
  constexpr auto most = static_cast<size_t>(ranges::badWords.high);
  requireAtMost(most, options.bad_words_count, "bad_words_ids", "sequences");
  require(options.bad_words_count == 0 || options.bad_words_ids, "'bad_words_ids' is null");
  require(options.forced_eos_token_id >= -1 && options.forced_eos_token_id < vocabulary,
          "'forced_eos_token_id' is ", options.forced_eos_token_id, ", which is not in 0 to ", vocabulary - 1,
          ", or -1 for none");
  TokenRules rules;
  rules.ends = decoder.tokens.ends;
  rules.minLength = options.min_length;
  rules.repetitionPenalty = options.repetition_penalty;
  rules.penalizesLogits = options.sample || options.beam == 1; // as in Transformers
  rules.noRepeatNgramSize = options.no_repeat_ngram_size;
  rules.suppressed = readSet({options.suppressed_count, options.suppressed}, vocabulary, "suppress_tokens");
  rules.beginSuppressed = readSet({options.begin_suppress_count, options.begin_suppress_tokens}, vocabulary,
                                  "begin_suppress_tokens");
  for (size_t i = 0; i < options.bad_words_count; ++i) {
    requireAtMost(most, options.bad_words_ids[i].count, "bad_words_ids", "tokens in a sequence");
    std::vector<int32_t> word = readIds(options.bad_words_ids[i], vocabulary, "bad_words_ids");
    require(!word.empty(), "'bad_words_ids' has an empty sequence");
    if (word.size() > 1 || !rules.isEnd(word[0])) // as in Transformers: an end token alone is no bad word
      rules.badWords.push_back(std::move(word));
  }
  if (options.forced_eos_token_id >= 0)
    rules.forcedLast = options.forced_eos_token_id;
  rules.renormalizes = options.renormalize_logits != 0;
  return rules;
}

/// The language that the output of sentence `number` is asked for in, or -1.
int32_t languageOf(size_t number, const DecoderInfo &decoder, const attnrt_decode_options &options) {
  const int32_t language =
      options.target_languages ? options.target_languages[number] : options.target_language;
  require(language == -1 || decoder.tokens.isLanguage(language), "'target_language' is ", language,
          " for sentence ", number, ", which is not a language's token, or -1 for the bundle's own");
  require(language == -1 || !options.forced_bos_token_ids,
          "'target_language' and 'forced_bos_token_ids' exclude each other");
  return language;
}

/// The tokens that the outputs of sentence `number` begin with: the forced first one, then the prefix.
std::vector<Candidate> makeForced(size_t number, int32_t language, int32_t vocabulary,
                                  const attnrt_decode_options &options) {
  std::vector<Candidate> forced;
  const int32_t first = options.forced_bos_token_ids ? options.forced_bos_token_ids[number]
                        : language >= 0              ? language
                                                     : options.forced_bos_token_id;
  require(first >= -1 && first < vocabulary, "'forced_bos_token_id' is ", first, " for sentence ", number,
          ", which is not in 0 to ", vocabulary - 1, ", or -1 for none");
  const bool isLastToo = options.max_length == 1 && options.forced_eos_token_id >= 0; // which prevails
  if (first >= 0 && !isLastToo)
    forced.push_back({first, 0, 0});
  if (!options.prefixes)
    return forced;
  const attnrt_ids prefix = options.prefixes[number];
  const size_t most = options.max_length - forced.size();
  check(prefix.count <= most, ATTNRT_OUT_OF_RANGE, "'prefixes' has ", prefix.count, " tokens for sentence ",
        number, ", but 'max_length' leaves room for ", most);
  for (const int32_t id : readIds(prefix, vocabulary, "prefixes"))
    forced.push_back({id, 0, 0});
  return forced;
}

std::vector<SentenceRules> makeSentenceRules(size_t count, const DecoderInfo &decoder,
                                             const attnrt_decode_options &options) {
  const size_t lists = options.shortlist_count;
  require(lists == 0 || options.shortlists, "'shortlists' is null");
  require(lists <= 1 || lists == count, "there are ", lists, " shortlists for ", count,
          " sentences: give none, one for all, or one for each");
  std::vector<SentenceRules> sentences(count);
  for (size_t s = 0; s < count; ++s) {
    const int32_t language = languageOf(s, decoder, options);
    const bool startsFromIt = language >= 0 && decoder.tokens.isLanguage(decoder.tokens.start);
    sentences[s].maxLength = options.max_length;
    sentences[s].start = startsFromIt ? language : decoder.tokens.start;
    sentences[s].forced = makeForced(s, startsFromIt ? -1 : language, decoder.targetVocabulary, options);
    if (lists == 0)
      continue;
    std::vector<int32_t> &list = sentences[s].shortlist;
    list = readSet(options.shortlists[lists == 1 ? 0 : s], decoder.targetVocabulary, "shortlists");
    for (const int32_t end : list.empty() ? std::vector<int32_t>() : decoder.tokens.ends)
      if (const auto place = std::lower_bound(list.begin(), list.end(), end);
          place == list.end() || *place != end)
        list.insert(place, end);
  }
  return sentences;
}

} // namespace

int DecodeRules::candidatesForSearch() const {
  if (alternatives)
    return std::max(search.candidatesWanted(), search.nBest);
  // An earlier group can make as many tokens worse as it has hypotheses.
  return groups > 1 ? (groups - 1) * search.beam + search.usefulCandidates() : search.candidatesWanted();
}

int DecodeRules::candidatesWanted() const { return candidatesForSearch() + tokens.forbiddable(); }

attnrt_decode_options plainDecodeOptions(const Model &model) {
  const DecodingInfo &decoding = model.decoder().decoding;
  attnrt_decode_options options{};
  options.size = sizeof options;
  options.beam = 1;
  options.n_best = 1;
  options.length_penalty = 1;
  const int64_t limit = model.decoder().targetLimit.value_or(decoding.maxLength);
  options.max_length = static_cast<int32_t>(std::min<int64_t>(decoding.maxLength, limit));
  options.temperature = 1;
  options.top_p = 1;
  options.repetition_penalty = 1;
  options.forced_bos_token_id = -1;
  options.forced_eos_token_id = -1;
  options.typical_p = 1;
  options.patience = 1;
  options.num_beam_groups = 1;
  options.target_language = -1;
  return options;
}

attnrt_decode_options defaultDecodeOptions(const Model &model) {
  const DecodingInfo &decoding = model.decoder().decoding;
  attnrt_decode_options options = plainDecodeOptions(model);
  options.beam = decoding.beam;
  options.n_best = decoding.nBest;
  options.length_penalty = decoding.lengthPenalty;
  options.stopping = decoding.stopping;
  options.min_length = std::min(decoding.minLength, options.max_length);
  options.patience = decoding.patience;
  options.num_beam_groups = decoding.beamGroups;
  options.diversity_penalty = decoding.diversityPenalty;
  options.coverage_penalty = decoding.coveragePenalty;
  options.suppressed_count = decoding.suppressed.size();
  options.suppressed = decoding.suppressed.data();
  options.repetition_penalty = decoding.repetitionPenalty;
  options.no_repeat_ngram_size = decoding.noRepeatNgramSize;
  options.begin_suppress_count = decoding.beginSuppressed.size();
  options.begin_suppress_tokens = decoding.beginSuppressed.data();
  options.bad_words_count = model.badWords().size();
  options.bad_words_ids = model.badWords().data();
  options.forced_bos_token_id = decoding.forcedFirst.value_or(-1);
  options.forced_eos_token_id = decoding.forcedLast.value_or(-1);
  if (model.shortlist().count > 0) {
    options.shortlist_count = 1;
    options.shortlists = &model.shortlist();
  }
  options.renormalize_logits = decoding.renormalizes;
  options.return_alternatives = decoding.alternatives;
  options.min_alternative_probability = decoding.minAlternativeProbability;
  options.sample = decoding.samples;
  options.temperature = decoding.temperature;
  options.top_k = decoding.topK;
  options.top_p = decoding.topP;
  options.min_p = decoding.minP;
  options.typical_p = decoding.typicalP;
  return options;
}

int hypothesesOf(const attnrt_decode_options &options) {
  if (options.sample)
    return options.n_best;
  return options.return_alternatives ? options.beam * options.n_best : options.beam;
}

DecodeRules makeDecodeRules(const Model &model, size_t sentences, const attnrt_decode_options &options) {
  const DecoderInfo &decoder = model.decoder();
  DecodeRules rules;
  rules.search = makeSearchRules(decoder, options);
  rules.sampling = makeSamplingRules(options);
  rules.tokens = makeTokenRules(decoder, options);
  rules.sentences = makeSentenceRules(sentences, decoder, options);
  rules.samples = options.sample != 0;
  const auto hasShortlist = [](const SentenceRules &sentence) { return !sentence.shortlist.empty(); };
  rules.needsAll = rules.samples || rules.tokens.needsAll() ||
                   std::any_of(rules.sentences.begin(), rules.sentences.end(), hasShortlist);
  rules.alternatives = options.return_alternatives != 0;
  rules.groups = rules.samples ? 1 : options.num_beam_groups;
  rules.diversityPenalty = options.diversity_penalty;
  rules.minAlternativeProbability = options.min_alternative_probability;
  rules.coveragePenalty = options.coverage_penalty;
  rules.returnsAttention = options.return_attention != 0;
  const auto isGiven = [](const attnrt_ids &prefix) { return prefix.count > 0; };
  rules.scoresPrefixes =
      options.prefixes && std::any_of(options.prefixes, options.prefixes + sentences, isGiven);
  rules.hypotheses = hypothesesOf(options);
  require(rules.hypotheses <= ranges::beam.high, "'beam' times 'n_best' is ", rules.hypotheses,
          ", but alternatives are searched for with ", ranges::beam.high, " hypotheses at most");
  check(!rules.looksAtAttention() || model.manifest().findEntry("attend") >= 0, ATTNRT_UNSUPPORTED,
        "'coverage_penalty' and 'return_attention' need attention to the source, which '",
        model.manifest().name, "' does not have");
  return rules;
}

void checkCapacity(const DecodeRules &rules, const attnrt_session_options &room) {
  require(!rules.mayNeedAll() || (room.uses & ATTNRT_USE_SAMPLE),
          "sampling and rules that look at every token need a session with ATTNRT_USE_SAMPLE");
  require((room.uses & (ATTNRT_USE_DECODE | ATTNRT_USE_SAMPLE)) != 0,
          "decoding needs a session with ATTNRT_USE_DECODE or ATTNRT_USE_SAMPLE");
  require(!rules.scoresPrefixes || (room.uses & ATTNRT_USE_SCORE),
          "prefixes need a session with ATTNRT_USE_SCORE");
  require(!rules.looksAtAttention() || (room.uses & ATTNRT_USE_ATTEND),
          "the coverage penalty and alignments need a session with ATTNRT_USE_ATTEND");
  check(rules.hypotheses <= room.beam, ATTNRT_OUT_OF_RANGE, rules.hypotheses,
        " hypotheses are more than the session's beam of ", room.beam);
  check(rules.search.maxLength <= room.target, ATTNRT_OUT_OF_RANGE, "the maximum length of ",
        rules.search.maxLength, " is more than the session's target length of ", room.target);
  check((room.uses & ATTNRT_USE_SAMPLE) ||
            rules.tokens.forbiddable() <= room.suppressed + static_cast<int>(rules.tokens.ends.size()),
        ATTNRT_OUT_OF_RANGE, rules.tokens.forbiddable(),
        " tokens to forbid are more than the session's 'suppressed' of ", room.suppressed);
}

} // namespace attnrt
