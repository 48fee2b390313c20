//===- Keys.cpp - every key a spec may have --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The table of keys.

#include "compiler/spec/Keys.h"
#include "attnrt/ranges.hpp"

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <cstdio>

namespace attnc {

using enum KeyType;
namespace ranges = attnrt::ranges;

// Ids and extents are 32-bit in kernels; these bounds keep every product of two of them well inside 64 bits.
static constexpr double maxWidth = 65536;
static constexpr double maxVocabulary = 16777216;
static constexpr double maxLength = 1048576;
static constexpr double maxId = ranges::ids.high;
static constexpr double maxExtent = 2147483647;

static const KeyRule rules[] = {
    {"name", Text, "null", 0, 0, "letters, digits and _, not a digit first, at most 64"},

    {"model", Mapping, "null"},
    {"model.kind", Word, "", 0, 0, "encoder_decoder encoder decoder"},
    {"model.width", Integer, "", 1, maxWidth},
    {"model.cell", Word, "none", 0, 0, "none gru lstm"},
    {"model.reset", Word, "after", 0, 0, "after before"},
    {"model.heads", OptionalInteger, "null", 1, 1024},
    {"model.key_heads", OptionalInteger, "heads", 1, 1024},
    {"model.head_width", OptionalInteger, "width / heads", 1, maxWidth},
    {"model.attention_scale", OptionalNumber, "null", 1e-6, 1e6},
    {"model.encoder", Mapping, "null"},
    {"model.encoder.layers", Integer, "", 1, 256},
    {"model.encoder.width", OptionalInteger, "model.width", 1, maxWidth},
    {"model.encoder.bidirectional", Boolean, "false"},
    {"model.encoder.heads", OptionalInteger, "model.heads", 1, 1024},
    {"model.encoder.feed_forward_width", OptionalInteger, "feed_forward.width", 1, 1048576},
    {"model.encoder.window", OptionalInteger, "null", 0, maxLength},
    {"model.encoder.score", Text, "null", 0, 0, "an expression that is a number"},
    {"model.encoder.token_types", Integer, "0", 0, 1024},
    {"model.encoder.pooler", Boolean, "false"},
    {"model.encoder.masked_token_head", Word, "none", 0, 0, "none relu gelu gelu_tanh silu"},
    {"model.decoder", Mapping, "null"},
    {"model.decoder.layers", Integer, "", 1, 256},
    {"model.decoder.width", OptionalInteger, "model.width", 1, maxWidth},
    {"model.decoder.attention", Mapping, "null"},
    {"model.decoder.attention.score", Word, "", 0, 0, "dot scaled_dot general additive cosine"},
    {"model.decoder.attention.place", Word, "after", 0, 0, "after before"},
    {"model.decoder.attention.input_feeding", Boolean, "false"},
    {"model.decoder.attention.width", OptionalInteger, "decoder.width", 1, maxWidth},
    {"model.decoder.heads", OptionalInteger, "model.heads", 1, 1024},
    {"model.decoder.feed_forward_width", OptionalInteger, "feed_forward.width", 1, 1048576},
    {"model.decoder.window", OptionalInteger, "null", 0, maxLength},
    {"model.decoder.score", Text, "null", 0, 0, "an expression that is a number"},
    {"model.decoder.cross_score", Text, "null", 0, 0, "an expression that is a number"},
    {"model.bridge", Mapping, "{}"},
    {"model.bridge.kind", Word, "last", 0, 0, "last linear linear_tanh zeros"},
    {"model.bridge.direction", Word, "both", 0, 0, "both forward backward"},
    {"model.feed_forward", Mapping, "null"},
    {"model.feed_forward.width", Integer, "", 1, 1048576},
    {"model.feed_forward.activation", Word, "relu", 0, 0, "relu gelu gelu_tanh silu"},
    {"model.feed_forward.gated", Boolean, "false"},
    {"model.norm", Mapping, "{}"},
    {"model.norm.kind", Word, "layer", 0, 0, "layer rms"},
    {"model.norm.place", Word, "post", 0, 0, "pre post"},
    {"model.norm.epsilon", Number, "1e-05", 1e-12, 1},
    {"model.norm.final", Boolean, "norm.place is pre"},
    {"model.norm.embedding", Boolean, "false"},
    {"model.biases", Mapping, "{}"},
    {"model.biases.attention", Boolean, "true"},
    {"model.biases.feed_forward", Boolean, "true"},
    {"model.biases.norm", Boolean, "norm.kind is layer"},
    {"model.biases.output", Boolean, "true"},
    {"model.biases.cell", Word, "both", 0, 0, "both input none"},
    {"model.positions", Mapping, "{}"},
    {"model.positions.kind", Word, "sinusoidal", 0, 0, "none sinusoidal learned relative alibi rotary"},
    {"model.positions.layout", Word, "interleaved", 0, 0, "interleaved concatenated"},
    {"model.positions.inclusive", Boolean, "false"},
    {"model.positions.start", Integer, "0", 0, maxLength},
    {"model.positions.max_length", Integer, "1024", 1, maxLength},
    {"model.positions.base", Integer, "10000", 2, maxExtent},
    {"model.positions.rotated_width", OptionalInteger, "the head's", 2, maxWidth},
    {"model.positions.buckets", Integer, "32", 4, 256},
    {"model.positions.max_distance", Integer, "128", 2, 65536},
    {"model.embedding", Mapping, "{}"},
    {"model.embedding.width", OptionalInteger, "model.width", 1, maxWidth},
    {"model.embedding.scale", NumberOrWord, "1", 1e-6, 1e6, "sqrt_width"},
    {"model.embedding.tied", Word, "none", 0, 0, "none target_output source_target all"},
    {"model.output", Mapping, "{}"},
    {"model.output.transform", Word, "none", 0, 0, "none relu gelu gelu_tanh silu"},
    {"model.output.scale", NumberOrWord, "1", 1e-6, 1e6, "inverse_sqrt_width"},
    {"model.output.context", Boolean, "false"},
    {"model.output.embedding", Boolean, "false"},
    {"model.vocabulary", Mapping, ""},
    {"model.vocabulary.source", OptionalInteger, "null", 1, maxVocabulary},
    {"model.vocabulary.target", OptionalInteger, "null", 1, maxVocabulary},
    {"model.tokens", Mapping, ""},
    {"model.tokens.start", OptionalInteger, "null", 0, maxId},
    {"model.tokens.end", Integers, "[]", 0, maxId},
    {"model.tokens.pad", Integer, "0", 0, maxId},
    {"model.tokens.unknown", OptionalInteger, "null", 0, maxId},
    {"model.tokens.mask", OptionalInteger, "null", 0, maxId},
    {"model.tokens.source_unknown", OptionalInteger, "tokens.unknown", 0, maxId},
    {"model.tokens.source_start", Integers, "[]", 0, maxId},
    {"model.tokens.source_end", Integers, "[]", 0, maxId},
    {"model.tokens.languages", Mapping, "{}"},
    {"model.tokens.languages.NAME", Integer, "", 0, maxId},
    {"model.tokenizer", Mapping, "{}"},
    {"model.tokenizer.kind", Word, "ids", 0, 0, "ids sentencepiece tokenizer_json vocabulary characters"},
    {"model.tokenizer.file", Text, "null", 0, 0, "a file, relative to the spec"},
    {"model.tokenizer.vocabulary", Text, "null", 0, 0, "a file, relative to the spec"},
    {"model.tokenizer.source", Mapping, "null"},
    {"model.tokenizer.source.kind", Word, "", 0, 0, "ids sentencepiece tokenizer_json vocabulary characters"},
    {"model.tokenizer.source.file", Text, "null", 0, 0, "a file, relative to the spec"},
    {"model.tokenizer.source.vocabulary", Text, "null", 0, 0, "a file, relative to the spec"},
    {"model.tokenizer.target", Mapping, "null"},
    {"model.tokenizer.target.kind", Word, "", 0, 0, "ids sentencepiece tokenizer_json vocabulary characters"},
    {"model.tokenizer.target.file", Text, "null", 0, 0, "a file, relative to the spec"},
    {"model.tokenizer.target.vocabulary", Text, "null", 0, 0, "a file, relative to the spec"},
    {"model.decoding", Mapping, "{}"},
    {"model.decoding.beam", Integer, "1", ranges::beam.low, ranges::beam.high},
    {"model.decoding.n_best", Integer, "1", ranges::beam.low, ranges::beam.high},
    {"model.decoding.length_penalty", Number, "1", ranges::lengthPenalty.low, ranges::lengthPenalty.high},
    {"model.decoding.min_length", Integer, "0", ranges::minLength.low, ranges::minLength.high},
    {"model.decoding.max_length", Integer, "256", ranges::maxLength.low, ranges::maxLength.high},
    {"model.decoding.early_stopping", Word, "false", 0, 0, "true false never"},
    {"model.decoding.patience", Number, "1", ranges::patience.low, ranges::patience.high},
    {"model.decoding.num_beam_groups", Integer, "1", ranges::beam.low, ranges::beam.high},
    {"model.decoding.diversity_penalty", Number, "0", ranges::penalty.low, ranges::penalty.high},
    {"model.decoding.coverage_penalty", Number, "0", ranges::penalty.low, ranges::penalty.high},
    {"model.decoding.repetition_penalty", Number, "1", ranges::repetitionPenalty.low,
     ranges::repetitionPenalty.high},
    {"model.decoding.no_repeat_ngram_size", Integer, "0", ranges::ngramSize.low, ranges::ngramSize.high},
    {"model.decoding.suppress_tokens", Integers, "[]", 0, maxId},
    {"model.decoding.begin_suppress_tokens", Integers, "[]", 0, maxId},
    {"model.decoding.bad_words_ids", List, "[]", 0, maxId, "lists of ids, none of them empty"},
    {"model.decoding.forced_bos_token_id", OptionalInteger, "null", 0, maxId},
    {"model.decoding.forced_eos_token_id", OptionalInteger, "null", 0, maxId},
    {"model.decoding.shortlist", Integers, "[]", 0, maxId},
    {"model.decoding.renormalize_logits", Boolean, "false"},
    {"model.decoding.return_alternatives", Boolean, "false"},
    {"model.decoding.min_alternative_probability", Number, "0", ranges::probability.low,
     ranges::probability.high},
    {"model.decoding.do_sample", Boolean, "false"},
    {"model.decoding.temperature", Number, "1", ranges::temperature.low, ranges::temperature.high},
    {"model.decoding.top_k", Integer, "50", ranges::topK.low, ranges::topK.high},
    {"model.decoding.top_p", Number, "1", ranges::share.low, ranges::share.high},
    {"model.decoding.min_p", Number, "0", ranges::probability.low, ranges::probability.high},
    {"model.decoding.typical_p", Number, "1", ranges::share.low, ranges::share.high},

    {"graph", Mappings, "null"},
    {"graph.name", Text, "graph", 0, 0, "letters, digits and _, not a digit first, at most 64"},
    {"graph.inputs", Mapping, ""},
    {"graph.inputs.NAME.shape", List, "", 0, 0, "1 to 4 axes"},
    {"graph.inputs.NAME.type", Word, "f32", 0, 0, "f32 i32"},
    {"graph.weights", Mapping, "{}"},
    {"graph.weights.NAME.value", List, "null", 0, 0, "numbers, or rows of numbers of one length"},
    {"graph.weights.NAME.shape", List, "null", 0, 0, "1 or 2 extents"},
    {"graph.weights.NAME.tensor", Text, "NAME", 0, 0, "a tensor of the weight file"},
    {"graph.weights.NAME.transposed", Boolean, "false"},
    {"graph.weights.NAME.sinusoid", Word, "none", 0, 0, "none interleaved concatenated"},
    {"graph.weights.NAME.base", Integer, "10000", 2, maxExtent},
    {"graph.ops", Mapping, ""},
    {"graph.ops.NAME.linear", Names, "null", 0, 0, "input, weight, bias (optional)"},
    {"graph.ops.NAME.matmul", Names, "null", 0, 0, "lhs, rhs"},
    {"graph.ops.NAME.scale", Names, "null", 0, 0, "input"},
    {"graph.ops.NAME.add", Names, "null", 0, 0, "lhs, rhs"},
    {"graph.ops.NAME.mul", Names, "null", 0, 0, "lhs, rhs"},
    {"graph.ops.NAME.activation", Names, "null", 0, 0, "input"},
    {"graph.ops.NAME.layer_norm", Names, "null", 0, 0, "input, weight, bias (optional)"},
    {"graph.ops.NAME.rms_norm", Names, "null", 0, 0, "input, weight"},
    {"graph.ops.NAME.l2_norm", Names, "null", 0, 0, "input"},
    {"graph.ops.NAME.rotary", Names, "null", 0, 0, "input, table, starts (optional)"},
    {"graph.ops.NAME.split_heads", Names, "null", 0, 0, "input"},
    {"graph.ops.NAME.merge_heads", Names, "null", 0, 0, "input"},
    {"graph.ops.NAME.slice", Names, "null", 0, 0, "input"},
    {"graph.ops.NAME.additive_scores", Names, "null", 0, 0, "query, key, weight"},
    {"graph.ops.NAME.score_map", Names, "null", 0, 0, "scores, up to 8 tables"},
    {"graph.ops.NAME.causal_mask", Names, "null", 0, 0, "scores"},
    {"graph.ops.NAME.padding_mask", Names, "null", 0, 0, "scores, lengths"},
    {"graph.ops.NAME.window_mask", Names, "null", 0, 0, "scores, starts (optional)"},
    {"graph.ops.NAME.prefix_mask", Names, "null", 0, 0, "scores, lengths"},
    {"graph.ops.NAME.softmax", Names, "null", 0, 0, "scores"},
    {"graph.ops.NAME.mean_heads", Names, "null", 0, 0, "weights"},
    {"graph.ops.NAME.embed", Names, "null", 0, 0, "ids, table"},
    {"graph.ops.NAME.add_positions", Names, "null", 0, 0, "input, table"},
    {"graph.ops.NAME.log_softmax", Names, "null", 0, 0, "input"},
    {"graph.ops.NAME.pick", Names, "null", 0, 0, "input, ids"},
    {"graph.ops.NAME.take", Names, "null", 0, 0, "input, index"},
    {"graph.ops.NAME.transposed", Boolean, "false"},
    {"graph.ops.NAME.by", Number, "", -1e6, 1e6},
    {"graph.ops.NAME.with", Word, "", 0, 0, "relu gelu gelu_tanh silu tanh sigmoid"},
    {"graph.ops.NAME.epsilon", Number, "1e-05", 1e-12, 1},
    {"graph.ops.NAME.heads", Integer, "", 1, 1024},
    {"graph.ops.NAME.at", Integer, "0", 0, maxExtent},
    {"graph.ops.NAME.width", Integer, "", 1, maxExtent},
    {"graph.ops.NAME.offset", Integer, "0", 0, maxLength},
    {"graph.ops.NAME.interleaved", Boolean, "false"},
    {"graph.ops.NAME.before", OptionalInteger, "null", 0, maxLength},
    {"graph.ops.NAME.after", OptionalInteger, "null", 0, maxLength},
    {"graph.ops.NAME.score", Text, "null", 0, 0, "an expression that is a number"},
    {"graph.ops.NAME.mask", Text, "null", 0, 0, "an expression that is a condition"},
    {"graph.outputs", Names, "", 0, 0, "values of the graph"},
    {"graph.strides", Mapping, "{}"},
    {"graph.strides.NAME", List, "null", 0, 0, "names or whole numbers, one for each axis but the last"},

    {"types", Mapping, "{}"},
    {"types.default", Word, "f32", 0, 0, "f32 bf16 int8"},
    {"types.attention", Word, "auto", 0, 0, "auto f32 bf16"},
    {"types.layers", Mapping, "{}"},
    {"types.layers.NAME", Word, "null", 0, 0, "f32 bf16 int8"},

    {"weights", Mapping, "{}"},
    {"weights.file", Text, "null", 0, 0, "a safetensors file or its index, relative to the spec"},
    {"weights.random", OptionalInteger, "null", 0, 9007199254740991},
    {"weights.transposed", Boolean, "false"},
    {"weights.gates", Text, "null", 0, 0, "the letters of the cell's gates in the order of the file"},
    {"weights.names", Mapping, "{}"},
    {"weights.names.shared_embedding", Text, "shared.embed.weight", 0, 0, "a pattern"},
    {"weights.names.source_embedding", Text, "encoder.embed.weight", 0, 0, "a pattern"},
    {"weights.names.target_embedding", Text, "decoder.embed.weight", 0, 0, "a pattern"},
    {"weights.names.output", Text, "decoder.out_proj.{parameter}", 0, 0, "a pattern"},
    {"weights.names.token_types", Text, "encoder.type_embed.weight", 0, 0, "a pattern"},
    {"weights.names.encoder_positions", Text, "encoder.pos_embed.weight", 0, 0, "a pattern"},
    {"weights.names.decoder_positions", Text, "decoder.pos_embed.weight", 0, 0, "a pattern"},
    {"weights.names.encoder_embedding_norm", Text, "encoder.embed_norm.{parameter}", 0, 0, "a pattern"},
    {"weights.names.decoder_embedding_norm", Text, "decoder.embed_norm.{parameter}", 0, 0, "a pattern"},
    {"weights.names.encoder_self_attention", Text,
     "encoder.layers.{layer}.self_attn.{projection}_proj.{parameter}", 0, 0, "a pattern"},
    {"weights.names.encoder_self_attention_norm", Text, "encoder.layers.{layer}.self_attn.norm.{parameter}",
     0, 0, "a pattern"},
    {"weights.names.encoder_feed_forward", Text, "encoder.layers.{layer}.ffn.fc{linear}.{parameter}", 0, 0,
     "a pattern"},
    {"weights.names.encoder_feed_forward_norm", Text, "encoder.layers.{layer}.ffn.norm.{parameter}", 0, 0,
     "a pattern"},
    {"weights.names.encoder_final_norm", Text, "encoder.final_norm.{parameter}", 0, 0, "a pattern"},
    {"weights.names.pooler", Text, "encoder.pooler.{parameter}", 0, 0, "a pattern"},
    {"weights.names.masked_token_head", Text, "encoder.head.fc.{parameter}", 0, 0, "a pattern"},
    {"weights.names.masked_token_head_norm", Text, "encoder.head.norm.{parameter}", 0, 0, "a pattern"},
    {"weights.names.decoder_self_attention", Text,
     "decoder.layers.{layer}.self_attn.{projection}_proj.{parameter}", 0, 0, "a pattern"},
    {"weights.names.decoder_self_attention_norm", Text, "decoder.layers.{layer}.self_attn.norm.{parameter}",
     0, 0, "a pattern"},
    {"weights.names.decoder_cross_attention", Text,
     "decoder.layers.{layer}.cross_attn.{projection}_proj.{parameter}", 0, 0, "a pattern"},
    {"weights.names.decoder_cross_attention_norm", Text, "decoder.layers.{layer}.cross_attn.norm.{parameter}",
     0, 0, "a pattern"},
    {"weights.names.decoder_feed_forward", Text, "decoder.layers.{layer}.ffn.fc{linear}.{parameter}", 0, 0,
     "a pattern"},
    {"weights.names.decoder_feed_forward_norm", Text, "decoder.layers.{layer}.ffn.norm.{parameter}", 0, 0,
     "a pattern"},
    {"weights.names.decoder_final_norm", Text, "decoder.final_norm.{parameter}", 0, 0, "a pattern"},
    {"weights.names.output_transform", Text, "decoder.transform.fc.{parameter}", 0, 0, "a pattern"},
    {"weights.names.output_transform_norm", Text, "decoder.transform.norm.{parameter}", 0, 0, "a pattern"},
    {"weights.names.encoder_cell", Text, "encoder.rnn.{parameter}_{operand}_l{layer}{direction}", 0, 0,
     "a pattern"},
    {"weights.names.decoder_cell", Text, "decoder.rnn.{parameter}_{operand}_l{layer}", 0, 0, "a pattern"},
    {"weights.names.bridge", Text, "bridge.{state}_l{layer}.{parameter}", 0, 0, "a pattern"},
    {"weights.names.decoder_attention", Text, "decoder.attn.{projection}_proj.{parameter}", 0, 0,
     "a pattern"},
};

std::span<const KeyRule> keyRules() { return rules; }

static bool isChild(std::string_view path, std::string_view parent, std::string_view &key) {
  if (!parent.empty()) {
    if (!path.starts_with(parent) || path.size() <= parent.size() || path[parent.size()] != '.')
      return false;
    path.remove_prefix(parent.size() + 1);
  }
  key = path;
  return path.find('.') == std::string_view::npos;
}

const KeyRule &keyRule(std::string_view path, std::string_view key) {
  std::string_view found;
  for (const KeyRule &rule : rules)
    if (isChild(rule.path, path, found) && found == key)
      return rule;
  assert(false && "the reader asks for a key that the table lacks");
  return rules[0];
}

std::vector<std::string> keysOf(std::string_view path) {
  std::vector<std::string> keys;
  std::string_view key;
  for (const KeyRule &rule : rules)
    if (isChild(rule.path, path, key))
      keys.emplace_back(key);
  return keys;
}

bool hasFreeKeys(std::string_view path) {
  std::string member = std::string(path) + ".NAME";
  return std::any_of(std::begin(rules), std::end(rules), [&](const KeyRule &rule) {
    return rule.path == member || rule.path.starts_with(member + ".");
  });
}

std::vector<std::string> wordsOf(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    size_t end = std::min(text.find(' '), text.size());
    words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

std::string typeText(const KeyRule &rule) {
  switch (rule.type) {
  case Integer:
    return "whole number";
  case OptionalInteger:
    return "whole number or null";
  case Number:
    return "number";
  case OptionalNumber:
    return "number or null";
  case NumberOrWord:
    return "number or word";
  case Boolean:
    return "true or false";
  case Word:
    return "word";
  case Text:
    return "text";
  case Mapping:
    return "mapping";
  case Mappings:
    return "mapping or list of mappings";
  case List:
    return "list";
  case Integers:
    return "whole number or list of whole numbers";
  case Names:
    return "name or list of names";
  }
  return {};
}

static std::string numberText(double value) {
  char text[32];
  std::snprintf(text, sizeof text, value == int64_t(value) ? "%.0f" : "%g", value);
  return text;
}

std::string rangeText(const KeyRule &rule) { return numberText(rule.low) + " to " + numberText(rule.high); }

std::string constraintText(const KeyRule &rule) {
  std::string range = rangeText(rule);
  switch (rule.type) {
  case Integer:
  case OptionalInteger:
  case Number:
  case OptionalNumber:
  case Integers:
    return range;
  case NumberOrWord:
    return range + ", or " + std::string(rule.allowed);
  case Word: {
    std::string words;
    for (const std::string &word : wordsOf(rule.allowed))
      words += (words.empty() ? "" : ", ") + word;
    return words;
  }
  default:
    return std::string(rule.allowed);
  }
}

} // namespace attnc
