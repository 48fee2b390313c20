//===- DecodingFlags.cpp - the flags of attnc run that steer decoding --------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/driver/DecodingFlags.h"
#include "compiler/driver/Flags.h"
#include "compiler/driver/SentenceLines.h"
#include "compiler/spec/ReadText.h"

#include <fstream>

namespace attnc {
namespace {

namespace ranges = attnrt::ranges;

attnrt_stopping parseStopping(const std::string &text) {
  if (text == "never")
    return ATTNRT_STOP_NEVER_EARLY;
  return text == "true" ? ATTNRT_STOP_EARLY : ATTNRT_STOP_LATER;
}

/// Why `text` holds anything but ids, or nothing.
std::string refuseOthersThanIds(const std::string &text) {
  try {
    parseIds(text);
    return {};
  } catch (const std::exception &error) {
    return error.what();
  }
}

Ids readShortlist(const std::string &path) {
  constexpr size_t largest = 64 << 20;
  std::ifstream file(path);
  const std::string text = readText(file, largest);
  if (!file.is_open() || file.bad())
    throw std::runtime_error("--shortlist: '" + path + "' cannot be read");
  if (text.size() > largest)
    throw std::runtime_error("--shortlist: '" + path + "' is more than " + std::to_string(largest) +
                             " bytes long");
  if (const std::string mistake = refuseOthersThanIds(text); !mistake.empty())
    throw std::runtime_error("--shortlist: '" + path + "': " + mistake);
  Ids ids = parseIds(text);
  if (ids.empty())
    throw std::runtime_error("--shortlist: '" + path + "' is empty");
  return ids;
}

void addSearchFlags(CLI::App &command, DecodingFlags &flags) {
  const char *group = "Search";
  command.add_option("--beam,--num-beams", flags.beam, "Hypotheses followed at once; 1 is greedy")
      ->check(wholeIn(ranges::beam))
      ->group(group);
  auto *nBest =
      command.add_option("--n-best,--num-return-sequences", flags.nBest, "Outputs (or samples) per line")
          ->check(wholeIn(ranges::beam))
          ->group(group);
  command.add_option("--length-penalty", flags.lengthPenalty, "Scores are sum / length ^ this")
      ->check(numberIn(ranges::lengthPenalty))
      ->group(group);
  command.add_option("--min-length", flags.minLength, "Tokens before the end token is allowed")
      ->check(wholeIn(ranges::minLength))
      ->group(group);
  command.add_option("--max-length", flags.maxLength, "Tokens at most, the end token counted")
      ->check(wholeIn(ranges::maxLength))
      ->group(group);
  command
      .add_option("--early-stopping", flags.earlyStopping, "When a beam search ends: true, false or never")
      ->check(CLI::IsMember({"true", "false", "never"}))
      ->group(group);
  command
      .add_option("--patience", flags.patience, "Beam search wants this many times 'beam' finished outputs")
      ->check(numberIn(ranges::patience))
      ->group(group);
  command.add_option("--num-beam-groups", flags.beamGroups, "Groups that a diverse beam search divides into")
      ->check(wholeIn(ranges::beam))
      ->group(group);
  command
      .add_option("--diversity-penalty", flags.diversityPenalty,
                  "What a token loses for each earlier group's hypothesis that takes it")
      ->check(numberIn(ranges::penalty))
      ->group(group);
  command
      .add_option("--coverage-penalty", flags.coveragePenalty,
                  "What outputs lose for source tokens that they did not look at")
      ->check(numberIn(ranges::penalty))
      ->group(group);
  command
      .add_option("--alternatives", flags.alternatives,
                  "That many outputs per line, each with another first token (after the prefix)")
      ->check(wholeIn(ranges::beam))
      ->excludes(nBest)
      ->group(group);
  command
      .add_option("--min-alternative-probability", flags.minAlternativeProbability,
                  "Of an alternative's first token")
      ->check(numberIn(ranges::probability))
      ->group(group);
}

void addTokenFlags(CLI::App &command, DecodingFlags &flags) {
  const char *group = "Tokens";
  command
      .add_option("--repetition-penalty", flags.repetitionPenalty,
                  "Above 1: tokens become less probable once they have occurred")
      ->check(numberIn(ranges::repetitionPenalty))
      ->group(group);
  command
      .add_option("--no-repeat-ngram-size", flags.ngramSize,
                  "No run of so many tokens comes twice; 0: any may")
      ->check(wholeIn(ranges::ngramSize))
      ->group(group);
  command.add_option("--suppress-tokens", flags.suppressed, "Ids that never occur: 3,4,5")
      ->check(wholeIn(ranges::ids))
      ->delimiter(',')
      ->allow_extra_args(false)
      ->group(group);
  command.add_option("--begin-suppress-tokens", flags.beginSuppressed, "Ids that are never the first: 3,4,5")
      ->check(wholeIn(ranges::ids))
      ->delimiter(',')
      ->allow_extra_args(false)
      ->group(group);
  command
      .add_option("--bad-words-ids", flags.badWords,
                  "A sequence of ids that never occurs: \"3 4 5\"; repeatable")
      ->check(refuseOthersThanIds)
      ->allow_extra_args(false)
      ->group(group);
  command
      .add_option("--forced-bos-token-id", flags.forcedFirst, "The first token, before the prefix; -1: any")
      ->check(wholeIn(ranges::idOrNone))
      ->group(group);
  command.add_option("--forced-eos-token-id", flags.forcedLast, "The token at the maximum length; -1: any")
      ->check(wholeIn(ranges::idOrNone))
      ->group(group);
  command
      .add_option("--shortlist", flags.shortlistFile, "A file of ids: no others occur, but for the end token")
      ->type_name("FILE")
      ->group(group);
  auto *forcedFirst = command.get_option("--forced-bos-token-id");
  command
      .add_option("--target-language", flags.targetLanguage,
                  "Code of the language that outputs are to be in, of a model of several")
      ->excludes(forcedFirst)
      ->group(group);
  command
      .add_flag("--renormalize-logits", flags.renormalizes,
                "What rules leave over sums to one again, for scores")
      ->group(group);
}

void addSamplingFlags(CLI::App &command, DecodingFlags &flags) {
  const char *group = "Sampling";
  command
      .add_flag_function(
          "--sample,!--no-sample", [&](int64_t count) { flags.samples = count > 0; },
          "Draw tokens instead of searching")
      ->group(group);
  command.add_option("--top-k", flags.topK, "Draw from the k most probable tokens; 0: all")
      ->check(wholeIn(ranges::topK))
      ->group(group);
  command
      .add_option("--top-p", flags.topP, "Draw from the fewest tokens that have this probability together")
      ->check(numberIn(ranges::share))
      ->group(group);
  command.add_option("--min-p", flags.minP, "Draw from tokens this much as probable as the best")
      ->check(numberIn(ranges::probability))
      ->group(group);
  command
      .add_option("--typical-p", flags.typicalP,
                  "Draw from the fewest typical tokens that have this probability together")
      ->check(numberIn(ranges::share))
      ->group(group);
  command
      .add_option("--temperature", flags.temperature, "Above 1 flattens, below 1 sharpens the distribution")
      ->check(numberIn(ranges::temperature))
      ->group(group);
  command.add_option("--seed", flags.seed, "Seed and place among the decoded lines fix a line's samples")
      ->check(wholeIn(ranges::seed))
      ->group(group);
}

enum class Purpose { Sampling, Searching, BeamSearch, Alternatives };

/// Why a flag of this purpose has no effect, or null.
const char *whyIdle(Purpose purpose, const attnrt_decode_options &options) {
  if (purpose == Purpose::Sampling)
    return options.sample ? nullptr : "without --sample";
  if (purpose == Purpose::Alternatives)
    return options.return_alternatives ? nullptr : "without --alternatives";
  if (options.sample)
    return "on samples: give --no-sample, or leave it out";
  if (purpose == Purpose::BeamSearch && options.beam / options.num_beam_groups < 2)
    return "without a --beam of 2 or more (in each of its groups)";
  return nullptr;
}

template <typename To, typename From> void assign(To &to, const std::optional<From> &from) {
  if (from)
    to = *from;
}

} // namespace

void addDecodingFlags(CLI::App &command, DecodingFlags &flags) {
  addSearchFlags(command, flags);
  addTokenFlags(command, flags);
  addSamplingFlags(command, flags);
}

DecodingOptions::DecodingOptions(const Model &model, const DecodingFlags &flags)
    : options(model.decodeOptions()) {
  setSearch(flags);
  setTokenRules(flags);
  if (!flags.targetLanguage.empty())
    options.target_language = findLanguage(model, "--target-language", flags.targetLanguage);
  setSampling(flags);
  refuseIdle(flags);
}

void DecodingOptions::setSampling(const DecodingFlags &flags) {
  assign(options.sample, flags.samples);
  assign(options.top_k, flags.topK);
  assign(options.top_p, flags.topP);
  assign(options.min_p, flags.minP);
  assign(options.typical_p, flags.typicalP);
  assign(options.temperature, flags.temperature);
  assign(options.seed, flags.seed);
}

/// A flag that would have no effect is a mistake.
void DecodingOptions::refuseIdle(const DecodingFlags &flags) const {
  const struct {
    const char *flag;
    bool isGiven;
    Purpose purpose;
  } all[] = {
      {"--top-k", flags.topK.has_value(), Purpose::Sampling},
      {"--top-p", flags.topP.has_value(), Purpose::Sampling},
      {"--min-p", flags.minP.has_value(), Purpose::Sampling},
      {"--typical-p", flags.typicalP.has_value(), Purpose::Sampling},
      {"--temperature", flags.temperature.has_value(), Purpose::Sampling},
      {"--seed", flags.seed.has_value(), Purpose::Sampling},
      {"--beam (--num-beams)", flags.beam.value_or(1) > 1, Purpose::Searching},
      {"--patience", flags.patience.has_value(), Purpose::BeamSearch},
      {"--early-stopping", flags.earlyStopping.has_value(), Purpose::BeamSearch},
      {"--min-alternative-probability", flags.minAlternativeProbability.has_value(), Purpose::Alternatives}};
  for (const auto &[flag, isGiven, purpose] : all)
    if (const char *reason = whyIdle(purpose, options); isGiven && reason)
      throw CLI::ValidationError(flag, std::string("has no effect ") + reason);
}

void DecodingOptions::setSearch(const DecodingFlags &flags) {
  if (flags.alternatives || flags.nBest) // the one excludes the other
    options.return_alternatives = flags.alternatives.has_value();
  assign(options.n_best, flags.nBest);
  assign(options.n_best, flags.alternatives);
  assign(options.beam, flags.beam);
  assign(options.min_length, flags.minLength);
  assign(options.max_length, flags.maxLength);
  if (flags.earlyStopping)
    options.stopping = parseStopping(*flags.earlyStopping);
  assign(options.length_penalty, flags.lengthPenalty);
  assign(options.patience, flags.patience);
  assign(options.num_beam_groups, flags.beamGroups);
  assign(options.diversity_penalty, flags.diversityPenalty);
  assign(options.coverage_penalty, flags.coveragePenalty);
  assign(options.min_alternative_probability, flags.minAlternativeProbability);
}

void DecodingOptions::setTokenRules(const DecodingFlags &flags) {
  assign(options.repetition_penalty, flags.repetitionPenalty);
  assign(options.no_repeat_ngram_size, flags.ngramSize);
  assign(options.forced_bos_token_id, flags.forcedFirst);
  assign(options.forced_eos_token_id, flags.forcedLast);
  if (flags.renormalizes)
    options.renormalize_logits = 1;
  if (flags.suppressed) {
    suppressed = *flags.suppressed;
    options.suppressed_count = suppressed.size();
    options.suppressed = suppressed.data();
  }
  if (flags.beginSuppressed) {
    beginSuppressed = *flags.beginSuppressed;
    options.begin_suppress_count = beginSuppressed.size();
    options.begin_suppress_tokens = beginSuppressed.data();
  }
  for (const std::string &word : flags.badWords)
    badWords.push_back(parseIds(word));
  if (!badWords.empty()) {
    badWordViews = attnrt::api::view(badWords);
    options.bad_words_count = badWordViews.size();
    options.bad_words_ids = badWordViews.data();
  }
  if (!flags.shortlistFile.empty()) {
    shortlist = readShortlist(flags.shortlistFile);
    shortlistView = {shortlist.size(), shortlist.data()};
    options.shortlist_count = 1;
    options.shortlists = &shortlistView;
  }
}

void DecodingOptions::reserve(attnrt_session_options &room) const {
  room.beam =
      options.sample ? options.n_best : options.beam * (options.return_alternatives ? options.n_best : 1);
  room.target = options.max_length;
  room.suppressed =
      static_cast<int32_t>(options.suppressed_count + options.begin_suppress_count + options.bad_words_count);
  room.uses = ATTNRT_USE_DECODE | ATTNRT_USE_SAMPLE; // memory that no request touches costs nothing
  if (options.coverage_penalty > 0 || options.return_attention)
    room.uses |= ATTNRT_USE_ATTEND;
}

} // namespace attnc
