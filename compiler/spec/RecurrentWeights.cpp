//===- RecurrentWeights.cpp - which weights a recurrent model has ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// A cell has two matrices of stacked gates: one reads the input (`ih`), one the state (`hh`).

#include "compiler/spec/WeightNames.h"

namespace attnc {

std::string gateLetters(const ModelSpec &model) {
  return *model.recurrent.cell == Cell::Lstm ? "ifgo" : "rzn";
}

int64_t gateCount(const ModelSpec &model) { return int64_t(gateLetters(model).size()); }

int64_t memoryWidth(const ModelSpec &model) {
  return *model.recurrent.encoderWidth * (*model.recurrent.bidirectional ? 2 : 1);
}

int64_t bridgeWidth(const ModelSpec &model) {
  bool isBoth = *model.recurrent.bridge.direction == BridgeDirection::Both;
  return isBoth ? memoryWidth(model) : *model.recurrent.encoderWidth;
}

int64_t decoderInputWidth(const ModelSpec &model) {
  const RecurrentSpec &recurrent = model.recurrent;
  int64_t width = *recurrent.embeddingWidth;
  if (recurrent.attention && *recurrent.attention->place == AttentionPlace::Before)
    width += memoryWidth(model);
  if (recurrent.attention && *recurrent.attention->inputFeeding)
    width += *recurrent.decoderWidth;
  return width;
}

int64_t outputWidth(const ModelSpec &model) {
  const RecurrentSpec &recurrent = model.recurrent;
  return *recurrent.decoderWidth + (*recurrent.readsContext ? memoryWidth(model) : 0) +
         (*recurrent.readsEmbedding ? *recurrent.embeddingWidth : 0);
}

bool hasBridgeLinear(const ModelSpec &model) {
  BridgeKind kind = *model.recurrent.bridge.kind;
  return kind == BridgeKind::Linear || kind == BridgeKind::LinearTanh;
}

namespace {

class RecurrentWeightLister {
public:
  explicit RecurrentWeightLister(const ModelSpec &model) : model(model), recurrent(model.recurrent) {}

  std::vector<WeightUse> list();

private:
  void add(WeightUse use, std::vector<int64_t> shape) {
    use.shape = std::move(shape);
    uses.push_back(std::move(use));
  }
  void addLinear(WeightUse use, int64_t out, int64_t in, bool hasBias) {
    add(use, {out, in});
    use.isBias = true;
    if (hasBias)
      add(use, {out});
  }
  void addCell(WeightUse use, int64_t width, int64_t in);
  void addEncoder();
  void addBridge();
  void addAttention();
  void addDecoder();

  const ModelSpec &model;
  const RecurrentSpec &recurrent;
  std::vector<WeightUse> uses;
};

} // namespace

void RecurrentWeightLister::addCell(WeightUse use, int64_t width, int64_t in) {
  addLinear(use, gateCount(model) * width, in, *recurrent.biases != CellBiases::None);
  ++use.part;
  addLinear(use, gateCount(model) * width, width, *recurrent.biases == CellBiases::Both);
}

void RecurrentWeightLister::addEncoder() {
  add({sourceTable(model)}, {*model.vocabulary.source, *recurrent.embeddingWidth});
  for (int64_t layer = 0; layer < *model.encoder.layers; ++layer)
    for (unsigned direction = 0; direction < (*recurrent.bidirectional ? 2 : 1); ++direction)
      addCell({WeightRole::EncoderCell, layer, 2 * direction}, *recurrent.encoderWidth,
              layer ? memoryWidth(model) : *recurrent.embeddingWidth);
}

void RecurrentWeightLister::addBridge() {
  if (!hasBridgeLinear(model))
    return;
  for (int64_t layer = 0; layer < *model.decoder.layers; ++layer)
    for (unsigned state = 0; state < (*recurrent.cell == Cell::Lstm ? 2 : 1); ++state)
      addLinear({WeightRole::Bridge, layer, state}, *recurrent.decoderWidth, bridgeWidth(model), true);
}

void RecurrentWeightLister::addAttention() {
  const WeightRole role = WeightRole::DecoderAttention;
  const int64_t memory = memoryWidth(model), state = *recurrent.decoderWidth;
  const bool hasBias = *model.biases.attention;
  if (*recurrent.attention->score == AttentionScore::General)
    addLinear({role, 0, 0}, memory, state, hasBias);
  if (*recurrent.attention->score == AttentionScore::Additive) {
    const int64_t width = *recurrent.attention->width;
    addLinear({role, 0, 0}, width, state, hasBias);
    addLinear({role, 0, 1}, width, memory, hasBias);
    add({role, 0, 2}, {width});
  }
  if (*recurrent.attention->place == AttentionPlace::After)
    addLinear({role, 0, 3}, state, memory + state, hasBias);
}

void RecurrentWeightLister::addDecoder() {
  if (targetTable(model) != sourceTable(model))
    add({targetTable(model)}, {*model.vocabulary.target, *recurrent.embeddingWidth});
  for (int64_t layer = 0; layer < *model.decoder.layers; ++layer)
    addCell({WeightRole::DecoderCell, layer}, *recurrent.decoderWidth,
            layer ? *recurrent.decoderWidth : decoderInputWidth(model));
  if (recurrent.attention)
    addAttention();
  if (outputTable(model) == WeightRole::Output)
    addLinear({WeightRole::Output}, *model.vocabulary.target, outputWidth(model), *model.biases.output);
  else if (*model.biases.output)
    add({WeightRole::Output, 0, 0, true}, {*model.vocabulary.target});
}

std::vector<WeightUse> RecurrentWeightLister::list() {
  addEncoder();
  addBridge();
  addDecoder();
  return std::move(uses);
}

std::vector<WeightUse> recurrentWeightsOf(const ModelSpec &model) {
  return RecurrentWeightLister(model).list();
}

std::vector<std::string_view> needlessPlaceholders(const ModelSpec &model, WeightRole role) {
  if (!isRecurrent(model))
    return {};
  std::vector<std::string_view> needless;
  const SideSpec &side =
      role == WeightRole::EncoderCell ? static_cast<const SideSpec &>(model.encoder) : model.decoder;
  if (*side.layers == 1)
    needless.push_back("layer");
  if (!*model.recurrent.bidirectional)
    needless.push_back("direction");
  if (*model.recurrent.cell != Cell::Lstm)
    needless.push_back("state");
  return needless;
}

} // namespace attnc
