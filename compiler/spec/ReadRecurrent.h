//===- ReadRecurrent.h - cells, bridge and attention from YAML -------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ATTNC_SPEC_READRECURRENT_H
#define ATTNC_SPEC_READRECURRENT_H

#include "compiler/spec/MapReader.h"
#include "compiler/spec/ModelSpec.h"

namespace attnc {

/// Each reads its section's keys into `model.recurrent`, or for a Transformer refuses those that only
/// recurrent models have. The model's kind and width have been read; `readCell` comes first.
void readCell(MapReader &reader, ModelSpec &model, Diagnostics &diagnostics);
void readRecurrentBiases(MapReader &reader, ModelSpec &model);
void readRecurrentEmbedding(MapReader &reader, ModelSpec &model);
void readRecurrentOutput(MapReader &reader, ModelSpec &model);
void refuseRecurrentEncoder(MapReader &reader);
void refuseRecurrentDecoder(MapReader &reader);

/// Parts that only a recurrent model has.
void readRecurrentEncoder(MapReader reader, ModelSpec &model);
void readRecurrentDecoder(MapReader reader, ModelSpec &model, Diagnostics &diagnostics);
BridgeSpec readBridge(MapReader reader, const RecurrentSpec &recurrent);

} // namespace attnc

#endif // ATTNC_SPEC_READRECURRENT_H
