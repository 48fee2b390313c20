//===- ReadModel.cpp - the `model:` level from YAML ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One function per section, one line per key.

#include "compiler/spec/ReadModel.h"
#include "compiler/spec/ReadRecurrent.h"
#include "compiler/spec/Words.h"

#include <algorithm>
#include <cmath>

namespace attnc {

static std::string here(const ModelSpec &model) {
  std::vector<std::string> words = wordsOf(keyRule("model", "kind").allowed);
  return "for a model of kind " + quote(words[size_t(*model.kind)]);
}

static FeedForwardSpec readFeedForward(MapReader reader) {
  return {reader.location(), reader.integer("width"), reader.choice<Activation>("activation"),
          reader.boolean("gated")};
}

/// The number under `key`, or the model's.
static LocatedInteger readOwn(MapReader &reader, std::string_view key, const LocatedInteger &common) {
  LocatedId own = reader.optionalInteger(key);
  return own.value || !own.valid ? LocatedInteger{own.value.value_or(0), own.where, own.valid, true} : common;
}

static void readSide(MapReader &reader, const ModelSpec &model, SideSpec &side) {
  side.where = reader.location();
  side.layers = reader.integer("layers");
  side.heads = readOwn(reader, "heads", model.heads);
  side.feedForwardWidth = readOwn(reader, "feed_forward_width", model.feedForward.width);
  side.headWidth = {0, model.headWidth.where, model.headWidth.valid, model.headWidth.value.has_value()};
  if (model.headWidth.value)
    side.headWidth.value = **model.headWidth;
  else if (model.width.valid && side.heads.valid)
    side.headWidth.value = *model.width / *side.heads;
  else
    side.headWidth.valid = false;
  side.window = reader.optionalInteger("window");
  side.score = reader.text("score");
}

static void readEncoder(MapReader reader, ModelSpec &model) {
  refuseRecurrentEncoder(reader);
  readSide(reader, model, model.encoder);
  if (*model.kind == ModelKind::EncoderDecoder)
    for (const char *key : {"token_types", "pooler", "masked_token_head"})
      reader.refuse(key, here(model));
  model.encoder.tokenTypes = reader.integer("token_types");
  model.encoder.pooler = reader.boolean("pooler");
  model.encoder.maskedTokenHead = reader.choice<HeadActivation>("masked_token_head");
}

static void readDecoder(MapReader reader, ModelSpec &model) {
  refuseRecurrentDecoder(reader);
  readSide(reader, model, model.decoder);
  if (!hasEncoder(model))
    reader.refuse("cross_score", here(model));
  model.decoder.crossScore = reader.text("cross_score");
}

/// Reads the sides that models of this kind have.
static void readSides(MapReader &reader, ModelSpec &model, Diagnostics &diagnostics) {
  auto readOne = [&](const char *side, bool isThere, auto read) {
    if (!isThere)
      reader.refuse(side, here(model));
    else if (reader.require(side))
      read(reader.mapping(side));
  };
  readOne("encoder", hasEncoder(model), [&](const MapReader &encoder) {
    isRecurrent(model) ? readRecurrentEncoder(encoder, model) : readEncoder(encoder, model);
  });
  readOne("decoder", hasDecoder(model), [&](const MapReader &decoder) {
    isRecurrent(model) ? readRecurrentDecoder(decoder, model, diagnostics) : readDecoder(decoder, model);
  });
}

static NormSpec readNorm(MapReader reader) {
  NormSpec norm;
  norm.where = reader.location();
  norm.kind = reader.choice<NormKind>("kind");
  norm.place = reader.choice<NormPlace>("place");
  norm.epsilon = reader.number("epsilon");
  norm.final = reader.boolean("final");
  if (!norm.final.given)
    norm.final.value = *norm.place == NormPlace::Pre;
  norm.embedding = reader.boolean("embedding");
  return norm;
}

static void readBiases(MapReader reader, ModelSpec &model) {
  BiasesSpec &biases = model.biases;
  readRecurrentBiases(reader, model);
  biases.where = reader.location();
  biases.attention = reader.boolean("attention");
  biases.feedForward = reader.boolean("feed_forward");
  biases.norm = reader.boolean("norm");
  if (!biases.norm.given)
    biases.norm.value = *model.norm.kind == NormKind::Layer;
  biases.output = reader.boolean("output");
}

static PositionsSpec readPositions(MapReader reader) {
  PositionsSpec positions;
  positions.where = reader.location();
  positions.kind = reader.choice<PositionKind>("kind");
  positions.layout = reader.choice<SinusoidLayout>("layout");
  positions.inclusive = reader.boolean("inclusive");
  positions.start = reader.integer("start");
  positions.maxLength = reader.integer("max_length");
  positions.base = reader.integer("base");
  positions.rotatedWidth = reader.optionalInteger("rotated_width");
  positions.buckets = reader.integer("buckets");
  positions.maxDistance = reader.integer("max_distance");
  return positions;
}

/// `scale`: a number, or `word`, which stands for width ^ power.
static Located<double> readScale(MapReader &reader, std::string_view word, const LocatedInteger &width,
                                 double power) {
  const YamlNode *scale = reader.has("scale") ? reader.find("scale") : nullptr;
  if (scale && scale->isScalar() && scale->text == word)
    return {std::pow(double(*width), power), scale->where, width.valid, true};
  return reader.number("scale");
}

static void readEmbedding(MapReader reader, ModelSpec &model) {
  readRecurrentEmbedding(reader, model);
  const LocatedInteger &width = isRecurrent(model) ? model.recurrent.embeddingWidth : model.width;
  model.embedding = {reader.location(), readScale(reader, "sqrt_width", width, 0.5),
                     reader.choice<Tied>("tied")};
}

static void readOutput(MapReader reader, ModelSpec &model) {
  readRecurrentOutput(reader, model);
  model.output = {reader.location(), reader.choice<HeadActivation>("transform"),
                  readScale(reader, "inverse_sqrt_width", model.width, -0.5)};
}

/// A number that must be there.
static LocatedInteger readRequired(MapReader &reader, std::string_view key) {
  if (!reader.require(key))
    return {0, reader.location(), false, false};
  LocatedId id = reader.optionalInteger(key);
  return {id.value.value_or(0), id.where, id.valid, true};
}

static void readVocabulary(MapReader reader, ModelSpec &model) {
  VocabularySpec &vocabulary = model.vocabulary;
  vocabulary.where = reader.location();
  if (hasEncoder(model))
    vocabulary.source = readRequired(reader, "source");
  else
    reader.refuse("source", here(model));
  if (hasDecoder(model))
    vocabulary.target = readRequired(reader, "target");
  else
    reader.refuse("target", here(model));
  if (!hasEncoder(model))
    vocabulary.source = vocabulary.target;
}

static void readTokens(MapReader reader, ModelSpec &model) {
  TokensSpec &tokens = model.tokens;
  tokens.where = reader.location();
  // A decoder that stands alone may start from the prompt's first token.
  if (*model.kind == ModelKind::EncoderDecoder)
    reader.require("start");
  if (hasDecoder(model))
    reader.require("end");
  if (!hasDecoder(model))
    for (const char *key : {"start", "end"})
      reader.refuse(key, here(model));
  if (!hasEncoder(model))
    for (const char *key : {"source_unknown", "source_start", "source_end"})
      reader.refuse(key, here(model));
  if (*model.kind != ModelKind::Encoder)
    reader.refuse("mask", here(model));
  tokens.start = reader.optionalInteger("start");
  tokens.ends = reader.integers("end");
  tokens.pad = reader.integer("pad");
  tokens.unknown = reader.optionalInteger("unknown");
  tokens.mask = reader.optionalInteger("mask");
  tokens.sourceUnknown = reader.optionalInteger("source_unknown");
  if (!tokens.sourceUnknown.given) {
    tokens.sourceUnknown.value = tokens.unknown.value;
    tokens.sourceUnknown.where = tokens.unknown.where;
  }
  tokens.sourceStart = reader.integers("source_start");
  tokens.sourceEnd = reader.integers("source_end");
  if (*model.kind != ModelKind::EncoderDecoder)
    reader.refuse("languages", here(model));
  MapReader languages = reader.mapping("languages");
  for (const YamlEntry &entry : languages.map() ? languages.map()->entries : std::vector<YamlEntry>()) {
    LocatedInteger id = languages.integer(entry.key);
    tokens.languages.push_back({{entry.key, entry.where, true, true}, id});
  }
}

static TokenizerSpec readTokenizer(MapReader reader) {
  return {reader.choice<TokenizerKind>("kind"), reader.text("file"), reader.text("vocabulary")};
}

/// Either `kind` and `file` for both sides, or `source` and `target` with their own.
static void readTokenizers(MapReader reader, ModelSpec &model, Diagnostics &diagnostics) {
  if (*model.kind != ModelKind::EncoderDecoder)
    for (const char *key : {"source", "target"})
      reader.refuse(key, here(model));
  TokenizerSpec both = readTokenizer(reader);
  auto readOwn = [&](std::string_view side, std::string_view other, TokenizerSpec &tokenizer) {
    tokenizer = both;
    if (!reader.has(side)) {
      if (reader.has(other) && !both.kind.given)
        diagnostics.error(reader.location(), quote("tokenizer") + " has " + quote(other) + " but neither " +
                                                 quote(side) + " nor a 'kind' for both");
      return;
    }
    tokenizer = readTokenizer(reader.mapping(side));
  };
  readOwn("source", "target", model.sourceTokenizer);
  readOwn("target", "source", model.targetTokenizer);
}

static DecodingSpec readDecoding(MapReader reader, const PositionsSpec &positions) {
  DecodingSpec decoding;
  decoding.where = reader.location();
  decoding.beam = reader.integer("beam");
  decoding.nBest = reader.integer("n_best");
  decoding.lengthPenalty = reader.number("length_penalty");
  decoding.minLength = reader.integer("min_length");
  decoding.maxLength = reader.integer("max_length");
  bool isLimited = positions.maxLength.valid && limitsLength(*positions.kind);
  if (!decoding.maxLength.given && isLimited)
    decoding.maxLength.value = std::min(*decoding.maxLength, *positions.maxLength);
  decoding.earlyStopping = reader.choice<EarlyStopping>("early_stopping");
  decoding.patience = reader.number("patience");
  decoding.beamGroups = reader.integer("num_beam_groups");
  decoding.diversityPenalty = reader.number("diversity_penalty");
  decoding.coveragePenalty = reader.number("coverage_penalty");
  decoding.repetitionPenalty = reader.number("repetition_penalty");
  decoding.ngramSize = reader.integer("no_repeat_ngram_size");
  decoding.suppressed = reader.integers("suppress_tokens");
  decoding.beginSuppressed = reader.integers("begin_suppress_tokens");
  decoding.badWords = reader.integerLists("bad_words_ids");
  decoding.forcedFirst = reader.optionalInteger("forced_bos_token_id");
  decoding.forcedLast = reader.optionalInteger("forced_eos_token_id");
  decoding.shortlist = reader.integers("shortlist");
  decoding.renormalizes = reader.boolean("renormalize_logits");
  decoding.alternatives = reader.boolean("return_alternatives");
  decoding.minAlternativeProbability = reader.number("min_alternative_probability");
  decoding.samples = reader.boolean("do_sample");
  decoding.temperature = reader.number("temperature");
  decoding.topK = reader.integer("top_k");
  decoding.topP = reader.number("top_p");
  decoding.minP = reader.number("min_p");
  decoding.typicalP = reader.number("typical_p");
  return decoding;
}

/// What layers of attention and feed-forwards are made of.
static void readBlocks(MapReader &reader, ModelSpec &model) {
  model.heads = readRequired(reader, "heads");
  model.keyHeads = reader.optionalInteger("key_heads");
  model.headWidth = reader.optionalInteger("head_width");
  if (reader.require("feed_forward"))
    model.feedForward = readFeedForward(reader.mapping("feed_forward"));
  model.norm = readNorm(reader.mapping("norm"));
  model.positions = readPositions(reader.mapping("positions"));
}

ModelSpec readModel(MapReader reader, Diagnostics &diagnostics) {
  ModelSpec model;
  model.where = reader.location();
  model.kind = reader.choice<ModelKind>("kind");
  model.width = reader.integer("width");
  readCell(reader, model, diagnostics);
  model.attentionScale = reader.optionalNumber("attention_scale");
  if (!isRecurrent(model))
    readBlocks(reader, model);
  readSides(reader, model, diagnostics);
  if (isRecurrent(model))
    model.recurrent.bridge = readBridge(reader.mapping("bridge"), model.recurrent);
  if (isRecurrent(model) && !model.recurrent.attention)
    reader.refuse("attention_scale", "without 'attention'");
  readBiases(reader.mapping("biases"), model);
  readEmbedding(reader.mapping("embedding"), model);
  readOutput(reader.mapping("output"), model);
  readVocabulary(reader.mapping("vocabulary"), model);
  readTokens(reader.mapping("tokens"), model);
  readTokenizers(reader.mapping("tokenizer"), model, diagnostics);
  if (!hasDecoder(model))
    for (const char *key : {"decoding", "output"})
      reader.refuse(key, here(model));
  model.decoding = readDecoding(reader.mapping("decoding"), model.positions);
  return model;
}

} // namespace attnc
