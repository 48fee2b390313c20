//===- CheckRecurrent.cpp - widths of a recurrent model --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What one part gives must be as wide as what the next one takes.

#include "compiler/spec/CheckSpec.h"
#include "compiler/spec/WeightNames.h"

#include <algorithm>

namespace attnc {

using std::to_string;

static void checkBridge(const ModelSpec &model, Diagnostics &diagnostics) {
  const RecurrentSpec &recurrent = model.recurrent;
  const BridgeSpec &bridge = recurrent.bridge;
  if (!bridge.kind.valid || *bridge.kind == BridgeKind::Zeros)
    return;
  if (model.encoder.layers.valid && model.decoder.layers.valid &&
      *model.encoder.layers != *model.decoder.layers) {
    diagnostics.error(bridge.where, "the bridge leads from each layer to its like, but there are " +
                                        to_string(*model.encoder.layers) + " and " +
                                        to_string(*model.decoder.layers) +
                                        " layers; a bridge of kind 'zeros' needs none");
    diagnostics.note(model.decoder.layers.where, "'layers' of the decoder is set here");
  }
  if (*bridge.kind != BridgeKind::Last || bridgeWidth(model) == *recurrent.decoderWidth)
    return;
  diagnostics.error(bridge.where, "the encoder's last states have width " + to_string(bridgeWidth(model)) +
                                      ", the decoder's " + to_string(*recurrent.decoderWidth) +
                                      "; a bridge of kind 'linear' or 'linear_tanh' goes between");
  diagnostics.note(recurrent.decoderWidth.where, "the decoder's width is set here");
}

static void checkAttention(const ModelSpec &model, Diagnostics &diagnostics) {
  const RecurrentSpec &recurrent = model.recurrent;
  if (!recurrent.attention) {
    if (recurrent.bridge.kind.valid && *recurrent.bridge.kind == BridgeKind::Zeros)
      diagnostics.error(recurrent.bridge.kind.where,
                        "without attention and with a bridge of kind 'zeros' nothing leads from the source "
                        "to the target");
    return;
  }
  const Located<AttentionScore> &score = recurrent.attention->score;
  bool isDirect = *score == AttentionScore::Dot || *score == AttentionScore::ScaledDot ||
                  *score == AttentionScore::Cosine;
  if (!score.valid || !isDirect || memoryWidth(model) == *recurrent.decoderWidth)
    return;
  diagnostics.error(score.where, "these scores multiply the decoder's states of width " +
                                     to_string(*recurrent.decoderWidth) + " with the encoder's of width " +
                                     to_string(memoryWidth(model)) + "; 'general' scores take any widths");
}

static void checkTiedOutput(const ModelSpec &model, Diagnostics &diagnostics) {
  if (!model.embedding.tied.valid || outputTable(model) == WeightRole::Output ||
      outputWidth(model) == *model.recurrent.embeddingWidth)
    return;
  diagnostics.error(model.embedding.tied.where,
                    "'tied' makes one table of target and output, but the embedding is " +
                        to_string(*model.recurrent.embeddingWidth) + " wide and the logits read " +
                        to_string(outputWidth(model)));
}

static void checkGates(const Spec &spec, Diagnostics &diagnostics) {
  const Located<std::string> &gates = spec.weights.gates;
  if (!gates.given || !gates.valid || !spec.model->recurrent.cell.valid)
    return;
  std::string expected = isRecurrent(*spec.model) ? gateLetters(*spec.model) : "";
  if (expected.empty())
    return diagnostics.error(gates.where, "'gates' has no meaning for a model without recurrent cells");
  if (!std::is_permutation(gates->begin(), gates->end(), expected.begin(), expected.end()))
    diagnostics.error(gates.where, "'gates' is '" + *gates + "'; it takes the letters of '" + expected +
                                       "' in another order");
}

void checkRecurrent(const Spec &spec, Diagnostics &diagnostics) {
  const ModelSpec &model = *spec.model;
  checkGates(spec, diagnostics);
  const RecurrentSpec &recurrent = model.recurrent;
  bool areWidthsKnown = recurrent.encoderWidth.valid && recurrent.decoderWidth.valid &&
                        recurrent.embeddingWidth.valid && recurrent.bidirectional.valid;
  if (!isRecurrent(model) || !areWidthsKnown)
    return;
  checkBridge(model, diagnostics);
  checkAttention(model, diagnostics);
  checkTiedOutput(model, diagnostics);
}

} // namespace attnc
