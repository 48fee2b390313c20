//===- ReadRecurrent.cpp - cells, bridge and attention from YAML -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// A recurrent model is one with a 'cell'. Keys that only one of the two architectures has are errors in the
// other.

#include "compiler/spec/ReadRecurrent.h"
#include "compiler/spec/Words.h"

namespace attnc {

static LocatedInteger readWidth(MapReader &reader, const LocatedInteger &common) {
  LocatedId own = reader.optionalInteger("width");
  return own.value || !own.valid ? LocatedInteger{own.value.value_or(0), own.where, own.valid, true} : common;
}

static void refuseAll(MapReader &reader, std::initializer_list<const char *> keys, const char *here) {
  for (const char *key : keys)
    reader.refuse(key, here);
}

static const char *forRecurrent = "for a recurrent model";
static const char *withoutCell = "for a model without recurrent cells";

void readRecurrentEncoder(MapReader reader, ModelSpec &model) {
  RecurrentSpec &recurrent = model.recurrent;
  refuseAll(reader,
            {"heads", "feed_forward_width", "window", "score", "token_types", "pooler", "masked_token_head"},
            forRecurrent);
  model.encoder.where = reader.location();
  model.encoder.layers = reader.integer("layers");
  recurrent.encoderWidth = readWidth(reader, model.width);
  recurrent.bidirectional = reader.boolean("bidirectional");
}

static RecurrentAttentionSpec readAttention(MapReader reader, const LocatedInteger &decoderWidth,
                                            Diagnostics &diagnostics) {
  RecurrentAttentionSpec attention;
  attention.where = reader.location();
  attention.score = reader.choice<AttentionScore>("score");
  attention.place = reader.choice<AttentionPlace>("place");
  attention.inputFeeding = reader.boolean("input_feeding");
  if (*attention.inputFeeding && *attention.place == AttentionPlace::Before)
    diagnostics.error(
        attention.inputFeeding.where,
        "'input_feeding' has no meaning for attention that is placed 'before' the cell, which reads "
        "the context anyway");
  if (attention.score.valid && *attention.score != AttentionScore::Additive)
    reader.refuse("width", "for scores other than 'additive'");
  attention.width = readWidth(reader, decoderWidth);
  return attention;
}

void readRecurrentDecoder(MapReader reader, ModelSpec &model, Diagnostics &diagnostics) {
  RecurrentSpec &recurrent = model.recurrent;
  refuseAll(reader, {"heads", "feed_forward_width", "window", "score", "cross_score"}, forRecurrent);
  model.decoder.where = reader.location();
  model.decoder.layers = reader.integer("layers");
  recurrent.decoderWidth = readWidth(reader, model.width);
  if (reader.find("attention"))
    recurrent.attention = readAttention(reader.mapping("attention"), recurrent.decoderWidth, diagnostics);
}

BridgeSpec readBridge(MapReader reader, const RecurrentSpec &recurrent) {
  if (recurrent.bidirectional.valid && !*recurrent.bidirectional)
    reader.refuse("direction", "for an encoder that is not bidirectional");
  BridgeSpec bridge{reader.location(), reader.choice<BridgeKind>("kind"),
                    reader.choice<BridgeDirection>("direction")};
  if (bridge.kind.valid && *bridge.kind == BridgeKind::Zeros)
    reader.refuse("direction", "for a bridge of kind 'zeros'");
  return bridge;
}

void readCell(MapReader &reader, ModelSpec &model, Diagnostics &diagnostics) {
  RecurrentSpec &recurrent = model.recurrent;
  recurrent.cell = reader.choice<Cell>("cell");
  if (!recurrent.cell.valid)
    recurrent.cell.value = Cell::Gru; // a misspelled cell is one: only what holds for all cells is reported
  if (!isRecurrent(model))
    return refuseAll(reader, {"reset", "bridge"}, withoutCell);
  if (*recurrent.cell != Cell::Gru)
    reader.refuse("reset", "for cells other than 'gru'");
  recurrent.reset = reader.choice<ResetPlace>("reset");
  refuseAll(reader, {"heads", "key_heads", "head_width", "feed_forward", "norm", "positions"}, forRecurrent);
  if (model.kind.valid && *model.kind != ModelKind::EncoderDecoder)
    diagnostics.error(model.kind.where, "a recurrent model must be an 'encoder_decoder'");
}

void readRecurrentBiases(MapReader &reader, ModelSpec &model) {
  if (!isRecurrent(model))
    return reader.refuse("cell", withoutCell);
  refuseAll(reader, {"feed_forward", "norm"}, forRecurrent);
  model.recurrent.biases = reader.choice<CellBiases>("cell");
}

void readRecurrentEmbedding(MapReader &reader, ModelSpec &model) {
  if (!isRecurrent(model))
    return reader.refuse("width", withoutCell);
  model.recurrent.embeddingWidth = readWidth(reader, model.width);
}

void readRecurrentOutput(MapReader &reader, ModelSpec &model) {
  if (!isRecurrent(model))
    return refuseAll(reader, {"context", "embedding"}, withoutCell);
  refuseAll(reader, {"transform", "scale"}, forRecurrent);
  if (!model.recurrent.attention)
    reader.refuse("context", "without 'attention'");
  model.recurrent.readsContext = reader.boolean("context");
  model.recurrent.readsEmbedding = reader.boolean("embedding");
}

void refuseRecurrentEncoder(MapReader &reader) { refuseAll(reader, {"width", "bidirectional"}, withoutCell); }
void refuseRecurrentDecoder(MapReader &reader) { refuseAll(reader, {"width", "attention"}, withoutCell); }

} // namespace attnc
