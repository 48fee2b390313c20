//===- GraphSpec.h - the `graph:` level of a spec --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One attention graph, op by op. Each key is explained in docs/yaml-reference.md.

#ifndef ATTNC_SPEC_GRAPHSPEC_H
#define ATTNC_SPEC_GRAPHSPEC_H

#include "compiler/spec/Located.h"
#include "compiler/spec/ModelSpec.h"
#include "compiler/spec/ScoreExpression.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace attnc {

enum class ElementKind { F32, I32 };

/// `batch` (a size: the extent comes with the call) or `width: 64`.
struct GraphAxis {
  Located<std::string> name;
  std::optional<int64_t> extent;
};

struct GraphInput {
  Located<std::string> name;
  Located<ElementKind> type;
  Location shapeWhere;
  std::vector<GraphAxis> shape;
};

/// `None`: no table of sinusoids.
enum class GraphSinusoid { None, Interleaved, Concatenated };

/// A vector or an out x in matrix: literal numbers, sinusoids, or a tensor of the weight file.
struct GraphWeight {
  Located<std::string> name;
  Location shapeWhere;
  std::vector<int64_t> shape; // as the graph sees it: out x in
  std::vector<float> value;   // literal, already out x in
  Located<GraphSinusoid> sinusoid;
  LocatedInteger base; // of sinusoids
  Located<std::string> tensor;
  Located<bool> transposed; // the tensor is in x out
};

enum class GraphOpKind {
  Linear,
  Matmul,
  Scale,
  Add,
  Mul,
  Activation,
  LayerNorm,
  RmsNorm,
  L2Norm,
  Rotary,
  SplitHeads,
  MergeHeads,
  Slice,
  AdditiveScores,
  ScoreMap,
  CausalMask,
  PaddingMask,
  WindowMask,
  PrefixMask,
  Softmax,
  MeanHeads,
  Embed,
  AddPositions,
  LogSoftmax,
  Pick,
  Take
};

enum class PointwiseKind { Relu, Gelu, GeluTanh, Silu, Tanh, Sigmoid };

struct GraphOp {
  Located<std::string> name;
  Located<GraphOpKind> kind;
  std::vector<Located<std::string>> operands;
  Located<bool> transposed;                           // matmul
  Located<double> by;                                 // scale
  Located<PointwiseKind> with;                        // activation
  Located<double> epsilon;                            // norms
  LocatedInteger heads;                               // split_heads
  LocatedInteger at;                                  // slice
  LocatedInteger width;                               // slice
  LocatedInteger offset;                              // add_positions
  Located<bool> interleaved;                          // rotary
  LocatedId before;                                   // window_mask; nothing: no limit
  LocatedId after;                                    // window_mask
  Located<std::string> score;                         // score_map
  Located<std::string> mask;                          // score_map
  std::optional<ScoreExpression> scoreTree, maskTree; // once checked; nothing where there is no text
};

/// How an input or output lies in memory: elements between neighbours along each axis but the last.
struct GraphStrides {
  Located<std::string> tensor;
  std::vector<GraphAxis> strides; // a number, or else the name of a size that comes with the call
};

struct GraphSpec {
  Located<std::string> name;
  std::vector<GraphInput> inputs;
  std::vector<GraphWeight> weights;
  std::vector<GraphOp> ops; // in an order in which each op follows its operands, once checked
  std::vector<Located<std::string>> outputs;
  std::vector<GraphStrides> strides;
};

} // namespace attnc

#endif // ATTNC_SPEC_GRAPHSPEC_H
