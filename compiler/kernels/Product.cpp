//===- Product.cpp - products of two matrices that are both inputs ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Blocks are whole: rows past the end repeat the last one and are not written, and the last block of columns
// ends where the columns do.

#include "compiler/kernels/Product.h"

using namespace Halide;

namespace attnc {

namespace {
/// Builds the stages one after the other; members are what several of them need.
class ProductBuilder {
public:
  ProductBuilder(const ProductInputs &inputs, const ProductTiles &tiles, const std::string &name)
      : in(inputs), tiles(tiles), rows(in.lhs.extents[1]),
        terms(in.terms ? Expr(in.terms) : in.lhs.extents[0]),
        columns(in.columns ? Expr(in.columns) : in.rhs.extents[in.isTransposed ? 1 : 0]),
        hasWholeChunks(in.terms > 0 && in.terms % tiles.terms == 0) {
    s.packed = Func(name + "_packed");
    s.chunk = Func(name + "_chunk");
    s.sums = Func(name + "_sums");
    s.result = Func(name);
    for (size_t axis = 2; axis < in.lhs.extents.size(); ++axis)
      s.outer.push_back(Var("outer" + std::to_string(axis - 2)));
    s.extents = in.lhs.extents;
    s.extents[0] = columns;
  }

  ProductStages build() {
    buildPacked();
    buildChunk();
    buildSums();
    s.hasFewRows = rows <= tiles.fewRows;
    const Coordinates at = place({s.column, s.row});
    s.result(at) = select(s.hasFewRows, in.element(readInPlace(), at), in.element(readTiles(), at));
    return s;
  }

private:
  Coordinates place(Coordinates first) const {
    first.insert(first.end(), s.outer.begin(), s.outer.end());
    return first;
  }

  static Coordinates placeIn(Coordinates first, const Coordinates &at) {
    first.insert(first.end(), at.begin() + 2, at.end());
    return first;
  }

  Expr chunkCount() const { return (terms + (tiles.terms - 1)) / tiles.terms; }
  Expr firstOf(const Expr &chunk) const { return chunk * tiles.terms; }

  /// The terms of a chunk, of which the last one may have less.
  RDom overChunk(const Expr &chunk) const {
    if (hasWholeChunks)
      return RDom(0, tiles.terms, "inChunk");
    RDom inChunk(0, min(terms, tiles.terms), "inChunk");
    inChunk.where(firstOf(chunk) + inChunk < terms);
    return inChunk;
  }

  /// A term that a loop over a chunk visits.
  Expr visited(const Expr &term) const { return unsafe_promise_clamped(term, 0, terms - 1); }

  Expr left(const Expr &term, const Expr &row, const Coordinates &at) const {
    return in.lhs.at(placeIn({term, row}, at));
  }
  Expr right(const Expr &column, const Expr &term, const Coordinates &at) const {
    Coordinates from = placeIn(in.isTransposed ? Coordinates{term, column} : Coordinates{column, term}, at);
    if (in.group > 1)
      from[2] = from[2] / in.group;
    return in.rhs.at(from);
  }

  Expr firstColumnOf(const Expr &block) const {
    Expr first = block * tiles.columns;
    const bool areWhole = in.columns > 0 && in.columns % tiles.columns == 0;
    return areWhole ? first : max(min(first, columns - tiles.columns), 0);
  }

  void buildPacked() {
    s.hasWholeBlock = columns >= tiles.columns;
    Expr column = firstColumnOf(s.columnBlock) + s.column, term = firstOf(s.chunkNumber) + s.term;
    if (in.columns < tiles.columns)
      column = select(s.hasWholeBlock, column, min(column, columns - 1));
    if (!hasWholeChunks)
      term = min(term, terms - 1);
    s.packed(place({s.column, s.term, s.chunkNumber, s.columnBlock})) = right(column, term, place({0, 0}));
  }

  Expr plus(const Expr &sum, const Expr &term) const {
    return tiles.inOrder ? strict_float(sum + term) : sum + term;
  }

  void buildChunk() {
    s.inChunk = overChunk(s.chunkNumber);
    const Coordinates at = place({s.column, s.row, s.chunkNumber, s.columnBlock, s.rowBlock});
    Expr row = min(s.rowBlock * tiles.rowsOfBlock + s.row, rows - 1);
    Expr held = left(visited(firstOf(s.chunkNumber) + s.inChunk), row, place({0, 0}));
    s.chunk(at) = 0.f;
    s.chunk(at) =
        plus(s.chunk(at), held * s.packed(place({s.column, s.inChunk, s.chunkNumber, s.columnBlock})));
  }

  void buildSums() {
    s.chunks = RDom(0, chunkCount(), "chunks");
    const Coordinates at = place({s.column, s.row, s.columnBlock, s.rowBlock});
    s.sums(at) = 0.f;
    s.sums(at) += s.chunk(place({s.column, s.row, s.chunks, s.columnBlock, s.rowBlock}));
  }

  /// The product, from tiles.
  Tensor readTiles() const {
    return {s.extents, [this](const Coordinates &at) -> Expr {
              Expr block = at[0] / tiles.columns;
              Expr inBlock = unsafe_promise_clamped(at[0] - firstColumnOf(block), 0, tiles.columns - 1);
              return s.sums(
                  placeIn({inBlock, at[1] % tiles.rowsOfBlock, block, at[1] / tiles.rowsOfBlock}, at));
            }};
  }

  /// The product, each element summed up where it is asked for, in the tiles' order.
  Tensor readInPlace() const {
    const Coordinates at = place({s.column, s.row});
    RDom inChunk = overChunk(s.chunkNumber), chunks(0, chunkCount(), "chunksInPlace");
    Expr term = visited(firstOf(s.chunkNumber) + inChunk);
    Func chunk(s.result.name() + "_inPlace");
    const Coordinates ofChunk = place({s.column, s.row, s.chunkNumber});
    chunk(ofChunk) = 0.f;
    chunk(ofChunk) = plus(chunk(ofChunk), left(term, s.row, at) * right(s.column, term, at));
    return {s.extents, [chunk, chunks](const Coordinates &at) {
              return sum(chunks, Expr(chunk(placeIn({at[0], at[1], chunks}, at))));
            }};
  }

  const ProductInputs &in;
  const ProductTiles &tiles;
  const Expr rows, terms, columns;
  const bool hasWholeChunks;
  ProductStages s;
};
} // namespace

ProductStages buildProduct(const ProductInputs &inputs, const ProductTiles &tiles, const std::string &name) {
  return ProductBuilder(inputs, tiles, name).build();
}

} // namespace attnc
