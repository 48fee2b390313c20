//===- WeightNames.cpp - which weights a model has, and their names --------===//
// SPDX-License-Identifier: Apache-2.0
//
// A pattern is a name with placeholders: {layer}, {layer+1}, and words that may be listed anew, as in
// {projection:wq,wk,wv,wo}.

#include "compiler/spec/WeightNames.h"
#include "compiler/spec/Keys.h"
#include "compiler/spec/Words.h"

#include <algorithm>

namespace attnc {

namespace {

/// What a role's pattern must tell apart, and its key in `weights.names`.
struct RoleRule {
  std::string_view key;
  std::string_view placeholders;
  bool isLinear = false;
};

} // namespace

static const RoleRule roleRules[weightRoleCount] = {
    {"shared_embedding", ""},
    {"source_embedding", ""},
    {"target_embedding", ""},
    {"output", "parameter", true},
    {"token_types", ""},
    {"encoder_positions", ""},
    {"decoder_positions", ""},
    {"encoder_embedding_norm", "parameter"},
    {"decoder_embedding_norm", "parameter"},
    {"encoder_self_attention", "layer projection parameter", true},
    {"encoder_self_attention_norm", "layer parameter"},
    {"encoder_feed_forward", "layer linear parameter", true},
    {"encoder_feed_forward_norm", "layer parameter"},
    {"encoder_final_norm", "parameter"},
    {"pooler", "parameter", true},
    {"masked_token_head", "parameter", true},
    {"masked_token_head_norm", "parameter"},
    {"decoder_self_attention", "layer projection parameter", true},
    {"decoder_self_attention_norm", "layer parameter"},
    {"decoder_cross_attention", "layer projection parameter", true},
    {"decoder_cross_attention_norm", "layer parameter"},
    {"decoder_feed_forward", "layer linear parameter", true},
    {"decoder_feed_forward_norm", "layer parameter"},
    {"decoder_final_norm", "parameter"},
    {"output_transform", "parameter", true},
    {"output_transform_norm", "parameter"},
    {"encoder_cell", "layer operand direction parameter", true},
    {"decoder_cell", "layer operand parameter", true},
    {"bridge", "layer state parameter", true},
    {"decoder_attention", "projection parameter", true},
};

std::string_view roleKey(WeightRole role) { return roleRules[size_t(role)].key; }
bool isLinear(WeightRole role) { return roleRules[size_t(role)].isLinear; }

bool isMatrixOfLinear(const ModelSpec &model, const WeightUse &use) {
  return use.shape.size() == 2 && (isLinear(use.role) || use.role == outputTable(model));
}

//===----------------------------------------------------------------------===//
// The list of weights
//===----------------------------------------------------------------------===//

namespace {

class WeightLister {
public:
  explicit WeightLister(const ModelSpec &model) : model(model) {}

  std::vector<WeightUse> list();

private:
  void addLinear(WeightUse use, int64_t out, int64_t in, bool hasBias);
  void addNorm(WeightRole role, int64_t layer = 0);
  void addAttention(WeightRole role, WeightRole norm, const SideSpec &side, int64_t layer);
  void addFeedForward(WeightRole role, WeightRole norm, const SideSpec &side, int64_t layer);
  void addInput(WeightRole table, int64_t words, WeightRole positions, WeightRole norm, const SideSpec &side);
  void addEncoder();
  void addEncoderHeads();
  void addTransform(WeightRole role, WeightRole norm);
  void addDecoder();
  void addOutput(int64_t words);

