//===- ImportT5.cpp - T5 and mT5 -------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// T5 (Raffel et al. 2020), its version 1.1 with gated feed-forwards (Shazeer 2020) and mT5 (Xue et al. 2021):
// RMSNorm before each work, no biases, scores without a scale, and a bias by bucket of distance in
// self-attention.

#include "compiler/huggingface/ImportJob.h"

namespace attnc {
namespace {

/// `relu`, or `gated-gelu`; which tanh approximates there. The library derives two more keys from it, which
/// prevail where the file has them, too. Returns whether it is gated.
bool importFeedForward(ImportJob &job) {
  Config &config = job.config;
  std::string kind =
      config.text("feed_forward_proj", config.text("model_type") == "mt5" ? "gated-gelu" : "relu");
  bool isGated = kind.starts_with("gated-");
  std::string derived = kind == "gated-gelu" ? "gelu_new" : kind.substr(isGated ? 6 : 0);
  const char *key = config.has("dense_act_fn") ? "dense_act_fn" : "feed_forward_proj";
  std::string activation = activationWord(config, key, config.text("dense_act_fn", derived));
  isGated = config.boolean("is_gated_act", isGated);
  job.spec.set("model.feed_forward.width", config.integer("d_ff", sizes), "d_ff");
  job.spec.set("model.feed_forward.activation", activation);
  job.spec.set("model.feed_forward.gated", isGated);
  return isGated;
}

void importNames(ImportJob &job, bool isGated) {
  for (std::string side : {"encoder", "decoder"}) {
    std::string names = "weights.names." + side, block = side + ".block.{layer}.layer.";
    bool isDecoder = side == "decoder";
    auto setWork = [&](const std::string &role, int place, const std::string &pattern) {
      std::string layer = block + std::to_string(place) + ".";
      job.spec.setText(names + role, layer + pattern);
      job.spec.setText(names + role + "_norm", layer + "layer_norm.{parameter}");
    };
    setWork("_self_attention", 0, "SelfAttention.{projection:q,k,v,o}.{parameter}");
    if (isDecoder)
      setWork("_cross_attention", 1, "EncDecAttention.{projection:q,k,v,o}.{parameter}");
    setWork("_feed_forward", isDecoder ? 2 : 1,
            isGated ? "DenseReluDense.{linear:wi_0,wo,wi_1}.{parameter}"
                    : "DenseReluDense.{linear:wi,wo}.{parameter}");
    job.spec.setText(names + "_final_norm", side + ".final_layer_norm.{parameter}");
    job.spec.setText(names + "_positions",
                     side + ".block.0.layer.0.SelfAttention.relative_attention_bias.weight");
  }
}

void importEmbeddings(ImportJob &job) {
  int64_t vocabulary = job.config.integer("vocab_size", vocabularySizes);
  // Of version 1.1 the library's later releases say that tables are tied and outputs not scaled; where the
  // file has a table of the output, that counts. mT5 never scales.
  TableNames tables = findTables(job, "", /*isShared=*/true, /*isTied=*/true);
  TiedTables tied = importTables(job, tables);
  bool saysTied = job.config.boolean("tie_word_embeddings", true);
  bool isScaled =
      job.config.boolean("scale_decoder_outputs", saysTied) && job.config.text("model_type") == "t5";
  job.spec.set("model.vocabulary.source", vocabulary);
  job.spec.set("model.vocabulary.target", vocabulary);
  if (isScaled)
    job.spec.set("model.output.scale", "inverse_sqrt_width");
  if (!tied.output)
    job.spec.setText("weights.names.output", patternOf(tables.output));
}

void importPositions(ImportJob &job) {
  Config &config = job.config;
  job.spec.set("model.positions.kind", "relative");
  job.spec.set("model.positions.buckets", config.integer("relative_attention_num_buckets", {4, 256}, 32),
               "relative_attention_num_buckets");
  job.spec.set("model.positions.max_distance",
               config.integer("relative_attention_max_distance", {2, 65536}, 128),
               "relative_attention_max_distance");
}

} // namespace

void importT5(ImportJob &job) {
  Config &config = job.config;
  SpecText &spec = job.spec;
  checkArchitectures(config, {"T5ForConditionalGeneration", "MT5ForConditionalGeneration",
                              "T5WithLMHeadModel"}); // an old name of the first
  config.passOver({"dropout_rate", "classifier_dropout", "initializer_factor", "n_positions", "output_past",
                   "gradient_checkpointing", "use_cache"});
  config.expect("is_encoder_decoder", "true");
  spec.set("model.kind", "encoder_decoder");
  spec.set("model.width", config.integer("d_model", sizes), "d_model");
  spec.set("model.heads", config.integer("num_heads", sizes), "num_heads");
  spec.set("model.head_width", config.integer("d_kv", sizes), "d_kv");
  spec.set("model.attention_scale", 1.0);
  int64_t layers = config.integer("num_layers", sizes);
  spec.set("model.encoder.layers", layers, "num_layers");
  spec.set("model.decoder.layers", config.integer("num_decoder_layers", sizes, layers), "num_decoder_layers");
  spec.set("model.norm.kind", "rms");
  spec.set("model.norm.place", "pre");
  spec.set("model.norm.epsilon", config.number("layer_norm_epsilon", 1e-6));
  for (const char *part : {"attention", "feed_forward", "output"})
    spec.set(std::string("model.biases.") + part, false);
  bool isGated = importFeedForward(job);
  importPositions(job);
  importEmbeddings(job);
  importNames(job, isGated);
  // An old tensor that the library passes over, too.
  job.passedOver.insert("decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight");
  constexpr int64_t longest = sizes.high; // buckets of distances know no limit: it is the spec's
  bool isMt5 = config.text("model_type") == "mt5";
  importDecoding(job, longest, {isMt5 ? std::optional<int64_t>(0) : std::nullopt, 1, 0});
}

} // namespace attnc
