//===- ImportJob.cpp - one folder on its way to a spec ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/huggingface/ImportJob.h"
#include "compiler/spec/Keys.h"

#include <algorithm>

namespace attnc {

std::string activationWord(Config &config, std::string_view key, const std::string &fallback) {
  static constexpr std::pair<std::string_view, std::string_view> words[] = {
      {"relu", "relu"},          {"gelu", "gelu"},           {"gelu_python", "gelu"},
      {"gelu_new", "gelu_tanh"}, {"gelu_fast", "gelu_tanh"}, {"gelu_pytorch_tanh", "gelu_tanh"},
      {"silu", "silu"},          {"swish", "silu"},
  };
  std::string name = config.text(key, fallback);
  for (auto [theirs, ours] : words)
    if (name == theirs)
      return std::string(ours);
  config.reject(key, "relu, gelu, gelu_new, gelu_fast, gelu_pytorch_tanh, silu and swish can be represented");
  return "relu";
}

void checkArchitectures(Config &config, std::initializer_list<std::string_view> known) {
  for (const std::string &architecture : config.textList("architectures"))
    if (std::find(known.begin(), known.end(), architecture) == known.end())
      config.reject("architectures", "the head of " + architecture + " cannot be represented; " +
                                         std::string(*known.begin()) + " can");
}

void passOverBookkeeping(Config &config) {
  config.passOver({"_name_or_path",
                   "architectures",
                   "model_type",
                   "transformers_version",
                   "torch_dtype",
                   "dtype",
                   "id2label",
                   "label2id",
                   "problem_type",
                   "task_specific_params",
                   "prefix",
                   "tokenizer_class",
                   "output_attentions",
                   "output_hidden_states",
                   "return_dict",
                   "return_dict_in_generate",
                   "output_scores",
                   "torchscript",
                   "use_bfloat16",
                   "pruned_heads",
                   "finetuning_task",
                   "chunk_size_feed_forward",
                   "is_decoder",
                   "is_encoder_decoder",
                   "_from_model_config",
                   "_attn_implementation",
                   "_attn_implementation_autoset",
                   "cross_attention_hidden_size",
                   "sep_token_id",
                   "bos_token_id",
                   "pad_token_id",
                   "eos_token_id",
                   "decoder_start_token_id",
                   "unk_token_id",
                   "tf_legacy_loss",
                   "use_cache"});
}

void passOverGeneration(Config &config) {
  config.passOver({"bad_words_ids",
                   "begin_suppress_tokens",
                   "diversity_penalty",
                   "do_sample",
                   "early_stopping",
                   "encoder_no_repeat_ngram_size",
                   "exponential_decay_length_penalty",
                   "forced_bos_token_id",
                   "forced_eos_token_id",
                   "length_penalty",
                   "max_length",
                   "min_length",
                   "no_repeat_ngram_size",
                   "num_beam_groups",
                   "num_beams",
                   "num_return_sequences",
                   "remove_invalid_values",
                   "renormalize_logits",
                   "repetition_penalty",
                   "suppress_tokens",
                   "temperature",
                   "tie_encoder_decoder",
                   "top_k",
                   "top_p",
                   "typical_p"});
}

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

private:
  GenerationField(ImportJob &job, std::string_view key, Config &config) : config(config), key(key) {
    job.config.passOver({key}); // which of the two counts is settled here
  }

  Config &config;
  std::string_view key;
};

constexpr Range lengths{0, 1 << 20};

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

/// One of the two bounds, as a spec counts: new tokens alone. What counts them so prevails. `whole` and
/// `news` are keys; nothing where neither says anything that can be represented.
std::optional<int64_t> importLength(ImportJob &job, const std::string &whole, const std::string &news,
                                    Lengths counted, std::string &comment) {
  GenerationField all(job, whole), fresh(job, news);
  int64_t length = all.integer(lengths, 0);
  comment = news;
  if (fresh.isGiven())
    return fresh.integer(lengths, 0);
  if (length == 0)
    return std::nullopt;
  comment = "without the start token";
  if (counted == Lengths::WithStart)
    return length - 1;
  job.warnings.push_back("'" + whole + "' counts the prompt, which a spec does not: it is passed over");
  return std::nullopt;
}

