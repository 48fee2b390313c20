//===- RecurrentSpec.h - what a recurrent model has of its own -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Cells, the bridge from encoder to decoder and the decoder's attention, as the YAML gives them, with
// defaults filled in.

#ifndef ATTNC_SPEC_RECURRENTSPEC_H
#define ATTNC_SPEC_RECURRENTSPEC_H

#include "compiler/spec/Located.h"

#include <cstdint>
#include <optional>

namespace attnc {

enum class Cell { None, Gru, Lstm }; // `None`: the model is a Transformer
enum class ResetPlace { After, Before };
enum class CellBiases { Both, Input, None };
enum class BridgeKind { Last, Linear, LinearTanh, Zeros };
enum class BridgeDirection { Both, Forward, Backward };
enum class AttentionScore { Dot, ScaledDot, General, Additive, Cosine };
enum class AttentionPlace { After, Before };

struct BridgeSpec {
  Location where;
  Located<BridgeKind> kind;
  Located<BridgeDirection> direction; // of a bidirectional encoder: whose last states cross
};

struct RecurrentAttentionSpec {
  Location where;
  Located<AttentionScore> score;
  Located<AttentionPlace> place; // whether a position's own state asks, or the one before
  Located<bool> inputFeeding;    // the next position's cell reads what attention made
  Located<int64_t> width;        // that additive scores are computed in
};

struct RecurrentSpec {
  Located<Cell> cell;
  Located<ResetPlace> reset; // of a GRU: after the state's matmul, or before
  Located<CellBiases> biases;
  Located<int64_t> encoderWidth; // of the states of each direction
  Located<bool> bidirectional;
  Located<int64_t> decoderWidth;
  Located<int64_t> embeddingWidth;
  BridgeSpec bridge;
  std::optional<RecurrentAttentionSpec> attention;
  Located<bool> readsContext; // the logits, besides the decoder's rows
  Located<bool> readsEmbedding;
};

} // namespace attnc

#endif // ATTNC_SPEC_RECURRENTSPEC_H
