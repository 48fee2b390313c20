//===- QuantisedRows.h - rows of bytes and their scales ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What `attn.quantise` computes: 255 steps from a row's smallest to its largest element.

#ifndef ATTNC_KERNELS_QUANTISED_ROWS_H
#define ATTNC_KERNELS_QUANTISED_ROWS_H

#include "compiler/kernels/Tensor.h"

namespace attnc {

struct QuantisedRowsStages {
  Halide::Func extremes;          // lane x row: the smallest and largest of each `together`th element and 0
  Halide::Func folded;            // lane x row: of each `lanes`th element, the smallest negated
  Halide::Func scales;            // 2 x row: the scale, and the byte that stands for 0
  Halide::Func bytes;             // stored x row
  Halide::Var lane{"lane"}, column{"column"}, row{"row"};
  int lanes = 1, together = 1;
  int stored = 0;
};

/// input: width x rows; `lanes` divides `width`; rows of bytes are filled up to `stored`.
QuantisedRowsStages buildQuantisedRows(const Tensor &input, int width, int stored, int lanes);

} // namespace attnc

#endif // ATTNC_KERNELS_QUANTISED_ROWS_H
