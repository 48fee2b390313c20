//===- ImportBert.cpp - BERT -----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// BERT (Devlin et al. 2019): an encoder that stands alone, with a norm after the embedding and learned rows
// for kinds of tokens; its pooler and its masked-token head, where the file has them.

#include "compiler/huggingface/ImportJob.h"

namespace attnc {
namespace {

void importNames(ImportJob &job, const std::string &prefix) {
  // Weights that were converted from TensorFlow call a norm's parameters gamma and beta.
  bool isOld = job.weights.find(prefix + "embeddings.LayerNorm.gamma");
  std::string norm = isOld ? "LayerNorm.{parameter:gamma,beta}" : "LayerNorm.{parameter}";
  std::string embeddings = prefix + "embeddings.", layer = prefix + "encoder.layer.{layer}.";
  auto set = [&](const std::string &role, const std::string &pattern) {
    job.spec.setText("weights.names." + role, pattern);
  };
  set("source_embedding", embeddings + "word_embeddings.weight");
  set("token_types", embeddings + "token_type_embeddings.weight");
  set("encoder_positions", embeddings + "position_embeddings.weight");
  set("encoder_embedding_norm", embeddings + norm);
  set("encoder_self_attention",
      layer + "attention.{projection:self.query,self.key,self.value,output.dense}.{parameter}");
  set("encoder_self_attention_norm", layer + "attention.output." + norm);
  set("encoder_feed_forward", layer + "{linear:intermediate.dense,output.dense}.{parameter}");
  set("encoder_feed_forward_norm", layer + "output." + norm);
}

/// Logits of masked tokens, from the word embedding turned round.
void importHead(ImportJob &job) {
  job.hasMaskToken = true;
  job.spec.set("model.encoder.masked_token_head", activationWord(job.config, "hidden_act", "gelu"));
  bool isTied = job.config.boolean("tie_word_embeddings", true);
  job.spec.set("model.embedding.tied", isTied ? "all" : "none");
  std::string head = "cls.predictions.", transform = head + "transform.";
  bool isOld = job.weights.find(transform + "LayerNorm.gamma");
  job.spec.setText("weights.names.output", head + "{parameter:decoder.weight,bias}");
  job.spec.setText("weights.names.masked_token_head", transform + "dense.{parameter}");
  job.spec.setText("weights.names.masked_token_head_norm",
                   transform + (isOld ? "LayerNorm.{parameter:gamma,beta}" : "LayerNorm.{parameter}"));
}

} // namespace

void importBert(ImportJob &job) {
  Config &config = job.config;
  SpecText &spec = job.spec;
  checkArchitectures(config, {"BertForMaskedLM", "BertModel", "BertForPreTraining"});
  config.passOver({"attention_probs_dropout_prob", "hidden_dropout_prob", "classifier_dropout",
                   "initializer_range", "gradient_checkpointing", "use_cache", "tie_word_embeddings",
                   "directionality", "pooler_fc_size", "pooler_num_attention_heads", "pooler_num_fc_layers",
                   "pooler_size_per_head", "pooler_type", "num_labels"});
  config.expect("position_embedding_type", "absolute");
  config.expect("is_decoder", "false");
  config.expect("add_cross_attention", "false");
  spec.set("model.kind", "encoder");
  spec.set("model.width", config.integer("hidden_size", sizes), "hidden_size");
  spec.set("model.heads", config.integer("num_attention_heads", sizes), "num_attention_heads");
  spec.set("model.encoder.layers", config.integer("num_hidden_layers", sizes), "num_hidden_layers");
  spec.set("model.encoder.token_types", config.integer("type_vocab_size", {0, 1024}, 2), "type_vocab_size");
  spec.set("model.feed_forward.width", config.integer("intermediate_size", sizes), "intermediate_size");
  spec.set("model.feed_forward.activation", activationWord(config, "hidden_act", "gelu"));
  spec.set("model.norm.embedding", true);
  spec.set("model.norm.epsilon", config.number("layer_norm_eps", 1e-12), "layer_norm_eps");
  spec.set("model.positions.kind", "learned");
  spec.set("model.positions.max_length", config.integer("max_position_embeddings", sizes, 512),
           "max_position_embeddings");
  spec.set("model.vocabulary.source", config.integer("vocab_size", vocabularySizes), "vocab_size");
  spec.set("model.tokens.pad", config.integer("pad_token_id", ids, 0));
  std::string prefix = job.weights.find("bert.embeddings.word_embeddings.weight") ? "bert." : "";
  importNames(job, prefix);
  if (job.weights.find(prefix + "pooler.dense.weight")) {
    spec.set("model.encoder.pooler", true);
    spec.setText("weights.names.pooler", prefix + "pooler.dense.{parameter}");
  }
  if (job.weights.find("cls.predictions.bias"))
    importHead(job);
}

} // namespace attnc
