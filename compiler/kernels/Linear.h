//===- Linear.h - rows times a packed weight matrix -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One accumulator per class of row counts, so that one row and hundreds each get a tile of their own. An
// element is summed over the input in order, columns in the lanes: it has the same bits in every class.

#ifndef ATTNC_KERNELS_LINEAR_H
#define ATTNC_KERNELS_LINEAR_H

#include "compiler/kernels/Tensor.h"

#include <optional>
#include <string>

namespace attnc {

/// A sum of so few terms may be unrolled wholly, and added in another order in one tile than in the next.
constexpr int FewTerms = 16;

/// Which weights a tile asks for while it multiplies; whole panels.
enum class Prefetch {
  None,
  NextColumns, // those of the next tile of columns, for the second cache
  Ahead,       // its own of a few iterations later, for the first cache; tiles of one panel
  AheadSecond  // the same for the second cache
};

/// The accumulators of one tile: `rows` x `columns` sums. `columns` divides 32 or is a multiple of it.
struct MatmulTile {
  int rows;
  int columns;
  int serves = rows; // inputs of up to so many rows; the last tile of a list serves any number
  int steps = 0;     // over the input at a time, where row tiles share weights; 0: they do not
  Prefetch prefetch = Prefetch::None;
  bool inOrder = false; // sums are strict; without instructions that multiply and add that costs nothing
  const char *external = nullptr; // the function that sums up (emit/shim); `columns` is a multiple of 32 then
  int byteOffset = 0;             // which that function takes from each byte of a row
  /// Of an external tile: columns of a task, all of which its rows meet before the next rows come; 0: columns
  /// meet all rows of a task before the next ones come.
  int columnsOfTask = 0;

  bool staysWithRows() const { return columnsOfTask > 0; }

  bool isShared() const { return steps > 0; }
  bool isExternal() const { return external; }
  bool operator==(const MatmulTile &) const = default;
};

/// Panels of weights that are read side by side where several row tiles share them.
constexpr int PanelsAtOnce = 4;

/// A matmul as tiles see it: sums(column, row, columnTile, rowTile, outer...), column < tile.columns, row <
/// tile.rows.
/// Of an external tile: sums(column, row).
struct Accumulator {
  MatmulTile tile;
  Halide::Func sums;
  Halide::Var column, row, columnTile, rowTile;
  Halide::RDom k;
  int group;                 // steps of k that one instruction takes together
  Halide::Func widened = {}; // rows of the tile, inputs x rows ..., where memory holds bfloat16
};

/// What makes numbers of a quantised linear's sums (see `attn.linear`).
struct SumScales {
  Tensor rows; // 2 x rows x outer...: a row's scale, and the byte that stands for 0
  std::function<Halide::Expr(Halide::Expr column)> columns;
  std::function<Halide::Expr(Halide::Expr column)> sums; // of each column's weights: whole numbers
};

/// input: in x rows x outer...; only `rows` and the outer axes may be dynamic.
struct LinearInputs {
  Tensor input;
  PanelMatrix weight;
  std::function<Halide::Expr(Halide::Expr column)> bias; // empty: none
  std::optional<SumScales> scales;                       // of a quantised linear: bytes meet integers
  bool areRounded = false;                               // rows of bfloat16
  std::vector<Halide::ImageParam> external; // rows and panels as an external tile reads them; empty: none can
};

/// What a sum over inputs begins with, and the term that input `at[0]` of the row `at` adds to it.
Halide::Expr initialSum(const LinearInputs &inputs);
Halide::Expr sumTerm(const LinearInputs &inputs, const Coordinates &at, const Halide::Expr &lane,
                     const Halide::Expr &panel);

/// The same linear with its rows rounded to bfloat16, as external tiles of a bf16 matrix round them.
LinearInputs withRoundedRows(LinearInputs inputs);

/// The sum at `at`, of bytes less `byteOffset`, less what the row's zero adds to it.
Halide::Expr wholeSum(const LinearInputs &inputs, const Halide::Expr &sum, const Coordinates &at,
                      int byteOffset = 0);

/// The linear's result at `at`, given the whole sum there.
Halide::Expr resultOf(const LinearInputs &inputs, const Halide::Expr &whole, const Coordinates &at);

/// The linear, summed up input by input wherever an element is asked for.
Tensor inlineLinear(const LinearInputs &inputs);

/// What is applied to the linear's result: the element at `at` of a value computed from `linear`.
using Epilogue = std::function<Halide::Expr(const Tensor &linear, const Coordinates &at)>;

struct LinearStages {
  Halide::Func result; // columns x rows x outer...
  Halide::Var column, row;
  std::vector<Halide::Var> outer;
  Halide::Expr rows;
  int columns = 0;
  std::vector<Accumulator> accumulators; // of tiles[i]
};

/// Builds sums over tiles of `tile`; rows past the end repeat the last one, so every tile is whole.
Accumulator buildAccumulator(const LinearInputs &inputs, MatmulTile tile, const std::string &name);

/// The linear's result (bias added) at plain coordinates, read from `accumulator`.
Tensor linearResult(const LinearInputs &inputs, const Accumulator &accumulator);

/// Chooses among alternatives by the number of rows: alternative `i` is that of `tiles[i]`.
Halide::Expr selectByRows(Halide::Expr rows, const std::vector<MatmulTile> &tiles,
                          std::vector<Halide::Expr> alternatives);

/// `tiles` in the order of the row counts they serve (see selectByRows).
LinearStages buildLinear(const LinearInputs &inputs, const std::vector<MatmulTile> &tiles,
                         const Epilogue &epilogue, const std::string &name);

} // namespace attnc

#endif // ATTNC_KERNELS_LINEAR_H
