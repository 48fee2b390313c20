//===- Product.h - products of two matrices that are both inputs ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Queries times keys, weights times values, where no kernel of attention has them: both sides have rows that
// depend on a request, so none is packed when compiling. A block of the right side is packed on the stack,
// for all rows of a block of the left side; a few rows read it as it lies.

#ifndef ATTNC_KERNELS_PRODUCT_H
#define ATTNC_KERNELS_PRODUCT_H

#include "compiler/kernels/Tensor.h"

#include <string>

namespace attnc {

/// lhs: terms x rows x outer...; rhs: columns x terms x outer..., or terms x columns x outer... (transposed).
struct ProductInputs {
  Tensor lhs, rhs;
  bool isTransposed = false;
  int group = 1;   // heads on the left that share one on the right
  int terms = 0;   // of a sum; 0: not known when compiling
  int columns = 0; // likewise
  /// The result's element at `at`, given the product.
  std::function<Halide::Expr(const Tensor &product, const Coordinates &at)> element;
};

struct ProductTiles {
  int columns;     // of a block: those of a tile of sums in registers
  int rows;        // of a tile; divides `rowsOfBlock`
  int rowsOfBlock; // that meet one packed block
  int terms;       // a chunk: as many are packed, and summed up, at once
  int lanes;       // of columns; divides `columns`
  int turnedLanes; // of terms, where the right side is transposed and has whole vectors of them; else 0
  int fewRows;     // so many are not worth packing for
  bool inOrder;    // sums are strict, where no instruction multiplies and adds
};

/// A sum is that of its chunks' sums, each added up in order: it has the same bits wherever its row lies, and
/// however many there are.
struct ProductStages {
  Halide::Func packed; // column x term x chunk x column block x outer...
  Halide::Func chunk;  // column x row x chunk x column block x row block x outer...: the sum of a chunk
  Halide::Func sums;   // column x row x column block x row block x outer...
  Halide::Func result; // columns x rows x outer...
  std::vector<Halide::Var> outer;
  Coordinates extents;        // of the result
  Halide::Expr hasWholeBlock; // of columns
  Halide::Expr hasFewRows;    // nothing is packed
  Halide::RDom inChunk, chunks;
  Halide::Var column{"column"}, row{"row"}, term{"term"}, chunkNumber{"chunkNumber"},
      columnBlock{"columnBlock"}, rowBlock{"rowBlock"};
};

ProductStages buildProduct(const ProductInputs &inputs, const ProductTiles &tiles, const std::string &name);

} // namespace attnc

#endif // ATTNC_KERNELS_PRODUCT_H
