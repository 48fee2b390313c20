//===- Cell.h - a recurrent cell: matmuls and gates in one kernel ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// A cell's results have one width; a column of them needs the same column of each gate. So a tile of results
// sums the same columns of every gate and brings them together in registers: gates never reach memory.

#ifndef ATTNC_KERNELS_CELL_H
#define ATTNC_KERNELS_CELL_H

#include "compiler/kernels/Linear.h"

namespace attnc {

/// `width` outputs of a linear from `offset` on, as a linear of their own.
LinearInputs sliceLinear(const LinearInputs &inputs, int offset, int width);

/// Elements of all results at `at`, given what each gate's linear gives there.
using CellElements =
    std::function<std::vector<Halide::Expr>(const std::vector<Tensor> &gates, const Coordinates &at)>;

struct CellInputs {
  std::vector<LinearInputs> gates; // of the results' width
  Halide::Expr rows;
  int columns = 0;
  CellElements elements;
};

/// As LinearStages, with an accumulator for each gate of each class of row counts.
struct CellStages {
  Halide::Func result; // columns x rows; a tuple where there are several results
  Halide::Var column, row;
  Halide::Expr rows;
  int columns = 0;
  std::vector<std::vector<Accumulator>> accumulators; // of tiles[i], by gate
};

CellStages buildCell(const CellInputs &inputs, const std::vector<MatmulTile> &tiles, const std::string &name);

} // namespace attnc

#endif // ATTNC_KERNELS_CELL_H
