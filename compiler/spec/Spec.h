//===- Spec.h - a whole spec -----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What a YAML file says: one model or some graphs, and where the weights come from.

#ifndef ATTNC_SPEC_SPEC_H
#define ATTNC_SPEC_SPEC_H

#include "compiler/spec/GraphSpec.h"
#include "compiler/spec/ModelSpec.h"
#include "compiler/spec/TypesSpec.h"

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace attnc {

/// The kinds of weight a model has; each has a pattern for its names in the weight file.
enum class WeightRole {
  SharedEmbedding,
  SourceEmbedding,
  TargetEmbedding,
  Output,
  TokenTypes,
  EncoderPositions,
  DecoderPositions,
  EncoderEmbeddingNorm,
  DecoderEmbeddingNorm,
  EncoderSelfAttention,
  EncoderSelfAttentionNorm,
  EncoderFeedForward,
  EncoderFeedForwardNorm,
  EncoderFinalNorm,
  Pooler,
  MaskedTokenHead,
  MaskedTokenHeadNorm,
  DecoderSelfAttention,
  DecoderSelfAttentionNorm,
  DecoderCrossAttention,
  DecoderCrossAttentionNorm,
  DecoderFeedForward,
  DecoderFeedForwardNorm,
  DecoderFinalNorm,
  OutputTransform,
  OutputTransformNorm,
  EncoderCell,
  DecoderCell,
  Bridge,
  DecoderAttention
};
constexpr size_t weightRoleCount = size_t(WeightRole::DecoderAttention) + 1;

enum class WeightSourceKind { None, File, Random };

struct WeightSource {
  Location where;
  WeightSourceKind kind = WeightSourceKind::None;
  std::string file;                                        // resolved: openable from the working folder
  uint64_t seed = 0;                                       // of random weights
  Located<bool> transposed;                                // linear weights are in x out in the file
  Located<std::string> gates;                              // of cells, as letters; empty: PyTorch's order
  std::array<Located<std::string>, weightRoleCount> names; // patterns, by role
};

struct Spec {
  std::string file;          // as the caller named it
  Located<std::string> name; // empty: the bundle's folder gives it
  std::optional<ModelSpec> model;
  std::vector<GraphSpec> graphs;
  WeightSource weights;
  TypesSpec types;

  std::string folder; // given by the caller: the spec's files are looked for here first; may be empty

  /// `graph`, or what `model.kind` says.
  std::string kind() const;

  /// Where `folder` holds a file that the spec names, or nothing.
  std::optional<std::string> findInFolder(const std::string &path) const;

  /// The path of a file that the spec names, as seen from the working folder.
  std::string resolve(const std::string &path) const;
};

} // namespace attnc

#endif // ATTNC_SPEC_SPEC_H