  const ModelSpec &model;
  std::vector<WeightUse> uses;
};

} // namespace

void WeightLister::addLinear(WeightUse use, int64_t out, int64_t in, bool hasBias) {
  use.shape = {out, in};
  uses.push_back(use);
  if (!hasBias)
    return;
  use.isBias = true;
  use.shape = {out};
  uses.push_back(use);
}

void WeightLister::addNorm(WeightRole role, int64_t layer) {
  uses.push_back({role, layer, 0, false, {*model.width}});
  if (*model.biases.norm)
    uses.push_back({role, layer, 0, true, {*model.width}});
}

void WeightLister::addAttention(WeightRole role, WeightRole norm, const SideSpec &side, int64_t layer) {
  addNorm(norm, layer);
  int64_t inner = *side.heads * *side.headWidth, width = *model.width;
  int64_t keyWidth = keyHeadsOf(model, side) * *side.headWidth;
  for (unsigned projection = 0; projection < 3; ++projection)
    addLinear({role, layer, projection}, projection ? keyWidth : inner, width, *model.biases.attention);
  addLinear({role, layer, 3}, width, inner, *model.biases.attention);
}

void WeightLister::addFeedForward(WeightRole role, WeightRole norm, const SideSpec &side, int64_t layer) {
  addNorm(norm, layer);
  int64_t inner = *side.feedForwardWidth, width = *model.width;
  addLinear({role, layer, 0}, inner, width, *model.biases.feedForward);
  addLinear({role, layer, 1}, width, inner, *model.biases.feedForward);
  if (*model.feedForward.gated)
    addLinear({role, layer, 2}, inner, width, *model.biases.feedForward);
}

void WeightLister::addInput(WeightRole table, int64_t words, WeightRole positions, WeightRole norm,
                            const SideSpec &side) {
  bool isKnown =
      std::any_of(uses.begin(), uses.end(), [&](const WeightUse &use) { return use.role == table; });
  if (!isKnown)
    uses.push_back({table, 0, 0, false, {words, *model.width}});
  if (*model.positions.kind == PositionKind::Learned)
    uses.push_back(
        {positions, 0, 0, false, {*model.positions.maxLength + *model.positions.start, *model.width}});
  if (*model.positions.kind == PositionKind::Relative)
    uses.push_back({positions, 0, 0, false, {*model.positions.buckets, *side.heads}});
  if (*model.norm.embedding)
    addNorm(norm);
}

void WeightLister::addEncoder() {
  addInput(sourceTable(model), *model.vocabulary.source, WeightRole::EncoderPositions,
           WeightRole::EncoderEmbeddingNorm, model.encoder);
  for (int64_t layer = 0; layer < *model.encoder.layers; ++layer) {
    addAttention(WeightRole::EncoderSelfAttention, WeightRole::EncoderSelfAttentionNorm, model.encoder,
                 layer);
    addFeedForward(WeightRole::EncoderFeedForward, WeightRole::EncoderFeedForwardNorm, model.encoder, layer);
  }
  if (*model.norm.final)
    addNorm(WeightRole::EncoderFinalNorm);
}

void WeightLister::addEncoderHeads() {
  if (*model.encoder.tokenTypes > 0)
    uses.push_back({WeightRole::TokenTypes, 0, 0, false, {*model.encoder.tokenTypes, *model.width}});
  if (*model.encoder.pooler)
    addLinear({WeightRole::Pooler}, *model.width, *model.width, *model.biases.output);
  if (!hasMaskedTokenHead(model))
    return;
  addTransform(WeightRole::MaskedTokenHead, WeightRole::MaskedTokenHeadNorm);
  addOutput(*model.vocabulary.source);
}

/// What stands before the logits.
void WeightLister::addTransform(WeightRole role, WeightRole norm) {
  addLinear({role}, *model.width, *model.width, *model.biases.output);
  addNorm(norm);
}

void WeightLister::addOutput(int64_t words) {
  if (outputTable(model) == WeightRole::Output)
    addLinear({WeightRole::Output}, words, *model.width, *model.biases.output);
  else if (*model.biases.output)
    uses.push_back({WeightRole::Output, 0, 0, true, {words}});
}

void WeightLister::addDecoder() {
  addInput(targetTable(model), *model.vocabulary.target, WeightRole::DecoderPositions,
           WeightRole::DecoderEmbeddingNorm, model.decoder);
  for (int64_t layer = 0; layer < *model.decoder.layers; ++layer) {
    addAttention(WeightRole::DecoderSelfAttention, WeightRole::DecoderSelfAttentionNorm, model.decoder,
                 layer);
    if (hasEncoder(model))
      addAttention(WeightRole::DecoderCrossAttention, WeightRole::DecoderCrossAttentionNorm, model.decoder,
                   layer);
    addFeedForward(WeightRole::DecoderFeedForward, WeightRole::DecoderFeedForwardNorm, model.decoder, layer);
  }
  if (*model.norm.final)
    addNorm(WeightRole::DecoderFinalNorm);
  if (hasTransform(model))
    addTransform(WeightRole::OutputTransform, WeightRole::OutputTransformNorm);
}

std::vector<WeightUse> WeightLister::list() {
  if (hasEncoder(model))
    addEncoder();
  if (hasDecoder(model)) {
    addDecoder();
    addOutput(*model.vocabulary.target);
  } else {
    addEncoderHeads();
  }
  return std::move(uses);
}

/// One table for source and target: only where there are both.
static bool isShared(const ModelSpec &model) {
  Tied tied = *model.embedding.tied;
  return *model.kind == ModelKind::EncoderDecoder && (tied == Tied::SourceTarget || tied == Tied::All);
}

WeightRole sourceTable(const ModelSpec &model) {
  return isShared(model) ? WeightRole::SharedEmbedding : WeightRole::SourceEmbedding;
}

WeightRole targetTable(const ModelSpec &model) {
  return isShared(model) ? WeightRole::SharedEmbedding : WeightRole::TargetEmbedding;
}

WeightRole outputTable(const ModelSpec &model) {
  bool isTied = *model.embedding.tied == Tied::TargetOutput || *model.embedding.tied == Tied::All;
  if (!isTied)
    return WeightRole::Output;
  return hasDecoder(model) ? targetTable(model) : sourceTable(model);
}

std::vector<WeightUse> weightsOf(const ModelSpec &model) {
  return isRecurrent(model) ? recurrentWeightsOf(model) : WeightLister(model).list();
}

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

static std::vector<std::string> splitAtCommas(std::string_view text) {
  std::vector<std::string> parts(1);
  for (char c : text)
    if (c == ',')
      parts.emplace_back();
    else
      parts.back() += c;
  return parts;
}

/// The words a placeholder chooses from, by default.
static std::vector<std::string> defaultWords(std::string_view placeholder) {
  if (placeholder == "projection")
    return {"q", "k", "v", "o"};
  if (placeholder == "linear")
    return {"1", "2", "3"};
  if (placeholder == "parameter")
    return {"weight", "bias"};
  if (placeholder == "operand")
    return {"ih", "hh"};
  if (placeholder == "direction")
    return {"", "_reverse"};
  if (placeholder == "state")
    return {"h", "c"};
  return {};
}

static std::string expandPlaceholder(std::string_view inner, const WeightUse &use) {
  if (inner == "layer")
    return std::to_string(use.layer);
  if (inner == "layer+1")
    return std::to_string(use.layer + 1);
  size_t colon = inner.find(':');
  std::string_view name = inner.substr(0, colon);
  std::vector<std::string> words =
      colon == std::string_view::npos ? defaultWords(name) : splitAtCommas(inner.substr(colon + 1));
  size_t index = use.part;
  if (name == "parameter")
    index = use.isBias;
  else if (name == "operand")
    index = use.part % 2;
  else if (name == "direction")
    index = use.part / 2;
  return index < words.size() ? words[index] : std::string();
}

std::string expandPattern(std::string_view pattern, const WeightUse &use) {
  std::string name;
  while (!pattern.empty()) {
    size_t open = pattern.find('{');
    name += pattern.substr(0, open);
    size_t close = open == std::string_view::npos ? open : pattern.find('}', open);
    if (close == std::string_view::npos)
      break;
    name += expandPlaceholder(pattern.substr(open + 1, close - open - 1), use);
    pattern.remove_prefix(close + 1);
  }
  return name;
}

std::string symbolOf(const WeightUse &use) {
  return expandPattern(keyRule("weights.names", roleKey(use.role)).fallback, use);
}

/// The placeholder's name, or an empty text after an error.
static std::string checkPlaceholder(std::string_view inner, const std::vector<std::string> &expected,
                                    size_t linearCount, Location where, Diagnostics &diagnostics) {
  size_t colon = inner.find(':');
  std::string name(inner.substr(0, inner == "layer+1" ? 5 : colon));
  std::string written = "{" + std::string(inner) + "}";
  if (std::find(expected.begin(), expected.end(), name) == expected.end()) {
    diagnostics.error(where, quote(written) + " is not a placeholder here" +
                                 (expected.empty() ? "" : "; it takes {" + listed(expected) + "}"));
    return {};
  }
  if (colon == std::string_view::npos || inner == "layer+1")
    return name;
  size_t wanted = name == "linear" ? linearCount : defaultWords(name).size();
  size_t found = splitAtCommas(inner.substr(colon + 1)).size();
  if (found != wanted)
    diagnostics.error(where, quote(written) + " lists " + std::to_string(found) + " words; it takes " +
                                 std::to_string(wanted));
  return name;
}

void checkPattern(WeightRole role, const Located<std::string> &pattern, const ModelSpec *model,
                  Diagnostics &diagnostics) {
  if (!pattern.valid)
    return;
  size_t linearCount = model && *model->feedForward.gated ? 3 : 2;
  std::vector<std::string> expected = wordsOf(roleRules[size_t(role)].placeholders);
  std::vector<std::string> missing = expected;
  std::string_view rest = *pattern;
  for (size_t open = rest.find('{'); open != std::string_view::npos; open = rest.find('{')) {
    size_t close = rest.find('}', open);
    if (close == std::string_view::npos) {
      diagnostics.error(pattern.where, "the pattern " + quote(*pattern) + " has a '{' without '}'");
      return;
    }
    std::string name = checkPlaceholder(rest.substr(open + 1, close - open - 1), expected, linearCount,
                                        pattern.where, diagnostics);
    if (name.empty())
      return;
    std::erase(missing, name);
    rest.remove_prefix(close + 1);
  }
  if (model)
    for (std::string_view name : needlessPlaceholders(*model, role))
      std::erase(missing, name);
  for (const std::string &name : missing)
    diagnostics.error(pattern.where, "the pattern " + quote(*pattern) + " lacks {" + name + "}");
}

} // namespace attnc
