//===- TensorReference.h - a part of a tensor, or a sum ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What a name of a weight may say besides a tensor's: `a[1/3].weight` is the second of three equal parts of
// `a.weight` along one axis (projections that stand in one tensor), and `a + b[0]` adds row 0 of `b` to each
// row of `a`.

#ifndef ATTNC_SPEC_TENSORREFERENCE_H
#define ATTNC_SPEC_TENSORREFERENCE_H

#include "compiler/spec/WeightFiles.h"

#include <optional>

namespace attnc {

/// One summand.
struct TensorTerm {
  std::string tensor;
  int64_t index = 0; // of the part or row
  int64_t parts = 1; // 0: `index` counts rows
};

/// The summands of `name`; a tensor of the file that is called so is the only one.
std::vector<TensorTerm> readReference(const std::string &name, const WeightFiles &file);

/// The numbers of a term among those of its tensor.
struct TensorSlice {
  int64_t first, rows, columns, stride; // one row is that of each row
};

/// The slice that gives `shape`, or nothing where the tensor has another shape than it needs.
std::optional<TensorSlice> sliceOf(const TensorTerm &term, const Tensor &tensor,
                                   const std::vector<int64_t> &shape);

} // namespace attnc

#endif // ATTNC_SPEC_TENSORREFERENCE_H
