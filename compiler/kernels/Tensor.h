//===- Tensor.h - values inside a kernel as Halide expressions --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A value of a kernel's region is known by its elements: a function from coordinates to an expression.
// Pointwise operations and views compose such functions and so cost nothing until a stage asks for an
// element.

#ifndef ATTNC_KERNELS_TENSOR_H
#define ATTNC_KERNELS_TENSOR_H

#include "compiler/kernels/StageLimits.h"

#include <Halide.h>

#include <functional>
#include <vector>

namespace attnc {

/// One expression per axis, fastest axis first (the reverse of the order in the dialect).
using Coordinates = std::vector<Halide::Expr>;

struct Tensor {
  Coordinates extents;
  std::function<Halide::Expr(const Coordinates &)> at;

  bool defined() const { return static_cast<bool>(at); }
};

/// Columns of one weight panel (`#attn.panels<32>`).
constexpr int PanelColumns = 32;

/// A weight matrix `out x in`, read by panel: column `lane` of panel `panel` at input `k`, a float or, of a
/// quantised one, an integer.
struct PanelMatrix {
  int in = 0;
  int out = 0;
  std::function<Halide::Expr(Halide::Expr lane, Halide::Expr k, Halide::Expr panel)> at;
  int group = 1; // inputs of a column that lie side by side

  /// Inputs with those that fill up the last group, whose weights are zero.
  int depth() const { return (in + group - 1) / group * group; }
  int panels() const { return (out + PanelColumns - 1) / PanelColumns; }
};

/// Scores are set to this where a key is masked, and are masked where they are below half of it. It stands
/// for minus infinity, which the compiler may assume not to occur (fast-math).
constexpr float MaskedScore = ATTNC_MASKED_SCORE;

} // namespace attnc

#endif // ATTNC_KERNELS_TENSOR_H
