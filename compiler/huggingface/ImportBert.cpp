//===- ImportBert.cpp - BERT, alone and in pairs ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// BERT (Devlin et al. 2019): an encoder that stands alone, with a norm after the embedding and learned rows
// for kinds of tokens; its pooler and its masked-token head, where the file has them. In pairs (Rothe et al.
// 2020) another BERT, with attention to the first one's rows and the head, is the decoder.

#include "compiler/huggingface/ImportJob.h"

namespace attnc {
namespace {

struct Shape {
  int64_t width, heads, layers, inner, longest, words, types;
  std::string activation;
  double epsilon;
};

/// One BERT of a folder.
struct Network {
  Config &config;
  Shape shape;
  std::string side;   // encoder or decoder
  std::string prefix; // of its tensors, but for the head's
  std::string head;   // likewise
};

Shape readShape(Config &config) {
  config.passOver({"attention_probs_dropout_prob", "hidden_dropout_prob", "classifier_dropout",
                   "initializer_range", "gradient_checkpointing", "use_cache", "tie_word_embeddings",
                   "directionality", "pooler_fc_size", "pooler_num_attention_heads", "pooler_num_fc_layers",
                   "pooler_size_per_head", "pooler_type", "num_labels"});
  config.expect("position_embedding_type", "absolute");
  return {config.integer("hidden_size", sizes),
          config.integer("num_attention_heads", sizes),
          config.integer("num_hidden_layers", sizes),
          config.integer("intermediate_size", sizes),
          config.integer("max_position_embeddings", sizes, 512),
          config.integer("vocab_size", vocabularySizes),
          config.integer("type_vocab_size", {0, 1024}, 2),
          activationWord(config, "hidden_act", config.text("hidden_act", "gelu")),
          config.number("layer_norm_eps", 1e-12)};
}

/// Weights that were converted from TensorFlow call a norm's parameters gamma and beta.
std::string normName(const ImportJob &job, const Network &network) {
  bool isOld = job.weights.find(network.prefix + "embeddings.LayerNorm.gamma");
  return isOld ? "LayerNorm.{parameter:gamma,beta}" : "LayerNorm.{parameter}";
}

void importNames(ImportJob &job, const Network &network) {
  job.passedOver.insert(network.prefix + "embeddings.position_ids");
  std::string embeddings = network.prefix + "embeddings.", layer = network.prefix + "encoder.layer.{layer}.";
  std::string norm = normName(job, network);
  auto set = [&](const std::string &role, const std::string &pattern) {
    job.spec.setText("weights.names." + role, pattern);
  };
  auto setAttention = [&](const std::string &role, const std::string &place) {
    constexpr const char *projections =
        "{projection:self.query,self.key,self.value,output.dense}.{parameter}";
    set(network.side + role, layer + place + projections);
    set(network.side + role + "_norm", layer + place + "output." + norm);
  };
  bool isDecoder = network.side == "decoder";
  set(isDecoder ? "target_embedding" : "source_embedding", embeddings + "word_embeddings.weight");
  set(network.side + "_positions", embeddings + "position_embeddings.weight");
  set(network.side + "_embedding_norm", embeddings + norm);
  setAttention("_self_attention", "attention.");
  if (isDecoder)
    setAttention("_cross_attention", "crossattention.");
  set(network.side + "_feed_forward", layer + "{linear:intermediate.dense,output.dense}.{parameter}");
  set(network.side + "_feed_forward_norm", layer + "output." + norm);
}

/// Logits from the word embedding turned round, after one more linear.
void importHead(ImportJob &job, const Network &network) {
  bool isDecoder = network.side == "decoder";
  std::string role = isDecoder ? "output_transform" : "masked_token_head";
  job.spec.set(isDecoder ? "model.output.transform" : "model.encoder.masked_token_head",
               network.shape.activation);
  std::string table = network.prefix + "embeddings.word_embeddings.weight",
              output = network.head + "decoder.weight";
  bool saysTied = network.config.boolean("tie_word_embeddings", true);
  bool isTied = job.weights.find(output) ? job.areSame(table, output) : saysTied;
  if (saysTied && !isTied)
    warnThatTablesDiffer(job, {table, output});
  job.spec.set("model.embedding.tied", !isTied ? "none" : isDecoder ? "target_output" : "all");
  std::string transform = network.head + "transform.";
  bool hasOwnBias = job.weights.find(network.head + "decoder.bias");
  if (hasOwnBias)
    job.passedOver.insert(network.head + "bias"); // the same by another name
  job.spec.setText("weights.names.output",
                   network.head + (hasOwnBias ? "decoder.{parameter}" : "{parameter:decoder.weight,bias}"));
  job.spec.setText("weights.names." + role, transform + "dense.{parameter}");
  job.spec.setText("weights.names." + role + "_norm", transform + normName(job, network));
}

/// The sides of a pair share what a spec says once; the source's side says it.
void importCommon(ImportJob &job, const Network &network) {
  const Shape &shape = network.shape;
  SpecText &spec = job.spec;
  spec.set("model.width", shape.width, "hidden_size");
  spec.set("model.heads", shape.heads, "num_attention_heads");
  spec.set("model.encoder.layers", shape.layers, "num_hidden_layers");
  spec.set("model.feed_forward.width", shape.inner, "intermediate_size");
  spec.set("model.feed_forward.activation", shape.activation);
  spec.set("model.norm.embedding", true);
  spec.set("model.norm.epsilon", shape.epsilon, "layer_norm_eps");
  spec.set("model.positions.kind", "learned");
  spec.set("model.positions.max_length", shape.longest, "max_position_embeddings");
  spec.set("model.vocabulary.source", shape.words, "vocab_size");
}

/// The decoder's own sizes. What it may not have of its own is reported.
void importDecoder(ImportJob &job, const Network &encoder, const Network &decoder) {
  const Shape &ours = decoder.shape, &theirs = encoder.shape;
  auto compare = [&](std::string_view key, bool isEqual) {
    if (!isEqual)
      decoder.config.reject(key, "the encoder's differs, and a spec has one for both sides");
  };
  compare("hidden_size", ours.width == theirs.width);
  compare("hidden_act", ours.activation == theirs.activation);
  compare("layer_norm_eps", ours.epsilon == theirs.epsilon);
  compare("max_position_embeddings", ours.longest == theirs.longest);
  if (ours.heads != theirs.heads)
    job.spec.set("model.decoder.heads", ours.heads, "num_attention_heads");
  if (ours.inner != theirs.inner)
    job.spec.set("model.decoder.feed_forward_width", ours.inner, "intermediate_size");
  job.spec.set("model.decoder.layers", ours.layers, "num_hidden_layers");
  job.spec.set("model.vocabulary.target", ours.words, "vocab_size");
}

/// A generator's settings stand in each network's config too, but count only in the pair's.
Shape readMember(Config &member, bool isDecoder) {
  if (member.text("model_type") != "bert")
    member.reject("model_type", "pairs of two networks of type bert can be imported: the blocks of a spec's "
                                "sides are alike");
  passOverBookkeeping(member);
  passOverGeneration(member);
  for (const char *key : {"is_decoder", "add_cross_attention"})
    if (member.boolean(key, false) != isDecoder)
      member.reject(key, isDecoder ? "a decoder has it" : "an encoder has it not");
  Shape shape = readShape(member);
  member.warnOfUnread();
  return shape;
}

} // namespace

void importBert(ImportJob &job) {
  Config &config = job.config;
  SpecText &spec = job.spec;
  checkArchitectures(config, {"BertForMaskedLM", "BertModel", "BertForPreTraining"});
  config.expect("is_decoder", "false");
  config.expect("add_cross_attention", "false");
  std::string prefix = job.weights.find("bert.embeddings.word_embeddings.weight") ? "bert." : "";
  Network network{config, readShape(config), "encoder", prefix, "cls.predictions."};
  spec.set("model.kind", "encoder");
  importCommon(job, network);
  importNames(job, network);
  spec.set("model.encoder.token_types", network.shape.types, "type_vocab_size");
  spec.setText("weights.names.token_types", prefix + "embeddings.token_type_embeddings.weight");
  spec.setAlways("model.tokens.pad", std::to_string(config.integer("pad_token_id", ids, 0)), "pad_token_id");
  if (job.weights.find(prefix + "pooler.dense.weight")) {
    spec.set("model.encoder.pooler", true);
    spec.setText("weights.names.pooler", prefix + "pooler.dense.{parameter}");
  }
  job.hasMaskToken = job.weights.find("cls.predictions.bias");
  if (job.hasMaskToken)
    importHead(job, network);
}

void importBertPair(ImportJob &job) {
  checkArchitectures(job.config, {"EncoderDecoderModel"});
  job.config.expect("tie_encoder_decoder", "false");
  job.config.passOver({"tie_word_embeddings"}); // each network says it of itself
  Config first = job.config.member("encoder"), second = job.config.member("decoder");
  Network encoder{first, readMember(first, false), "encoder", "encoder.", ""};
  Network decoder{second, readMember(second, true), "decoder", "decoder.bert.", "decoder.cls.predictions."};
  job.spec.set("model.kind", "encoder_decoder");
  importCommon(job, encoder);
  importDecoder(job, encoder, decoder);
  for (const Network &network : {encoder, decoder}) {
    importNames(job, network);
    // All tokens are of the first type, whose row goes with each position's.
    std::string embeddings = network.prefix + "embeddings.";
    if (network.shape.types > 0)
      job.spec.setText("weights.names." + network.side + "_positions",
                       embeddings + "position_embeddings.weight + " + embeddings +
                           "token_type_embeddings.weight[0]",
                       "every token is of type 0");
  }
  for (const char *parameter : {"weight", "bias"})
    job.passedOver.insert(encoder.prefix + "pooler.dense." + parameter); // for single vectors
  importHead(job, decoder);
  importDecoding(job, decoder.shape.longest, {});
}

} // namespace attnc