void importLengths(ImportJob &job, int64_t longest, Lengths counted) {
  std::string comment;
  std::optional<int64_t> most = importLength(job, "max_length", "max_new_tokens", counted, comment);
  int64_t limit = most ? std::clamp<int64_t>(*most, 1, longest) : std::min<int64_t>(longest, 256);
  job.spec.set("model.decoding.max_length", limit, most ? comment : std::string());
  if (std::optional<int64_t> least = importLength(job, "min_length", "min_new_tokens", counted, comment))
    job.spec.set("model.decoding.min_length", std::min(*least, limit), comment);
}

/// Rules for tokens, which a spec names as generation_config.json does.
void importTokenRules(ImportJob &job) {
  auto set = [&](const std::string &key, auto value) { job.spec.set("model.decoding." + key, value); };
  set("num_beam_groups", GenerationField(job, "num_beam_groups").integer({1, 1024}, 1));
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

/// How to sample, and how many outputs there are. A `top_k` is 50 where the folder does not say, of no
/// meaning while nothing is drawn.
void importSampling(ImportJob &job) {
  auto set = [&](const std::string &key, auto value) { job.spec.set("model.decoding." + key, value); };
  job.spec.set("model.decoding.n_best", GenerationField(job, "num_return_sequences").integer({1, 1024}, 1),
               "num_return_sequences");
  bool samples = GenerationField(job, "do_sample").boolean(false);
  set("do_sample", samples);
  for (const char *key : {"temperature", "top_p", "typical_p"})
    set(key, samplingNumber(job, key, 1, samples));
  set("min_p", samplingNumber(job, "min_p", 0, samples));
  int64_t topK = GenerationField(job, "top_k").integer(ids, 50);
  set("top_k", samples || topK != 50 ? topK : 0);
}

/// What a spec cannot say is no matter where it has its default, which older folders write out.
void passOverDefaults(Config &config) {
  constexpr std::pair<std::string_view, std::string_view> defaults[] = {
      {"epsilon_cutoff", "0.0"},
      {"eta_cutoff", "0.0"},
      {"encoder_no_repeat_ngram_size", "0"},
      {"encoder_repetition_penalty", "1.0"},
      {"remove_invalid_values", "false"},
      {"token_healing", "false"},
      {"low_memory", "false"},
      {"is_assistant", "false"},
      {"output_logits", "false"},
      {"add_cross_attention", "false"},
      {"tie_encoder_decoder", "false"},
  };
  for (const auto &[key, value] : defaults)
    config.passOverIf(key, value);
}

} // namespace

std::string listText(const std::vector<int64_t> &ids) {
  std::string text;
  for (int64_t id : ids)
    text += (text.empty() ? "" : ", ") + std::to_string(id);
  return "[" + text + "]";
}

void importDecoding(ImportJob &job, int64_t longest, const DefaultTokens &tokens, Lengths counted) {
  if (counted == Lengths::WithStart)
    importStart(job, tokens.start);
  importEnds(job, tokens);
  job.spec.set("model.decoding.beam", GenerationField(job, "num_beams").integer({1, 1024}, 1), "num_beams");
  job.spec.set("model.decoding.length_penalty", GenerationField(job, "length_penalty").number(1));
  GenerationField stopping(job, "early_stopping");
  std::string rule = stopping.isGiven() ? stopping.scalar() : "false";
  if (rule != "true" && rule != "false" && rule != "never")
    stopping.reject("true, false and never can be represented");
  job.spec.set("model.decoding.early_stopping", rule);
  importLengths(job, longest, counted);
  importTokenRules(job);
  importSampling(job);
  passOverDefaults(job.generation);
  passOverDefaults(job.config);
}

} // namespace attnc
