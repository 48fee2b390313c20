//===- RowNorm.h - layer norm and root-mean-square norm of rows -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Sums of a row are taken in lanes over the whole width and added pairwise: the order depends on the width
// alone.

#ifndef ATTNC_KERNELS_ROW_NORM_H
#define ATTNC_KERNELS_ROW_NORM_H

#include "compiler/kernels/Tensor.h"

#include <string>

namespace attnc {

/// `centred`: layer norm; otherwise root-mean-square norm. `lanes` divides `width`.
struct RowNormInputs {
  Tensor input;                                                  // width x outer...
  std::function<Halide::Expr(Halide::Expr column)> weight, bias; // bias may be empty
  float epsilon = 0;
  bool centred = true;
  int width = 0;
  int lanes = 1;
};

/// Per-row stages; each is indexed by the outer axes, partial sums by the lane before them.
struct RowNormStages {
  std::vector<Halide::Func> partials;  // lane x outer...
  std::vector<Halide::Func> rowValues; // outer...
  Halide::Var lane{"lane"};
  Tensor result;
};

RowNormStages buildRowNorm(const RowNormInputs &inputs, const std::string &name);

} // namespace attnc

#endif // ATTNC_KERNELS_ROW_NORM_H
