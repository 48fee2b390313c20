//===- ReadModel.cpp - the `model:` level from YAML ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One function per section, one line per key.

#include "compiler/spec/ReadModel.h"
#include "compiler/spec/Words.h"

#include <algorithm>
#include <cmath>

namespace attnc {

static SideSpec readSide(MapReader reader) { return {reader.location(), reader.integer("layers")}; }

static FeedForwardSpec readFeedForward(MapReader reader) {
  return {reader.location(), reader.integer("width"), reader.choice<Activation>("activation")};
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

static BiasesSpec readBiases(MapReader reader, const NormSpec &norm) {
  BiasesSpec biases;
  biases.where = reader.location();
  biases.attention = reader.boolean("attention");
  biases.feedForward = reader.boolean("feed_forward");
  biases.norm = reader.boolean("norm");
  if (!biases.norm.given)
    biases.norm.value = *norm.kind == NormKind::Layer;
  biases.output = reader.boolean("output");
  return biases;
}

static PositionsSpec readPositions(MapReader reader) {
  PositionsSpec positions;
  positions.where = reader.location();
  positions.kind = reader.choice<PositionKind>("kind");
  positions.layout = reader.choice<SinusoidLayout>("layout");
  positions.inclusive = reader.boolean("inclusive");
  positions.start = reader.integer("start");
  positions.maxLength = reader.integer("max_length");
  return positions;
}

static EmbeddingSpec readEmbedding(MapReader reader, const LocatedInteger &width) {
  EmbeddingSpec embedding;
  embedding.where = reader.location();
  const YamlNode *scale = reader.has("scale") ? reader.find("scale") : nullptr;
  if (scale && scale->isScalar() && scale->text == "sqrt_width")
    embedding.scale = {std::sqrt(double(*width)), scale->where, width.valid, true};
  else
    embedding.scale = reader.number("scale");
  embedding.tied = reader.choice<Tied>("tied");
  return embedding;
}

static VocabularySpec readVocabulary(MapReader reader) {
  return {reader.location(), reader.integer("source"), reader.integer("target")};
}

static TokensSpec readTokens(MapReader reader) {
  TokensSpec tokens;
  tokens.where = reader.location();
  tokens.start = reader.integer("start");
  tokens.end = reader.integer("end");
  tokens.pad = reader.integer("pad");
  tokens.unknown = reader.optionalInteger("unknown");
  tokens.sourceUnknown = reader.optionalInteger("source_unknown");
  if (!tokens.sourceUnknown.given) {
    tokens.sourceUnknown.value = tokens.unknown.value;
    tokens.sourceUnknown.where = tokens.unknown.where;
  }
  tokens.sourceStart = reader.optionalInteger("source_start");
  tokens.sourceEnd = reader.optionalInteger("source_end");
  return tokens;
}

static TokenizerSpec readTokenizer(MapReader reader) {
  return {reader.choice<TokenizerKind>("kind"), reader.text("file")};
}

/// Either `kind` and `file` for both sides, or `source` and `target` with their own.
static void readTokenizers(MapReader reader, ModelSpec &model, Diagnostics &diagnostics) {
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
  decoding.lengthPenalty = reader.number("length_penalty");
  decoding.minLength = reader.integer("min_length");
  decoding.maxLength = reader.integer("max_length");
  bool isLimited = positions.maxLength.valid && *positions.kind != PositionKind::None;
  if (!decoding.maxLength.given && isLimited)
    decoding.maxLength.value = std::min(*decoding.maxLength, *positions.maxLength);
  decoding.earlyStopping = reader.choice<EarlyStopping>("early_stopping");
  return decoding;
}

ModelSpec readModel(MapReader reader, Diagnostics &diagnostics) {
  ModelSpec model;
  model.where = reader.location();
  model.kind = reader.choice<ModelKind>("kind");
  model.width = reader.integer("width");
  model.heads = reader.integer("heads");
  model.attentionScale = reader.optionalNumber("attention_scale");
  model.encoder = readSide(reader.mapping("encoder"));
  model.decoder = readSide(reader.mapping("decoder"));
  model.feedForward = readFeedForward(reader.mapping("feed_forward"));
  model.norm = readNorm(reader.mapping("norm"));
  model.biases = readBiases(reader.mapping("biases"), model.norm);
  model.positions = readPositions(reader.mapping("positions"));
  model.embedding = readEmbedding(reader.mapping("embedding"), model.width);
  model.vocabulary = readVocabulary(reader.mapping("vocabulary"));
  model.tokens = readTokens(reader.mapping("tokens"));
  readTokenizers(reader.mapping("tokenizer"), model, diagnostics);
  model.decoding = readDecoding(reader.mapping("decoding"), model.positions);
  return model;
}

} // namespace attnc
