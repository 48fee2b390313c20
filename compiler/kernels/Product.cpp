//===- Product.cpp - products of two matrices that are both inputs ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Blocks are whole: rows and columns past the end repeat the last ones and are not written.

#include "compiler/kernels/Product.h"

using namespace Halide;

namespace attnc {

template <typename... Firsts> static Coordinates place(const std::vector<Var> &outer, Firsts... firsts) {
  Coordinates at = {Expr(firsts)...};
  at.insert(at.end(), outer.begin(), outer.end());
  return at;
}

/// A right side's element: its heads may be shared.
static Expr rightAt(const ProductInputs &in, const Expr &column, const Expr &term,
                    const std::vector<Var> &outer) {
  Coordinates at = in.isTransposed ? place(outer, term, column) : place(outer, column, term);
  if (in.group > 1)
    at[2] = at[2] / in.group;
  return in.rhs.at(at);
}

ProductStages buildProduct(const ProductInputs &in, const ProductTiles &tiles,
                           const std::function<Expr(const Tensor &product, const Coordinates &at)> &element,
                           const std::string &name) {
  ProductStages s{
      Func(name + "_packed"), Func(name + "_chunk"), Func(name + "_sums"), Func(name), {}, {}, {}, {}};
  for (size_t axis = 2; axis < in.lhs.extents.size(); ++axis)
    s.outer.push_back(Var("outer" + std::to_string(axis - 2)));
  const Expr rows = in.lhs.extents[1];
  const Expr terms = in.terms ? Expr(in.terms) : in.lhs.extents[0];
  const Expr columns = in.columns ? Expr(in.columns) : in.rhs.extents[in.isTransposed ? 1 : 0];

  const bool isWhole = in.terms > 0 && in.terms % tiles.terms == 0;
  const Expr firstTerm = s.chunkNumber * tiles.terms;
  Expr column = s.columnBlock * tiles.columns + s.column, term = firstTerm + s.term;
  if (in.columns == 0 || in.columns % tiles.columns)
    column = min(column, columns - 1);
  s.packed(place(s.outer, s.column, s.term, s.chunkNumber, s.columnBlock)) =
      rightAt(in, column, isWhole ? term : min(term, terms - 1), s.outer);

  s.inChunk = RDom(0, tiles.terms, "inChunk");
  if (!isWhole)
    s.inChunk.where(firstTerm + s.inChunk < terms);
  const Coordinates ofChunk = place(s.outer, s.column, s.row, s.chunkNumber, s.columnBlock, s.rowBlock);
  Expr left = in.lhs.at(place(s.outer, unsafe_promise_clamped(firstTerm + s.inChunk, 0, terms - 1),
                              min(s.rowBlock * tiles.rowsOfBlock + s.row, rows - 1)));
  Expr right = s.packed(place(s.outer, s.column, s.inChunk, s.chunkNumber, s.columnBlock));
  s.chunk(ofChunk) = 0.f;
  Expr sum = s.chunk(ofChunk) + left * right;
  s.chunk(ofChunk) = tiles.inOrder ? strict_float(sum) : sum;

  s.chunks = RDom(0, (terms + tiles.terms - 1) / tiles.terms, "chunks");
  const Coordinates ofBlock = place(s.outer, s.column, s.row, s.columnBlock, s.rowBlock);
  s.sums(ofBlock) = 0.f;
  s.sums(ofBlock) += s.chunk(place(s.outer, s.column, s.row, s.chunks, s.columnBlock, s.rowBlock));

  Tensor product = in.lhs;
  product.extents[0] = columns;
  s.extents = product.extents;
  product.at = [sums = s.sums, tiles](const Coordinates &at) -> Expr {
    Coordinates from = {at[0] % tiles.columns, at[1] % tiles.rowsOfBlock, at[0] / tiles.columns,
                        at[1] / tiles.rowsOfBlock};
    from.insert(from.end(), at.begin() + 2, at.end());
    return sums(from);
  };
  const Coordinates at = place(s.outer, s.column, s.row);
  s.result(at) = element(product, at);
  return s;
}

} // namespace attnc
