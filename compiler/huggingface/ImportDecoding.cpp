//===- ImportDecoding.cpp - how outputs are searched for -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Settings of `generate` become `model.decoding`. What a spec cannot say, and what it says otherwise, is
// reported.

#include "attnrt/ranges.hpp"
#include "compiler/huggingface/ImportJob.h"
#include "compiler/spec/Keys.h"
#include "compiler/spec/Words.h"

#include <algorithm>

namespace attnc {
namespace {

/// A setting of `generate`: of generation_config.json, or where there is no such file of config.json.
class GenerationField {
public:
  GenerationField(ImportJob &job, std::string_view key)
      : GenerationField(job, key, job.generation.exists() ? job.generation : job.config) {}

  /// A token's id, which config.json may name where the other file does not.
  static GenerationField token(ImportJob &job, std::string_view key) {
    return {job, key, job.generation.has(key) ? job.generation : job.config};
  }

  bool isGiven() { return config.has(key); }
  int64_t integer(Range range, int64_t fallback) { return config.integer(key, range, fallback); }
  std::optional<int64_t> id() { return config.id(key); }
  std::vector<int64_t> idList() { return config.idList(key); }
  std::vector<std::vector<int64_t>> idLists() { return config.idLists(key); }
  bool boolean(bool fallback) { return config.boolean(key, fallback); }
  double number(double fallback) { return config.number(key, fallback); }
  std::string scalar() { return config.scalar(key); }
  void reject(const std::string &why) { config.reject(key, why); }
  void warnUnless(std::string_view harmless) { config.warnUnless(key, harmless); }

private:
  GenerationField(ImportJob &job, std::string_view key, Config &config) : config(config), key(key) {
    job.config.passOver({key}); // which of the two counts is settled here
  }

