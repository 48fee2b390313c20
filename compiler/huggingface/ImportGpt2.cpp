//===- ImportGpt2.cpp - GPT-2 ----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// GPT-2 (Radford et al. 2019): a decoder that stands alone, with a norm before each work. Its linears are in
// x out in the file, and queries, keys and values stand in one tensor.

#include "compiler/huggingface/ImportJob.h"
#include "compiler/spec/Words.h"

namespace attnc {
namespace {

void importNames(ImportJob &job, const std::string &prefix) {
  std::string layer = prefix + "h.{layer}.";
  auto set = [&](const std::string &role, const std::string &pattern) {
    job.spec.setText("weights.names." + role, pattern);
  };
  set("target_embedding", prefix + "wte.weight");
  set("decoder_positions", prefix + "wpe.weight");
  set("decoder_self_attention",
      layer + "attn.{projection:c_attn[0/3],c_attn[1/3],c_attn[2/3],c_proj}.{parameter}");
  set("decoder_self_attention_norm", layer + "ln_1.{parameter}");
  set("decoder_feed_forward", layer + "mlp.{linear:c_fc,c_proj}.{parameter}");
  set("decoder_feed_forward_norm", layer + "ln_2.{parameter}");
  set("decoder_final_norm", prefix + "ln_f.{parameter}");
}

} // namespace

void importGpt2(ImportJob &job) {
  Config &config = job.config;
  SpecText &spec = job.spec;
  checkArchitectures(config, {"GPT2LMHeadModel"});
  config.passOver({"resid_pdrop", "embd_pdrop", "attn_pdrop", "initializer_range", "n_ctx",
                   "gradient_checkpointing", "reorder_and_upcast_attn", "summary_activation",
                   "summary_first_dropout", "summary_proj_to_labels", "summary_type", "summary_use_proj"});
  config.expect("scale_attn_weights", "true");
  config.expect("scale_attn_by_inverse_layer_idx", "false");
  config.expect("add_cross_attention", "false");
  config.expect("tie_word_embeddings", "true");
  int64_t width = config.integer("n_embd", sizes), longest = config.integer("n_positions", sizes, 1024);
  spec.set("model.kind", "decoder");
  spec.set("model.width", width, "n_embd");
  spec.set("model.heads", config.integer("n_head", sizes), "n_head");
  int64_t layers = config.integer("n_layer", sizes);
  spec.set("model.decoder.layers", layers, "n_layer");
  spec.set("model.feed_forward.width", config.integer("n_inner", sizes, 4 * width), "n_inner, or 4 n_embd");
  spec.set("model.feed_forward.activation",
           activationWord(config, "activation_function", config.text("activation_function", "gelu_new")));
  spec.set("model.norm.place", "pre");
  spec.set("model.norm.epsilon", config.number("layer_norm_epsilon", 1e-5), "layer_norm_epsilon");
  spec.set("model.biases.output", false);
  spec.set("model.positions.kind", "learned");
  spec.set("model.positions.max_length", longest, "n_positions");
  spec.set("model.embedding.tied", "all");
  spec.set("model.vocabulary.target", config.integer("vocab_size", vocabularySizes), "vocab_size");
  spec.set("weights.transposed", true);
  std::string prefix = job.weights.find("transformer.wte.weight") ? "transformer." : "";
  importNames(job, prefix);
  const std::string table = prefix + "wte.weight", output = "lm_head.weight";
  if (job.weights.find(output) && !job.areSame(table, output))
    job.errors.push_back(quote(table) + " and " + quote(output) +
                         " differ: a table of its own for the output cannot be represented");
  for (int64_t layer = 0; layer < layers; ++layer) // masks
    for (const char *name : {".attn.bias", ".attn.masked_bias"})
      job.passedOver.insert(prefix + "h." + std::to_string(layer) + name);
  importDecoding(job, longest, {{}, 50256, {}}, Lengths::WithPrompt);
}

} // namespace attnc
