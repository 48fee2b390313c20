//===- Region.h - a kernel's region as Halide sees it -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Turns an `attn.kernel` into Halide arguments and tensors. Pointwise operations, masks, views and
// indirections become expressions; what an archetype computes in stages of its own is bound before it is
// asked for.

#ifndef ATTNC_KERNELS_REGION_H
#define ATTNC_KERNELS_REGION_H

#include "compiler/kernels/Attention.h"
#include "compiler/kernels/Linear.h"
#include "compiler/kernels/Tensor.h"
#include "dialect/IR/Attn.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

#include <optional>
#include <string>

namespace attnc {

class ScalarBuilder;

/// Keys from `first` on and before `end`; an expression that is not defined sets no limit.
struct KeyRange {
  Halide::Expr first, end;
};

/// A reduction of rows.
struct RowReduction {
  Halide::Expr start; // what changes nothing
  std::function<Halide::Expr(const Halide::Expr &soFar, const Halide::Expr &element)> step;
  std::function<Halide::Expr(const std::function<Halide::Expr(int part)> &, int parts)> join;
  bool isOfSums; // elements are sums themselves, computed where they are asked for
};

class Region {
public:
  explicit Region(attn::KernelOp kernel);

  /// The elements of `value`. Operations with sums of their own are computed inline, once per element, unless
  /// bound.
  Tensor tensor(mlir::Value value);

  /// From now on `value` is read from `tensor`. An empty tensor removes the binding.
  void bind(mlir::Value value, Tensor tensor);

  /// The panels of a weight that is a kernel's input; a dense weight is read as if it were packed.
  PanelMatrix panels(mlir::Value weight);

  /// The inputs of a linear, its weight as panels.
  LinearInputs linear(attn::LinearOp op);

  /// The arguments that `values` are, for stages that read memory themselves; none where one is computed.
  std::vector<Halide::ImageParam> memory(mlir::ValueRange values);

  /// Keys, values and slots (see AttentionInputs) where a step reads the first two from memory by the third;
  /// none where it does not.
  std::vector<Halide::ImageParam> cachedMemory(mlir::Value key, mlir::Value value);

  /// An element of a vector that is a kernel's input.
  std::function<Halide::Expr(Halide::Expr)> vector(mlir::Value value);

  /// Tells Halide the extents of a result (or scratch) of this type. Elements of a tuple share them.
  void constrain(Halide::Func result, mlir::RankedTensorType type);

  /// The term of additive scores, whose weight is a kernel's input.
  ScoreTerm additiveTerm(attn::AdditiveScoresOp op);

  /// Bounds of the keys that a mask shows to some query of `firstQuery .. lastQuery`.
  KeyRange visibleKeys(mlir::Operation *mask, const Halide::Expr &firstQuery, const Halide::Expr &lastQuery,
                       const Halide::Expr &batch);

  /// Whether a score may be seen, from what is known before the scores are: conditions and masks from outside
  /// that `scores` went through. Not defined: there are none. Bounds of keys are no part of it.
  Halide::Expr mayBeSeen(mlir::Value scores, const Coordinates &at);

  mlir::ValueRange results();
  std::vector<Halide::Argument> arguments() const;

  /// Row values (maxima and sums of softmax) that inline operations need; the schedule computes them per row.
  std::vector<Halide::Func> rowStages;

  /// What row values are made of: parts of a row's reduction, side by side along the first axis.
  std::vector<Halide::Func> laneStages;

private:
  Tensor build(mlir::Value value);
  Tensor buildView(mlir::Operation *op);
  Tensor buildPointwise(mlir::Operation *op);
  Tensor buildIndirection(mlir::Operation *op);
  Tensor buildReduction(mlir::Operation *op);
  Tensor buildL2Norm(attn::L2NormOp norm);
  Tensor buildRotary(attn::RotaryOp rotary);
  Tensor buildMask(mlir::Operation *mask);
  Tensor buildScoreMap(attn::ScoreMapOp map);
  ScalarBuilder buildScalars(attn::ScoreMapOp map, const Halide::Expr &score, const Coordinates &at);
  Halide::Expr isVisible(mlir::Operation *mask, const Halide::Expr &key, const Halide::Expr &query,
                         const Halide::Expr &batch);
  struct Exponentials {
    Halide::Func maximum, sum; // of each row: the largest, and the sum of exponentials less that
  };
  Halide::Func reduceRow(const Tensor &in, const char *name, const RowReduction &reduction);
  Exponentials buildExponentials(const Tensor &in, bool isMasked, bool isOfSums);
  Tensor buildSoftmax(attn::SoftmaxOp softmax);
  Tensor buildLogSum(const Tensor &logits);
  Tensor buildLogSoftmax(const Tensor &logits);
  void declarePanels(mlir::RankedTensorType type, const std::string &name);
  Tensor inputTensor(mlir::BlockArgument argument);
  Coordinates extentsOf(mlir::RankedTensorType type);
  void declare(mlir::BlockArgument argument);

  attn::KernelOp kernelOp;
  std::vector<Halide::ImageParam> inputs;
  llvm::DenseMap<mlir::Value, Tensor> bound;
  llvm::StringMap<Halide::Expr> sizes;
};

/// The elements of `value` as memory holds them: bits of those of bf16.
Halide::Expr storable(mlir::Value value, const Halide::Expr &element);

/// The elements of `value` from those that memory holds. All of a region's floats are of 32 bits.
Tensor loaded(mlir::Value value, const Tensor &held);

/// Heads on the left that read one head on the right; 1 where there is no head axis.
int headsPerGroup(mlir::Value queries, mlir::Value keys);

/// Whether some elements may be MaskedScore.
bool mayBeMasked(mlir::Value value);

/// The activation of one value.
Halide::Expr applyActivation(attn::ActivationKind kind, Halide::Expr x);

} // namespace attnc

#endif // ATTNC_KERNELS_REGION_H
