//===- ImportBart.cpp - BART and its relatives -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// BART (Lewis et al. 2020), mBART (Liu et al. 2020), Marian (Junczys-Dowmunt et al. 2018), Pegasus (Zhang et
// al. 2020), M2M-100 (Fan et al. 2021) and NLLB (2022) are one network in Hugging Face's library; they differ
// in the place of the norms, in positions, and in what they call their sizes.

#include "compiler/huggingface/ImportJob.h"
#include "compiler/spec/Words.h"

namespace attnc {
namespace {

struct Traits {
  std::string_view type; // model_type
  bool isPreNorm;        // with a norm at the end of each side
  bool hasEmbeddingNorm;
  bool isLearned;      // positions; else sinusoids
  bool hasLogitsBias;  // final_logits_bias
  bool isFairseqStyle; // sinusoids with the slowest rate inclusive, the first one after the padding token's
  // Where the config does not say:
  std::string_view activation;
  bool isScaled; // the embedding
  DefaultTokens tokens;
};

constexpr Traits allTraits[] = {
    {"bart", false, true, true, true, false, "gelu", false, {2, 2, 1}},
    {"mbart", true, true, true, true, false, "gelu", false, {{}, 2, 1}},
    {"marian", false, false, false, true, false, "gelu", false, {58100, 0, 58100}},
    {"pegasus", true, false, false, true, false, "gelu", false, {0, 1, 0}},
    {"m2m_100", true, false, false, false, true, "relu", true, {2, 2, 1}},
};

const Traits &traitsOf(const std::string &type) {
  for (const Traits &traits : allTraits)
    if (traits.type == type)
      return traits;
  return allTraits[0];
}

/// Sets a size of both sides; where the decoder's differs, it gets its own.
void importSize(ImportJob &job, const std::string &theirs, const std::string &ours,
                const std::string &decoders) {
  int64_t encoder = job.config.integer("encoder_" + theirs, sizes);
  int64_t decoder = job.config.integer("decoder_" + theirs, sizes);
  job.spec.set(ours, encoder, "encoder_" + theirs);
  if (decoder != encoder)
    job.spec.set(decoders, decoder, "decoder_" + theirs);
}

/// Keys that only training knows, or that older versions of the library wrote and none reads.
void passOverTraining(Config &config) {
  config.passOver({"activation_dropout", "attention_dropout", "classif_dropout", "classifier_dropout",
                   "dropout", "decoder_layerdrop", "encoder_layerdrop", "init_std", "num_hidden_layers",
                   "use_cache", "gradient_checkpointing", "bos_token_id", "output_past",
                   "static_position_embeddings", "extra_pos_embeddings", "add_bias_logits", "save_step",
                   "_num_labels", "num_labels"});
}

/// Older configs say what the network is anyway; where they say otherwise, it is another network.
void checkLegacyKeys(Config &config, const Traits &traits) {
  config.expect("normalize_before", traits.isPreNorm ? "true" : "false");
  config.expect("add_final_layer_norm", traits.isPreNorm ? "true" : "false");
  config.expect("normalize_embedding", traits.hasEmbeddingNorm ? "true" : "false");
  config.expect("is_encoder_decoder", "true");
}

std::string positionsOf(const std::string &prefix, const std::string &side) {
  return prefix + side + ".embed_positions.weight";
}

/// Whether positions are tables of the files. Sinusoids that folders hold are computed anew; numbers that are
/// none count, as in the library.
bool hasPositionTables(ImportJob &job, const Traits &traits, const std::string &prefix) {
  bool isLearned = traits.isLearned;
  for (std::string side : {"encoder", "decoder"}) {
    std::string name = positionsOf(prefix, side);
    const Tensor *table = job.weights.find(name);
    if (isLearned || traits.isFairseqStyle || !table)
      continue;
    job.passedOver.insert(name);
    isLearned = !isSinusoid(*table);
    if (isLearned)
      job.warnings.push_back(
          quote(name) + " does not hold the sinusoids to float32: positions are read from the files' tables");
  }
  return isLearned;
}

void importPositions(ImportJob &job, const Traits &traits, bool isLearned, int64_t longest) {
  if (isLearned) {
    job.spec.set("model.positions.kind", "learned");
  } else {
    job.spec.set("model.positions.layout", "concatenated");
    job.spec.set("model.positions.inclusive", traits.isFairseqStyle);
  }
  if (traits.isLearned)
    job.spec.set("model.positions.start", int64_t(2), "the table's first two rows are not positions");
  if (traits.isFairseqStyle)
    job.spec.set("model.positions.start", job.config.integer("pad_token_id", ids, *traits.tokens.pad) + 1,
                 "pad_token_id + 1");
  job.spec.set("model.positions.max_length", longest, "max_position_embeddings");
}

void importEmbeddings(ImportJob &job, const Traits &traits, const std::string &prefix) {
  Config &config = job.config;
  int64_t source = config.integer("vocab_size", vocabularySizes);
  int64_t target = config.integer("decoder_vocab_size", vocabularySizes, source);
  job.spec.set("model.vocabulary.source", source);
  job.spec.set("model.vocabulary.target", target);
  if (config.boolean("scale_embedding", traits.isScaled))
    job.spec.set("model.embedding.scale", "sqrt_width", "scale_embedding");
  bool isShared = config.boolean("share_encoder_decoder_embeddings", true);
  bool isTied = config.boolean("tie_word_embeddings", true);
  TableNames tables = findTables(job, prefix, isShared, isTied);
  TiedTables tied = importTables(job, tables);
  if (isTied && !(tied.output && (tied.sides || !isShared)))
    warnThatTablesDiffer(job, {tables.source, tables.target, tables.output});
  bool hasBias = traits.hasLogitsBias && job.weights.find("final_logits_bias");
  job.spec.set("model.biases.output", hasBias);
  if (hasBias || !tied.output)
    job.spec.setText("weights.names.output", hasBias ? "{parameter:" + tables.output + ",final_logits_bias}"
                                                     : patternOf(tables.output));
}

void importNames(ImportJob &job, const Traits &traits, bool isLearned, const std::string &prefix) {
  for (std::string side : {"encoder", "decoder"}) {
    std::string names = "weights.names." + side, layer = prefix + side + ".layers.{layer}.";
    auto set = [&](const std::string &role, const std::string &pattern) {
      job.spec.setText(names + role, pattern);
    };
    std::string projections = "{projection:q_proj,k_proj,v_proj,out_proj}.{parameter}";
    set("_self_attention", layer + "self_attn." + projections);
    set("_self_attention_norm", layer + "self_attn_layer_norm.{parameter}");
    set("_feed_forward", layer + "fc{linear}.{parameter}");
    set("_feed_forward_norm", layer + "final_layer_norm.{parameter}");
    if (side == "decoder") {
      set("_cross_attention", layer + "encoder_attn." + projections);
      set("_cross_attention_norm", layer + "encoder_attn_layer_norm.{parameter}");
    }
    if (isLearned)
      set("_positions", positionsOf(prefix, side));
    if (traits.hasEmbeddingNorm)
      set("_embedding_norm", prefix + side + ".layernorm_embedding.{parameter}");
    if (traits.isPreNorm)
      set("_final_norm", prefix + side + ".layer_norm.{parameter}");
    if (traits.isFairseqStyle) // sinusoids, which old folders hold and the library never reads
      job.passedOver.insert(prefix + side + ".embed_positions.weights");
  }
}

} // namespace

void importBart(ImportJob &job) {
  Config &config = job.config;
  const Traits &traits = traitsOf(config.text("model_type"));
  checkArchitectures(config,
                     {"BartForConditionalGeneration", "MBartForConditionalGeneration", "MarianMTModel",
                      "PegasusForConditionalGeneration", "M2M100ForConditionalGeneration"});
  passOverTraining(config);
  checkLegacyKeys(config, traits);
  SpecText &spec = job.spec;
  spec.set("model.kind", "encoder_decoder");
  spec.set("model.width", config.integer("d_model", sizes), "d_model");
  importSize(job, "attention_heads", "model.heads", "model.decoder.heads");
  spec.set("model.encoder.layers", config.integer("encoder_layers", sizes), "encoder_layers");
  spec.set("model.decoder.layers", config.integer("decoder_layers", sizes), "decoder_layers");
  importSize(job, "ffn_dim", "model.feed_forward.width", "model.decoder.feed_forward_width");
  spec.set("model.feed_forward.activation",
           activationWord(config, "activation_function",
                          config.text("activation_function", std::string(traits.activation))));
  spec.set("model.norm.place", traits.isPreNorm ? "pre" : "post");
  spec.set("model.norm.embedding", traits.hasEmbeddingNorm);
  int64_t longest = config.integer("max_position_embeddings", sizes, 1024);
  std::string prefix = job.weights.find("model.encoder.layers.0.fc1.weight") ? "model." : "";
  bool isLearned = hasPositionTables(job, traits, prefix);
  importPositions(job, traits, isLearned, longest);
  importEmbeddings(job, traits, prefix);
  importNames(job, traits, isLearned, prefix);
  importDecoding(job, longest, traits.tokens);
}

} // namespace attnc