  Config &config;
  std::string_view key;
};

/// What a decoding option may be, of those that are whole numbers.
constexpr Range wholeNumbers(attnrt::Range range) {
  return {static_cast<int64_t>(range.low), static_cast<int64_t>(range.high)};
}
constexpr Range beams = wholeNumbers(attnrt::ranges::beam), lengths = wholeNumbers(attnrt::ranges::minLength);

/// The decoder's first token; without one `generate` takes the beginning-of-sentence token.
void importStart(ImportJob &job, std::optional<int64_t> fallback) {
  GenerationField field = GenerationField::token(job, "decoder_start_token_id");
  std::optional<int64_t> start = field.isGiven() ? field.id() : fallback;
  bool isOwn = start.has_value();
  if (!isOwn)
    start = GenerationField::token(job, "bos_token_id").id();
  if (!start)
    field.reject("the decoder's first token is needed");
  job.spec.set("model.tokens.start", start.value_or(0), isOwn ? "decoder_start_token_id" : "bos_token_id");
}

void importEnds(ImportJob &job, const DefaultTokens &fallback) {
  GenerationField field = GenerationField::token(job, "eos_token_id");
  std::vector<int64_t> ends = field.idList();
  if (!field.isGiven() && fallback.end)
    ends = {*fallback.end};
  if (ends.empty())
    field.reject("a token that ends outputs is needed");
  else
    job.spec.set("model.tokens.end", ends.size() == 1 ? std::to_string(ends.front()) : listText(ends),
                 "eos_token_id");
  GenerationField padding = GenerationField::token(job, "pad_token_id");
  if (std::optional<int64_t> pad = padding.isGiven() ? padding.id() : fallback.pad)
    job.spec.set("model.tokens.pad", *pad, "pad_token_id");
}

/// A bound as a spec counts it, in new tokens alone.
struct Length {
  int64_t tokens;
  std::string key, comment; // where it comes from
};

/// The bound that the keys `whole` and `news` give; what counts new tokens alone prevails. Nothing where
/// neither says anything that can be represented.
std::optional<Length> importLength(ImportJob &job, const std::string &whole, const std::string &news,
                                   Lengths counted) {
  GenerationField all(job, whole), fresh(job, news);
  int64_t length = all.integer(lengths, 0);
  if (fresh.isGiven())
    return Length{fresh.integer(lengths, 0), news, news};
  if (length == 0)
    return std::nullopt;
  if (counted == Lengths::WithStart)
    return Length{length - 1, whole, "without the start token"};
  job.warnings.push_back("'" + whole + "' counts the prompt, which a spec does not: it is passed over");
  return std::nullopt;
}

/// The bound within `range`; a warning tells where that is another one.
int64_t fitted(ImportJob &job, const Length &length, Range range, const std::string &reason) {
  int64_t tokens = std::clamp(length.tokens, range.low, range.high);
  if (tokens != length.tokens)
    job.warnings.push_back(quote(length.key) + " asks for " + std::to_string(length.tokens) +
                           " new tokens: the spec gets " + std::to_string(tokens) + ", " + reason);
  return tokens;
}

void importLengths(ImportJob &job, int64_t longest, Lengths counted) {
  std::optional<Length> most = importLength(job, "max_length", "max_new_tokens", counted);
  int64_t limit = std::min<int64_t>(longest, 256);
  if (most)
    limit = fitted(job, *most, {1, longest},
                   most->tokens < 1 ? "the fewest there can be" : "for which the network has positions");
  job.spec.set("model.decoding.max_length", limit, most ? most->comment : std::string());
  if (std::optional<Length> least = importLength(job, "min_length", "min_new_tokens", counted))
    job.spec.set("model.decoding.min_length", fitted(job, *least, {0, limit}, "its longest output"),
                 least->comment);
}

/// Rules for tokens, which a spec names as generation_config.json does.
void importTokenRules(ImportJob &job) {
  auto set = [&](const std::string &key, auto value) { job.spec.set("model.decoding." + key, value); };
  set("num_beam_groups", GenerationField(job, "num_beam_groups").integer(beams, 1));
  set("diversity_penalty", GenerationField(job, "diversity_penalty").number(0));
  set("repetition_penalty", GenerationField(job, "repetition_penalty").number(1));
  set("no_repeat_ngram_size", GenerationField(job, "no_repeat_ngram_size").integer(lengths, 0));
  for (const char *key : {"suppress_tokens", "begin_suppress_tokens"})
    set(key, listText(GenerationField(job, key).idList()));
  std::string badWords;
  for (const std::vector<int64_t> &word : GenerationField(job, "bad_words_ids").idLists())
    badWords += (badWords.empty() ? "" : ", ") + listText(word);
  set("bad_words_ids", "[" + badWords + "]");
  for (const char *key : {"forced_bos_token_id", "forced_eos_token_id"}) {
    GenerationField field(job, key);
    std::vector<int64_t> ids = field.idList();
    if (ids.size() > 1)
      field.reject("one token can be forced");
    if (ids.size() == 1)
      set(key, ids.front());
  }
  job.isFirstTokenKnown = GenerationField(job, "forced_bos_token_id").isGiven();
  set("renormalize_logits", GenerationField(job, "renormalize_logits").boolean(false));
}

/// A number for sampling, which may be anything while nothing is drawn.
double samplingNumber(ImportJob &job, std::string_view key, double fallback, bool samples) {
  GenerationField field(job, key);
  const KeyRule &rule = keyRule("model.decoding", key);
  double value = field.number(fallback);
  if (rule.low <= value && value <= rule.high)
    return value;
  if (samples)
    field.reject("with 'do_sample' it must be in " + constraintText(rule));
  return fallback;
}

/// How to sample, and how many outputs there are. Returns whether outputs are drawn.
bool importSampling(ImportJob &job, int64_t beam) {
  auto set = [&](const std::string &key, auto value) { job.spec.set("model.decoding." + key, value); };
  job.spec.set("model.decoding.n_best", GenerationField(job, "num_return_sequences").integer(beams, 1),
               "num_return_sequences");
  bool samples = GenerationField(job, "do_sample").boolean(false);
  set("do_sample", samples);
  if (samples && beam > 1)
    job.warnings.push_back("'do_sample' with 'num_beams' " + std::to_string(beam) +
                           ": beam search that samples cannot be represented; outputs are drawn one by one");
  for (const char *key : {"temperature", "top_p", "typical_p"})
    set(key, samplingNumber(job, key, 1, samples));
  set("min_p", samplingNumber(job, "min_p", 0, samples));
  set("top_k", GenerationField(job, "top_k").integer(ids, 50));
  return samples;
}

/// Rules that a spec lacks, each with the value that asks for nothing. Older folders write those out.
void warnOfMissingRules(ImportJob &job, bool samples) {
  constexpr std::pair<std::string_view, std::string_view> rules[] = {
      {"constraints", "null"},
      {"dola_layers", "null"},
      {"encoder_no_repeat_ngram_size", "0"},
      {"encoder_repetition_penalty", "1"},
      {"exponential_decay_length_penalty", "null"},
      {"force_words_ids", "null"},
      {"forced_decoder_ids", "null"},
      {"guidance_scale", "1"},
      {"max_time", "null"},
      {"penalty_alpha", "0"},
      {"sequence_bias", "null"},
      {"stop_strings", "null"},
      {"token_healing", "false"},
      {"watermarking_config", "null"},
  };
  for (const auto &[key, harmless] : rules)
    GenerationField(job, key).warnUnless(harmless);
  constexpr std::pair<std::string_view, std::string_view> rulesOfSampling[] = {
      {"epsilon_cutoff", "0"},
      {"eta_cutoff", "0"},
      {"top_h", "null"},
  };
  for (const auto &[key, harmless] : rulesOfSampling) {
    GenerationField field(job, key);
    if (field.isGiven() && samples)
      field.warnUnless(harmless);
  }
}

/// How `generate` goes about its work, which changes no output.
void passOverMeans(Config &config) {
  config.passOver({"assistant_confidence_threshold", "assistant_early_exit", "assistant_lookbehind",
                   "cache_config", "cache_implementation", "compile_config", "continuous_batching_config",
                   "disable_compile", "is_assistant", "low_memory", "max_cache_len",
                   "max_matching_ngram_size", "num_assistant_tokens", "num_assistant_tokens_schedule",
                   "output_logits", "prefill_chunk_size", "prompt_lookup_num_tokens", "remove_invalid_values",
                   "target_lookbehind"});
  config.passOverIf("add_cross_attention", "false");
  config.passOverIf("tie_encoder_decoder", "false");
}

} // namespace

void importDecoding(ImportJob &job, int64_t longest, const DefaultTokens &tokens, Lengths counted) {
  if (counted == Lengths::WithStart)
    importStart(job, tokens.start);
  importEnds(job, tokens);
  int64_t beam = GenerationField(job, "num_beams").integer(beams, 1);
  job.spec.set("model.decoding.beam", beam, "num_beams");
  job.spec.set("model.decoding.length_penalty", GenerationField(job, "length_penalty").number(1));
  GenerationField stopping(job, "early_stopping");
  std::string rule = stopping.isGiven() ? stopping.scalar() : "false";
  if (rule != "true" && rule != "false" && rule != "never")
    stopping.reject("true, false and never can be represented");
  job.spec.set("model.decoding.early_stopping", rule);
  importLengths(job, longest, counted);
  importTokenRules(job);
  warnOfMissingRules(job, importSampling(job, beam));
  passOverMeans(job.generation);
  passOverMeans(job.config);
}

} // namespace attnc
