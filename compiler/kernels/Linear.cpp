//===- Linear.cpp - rows times a packed weight matrix -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The algorithm: which sums a tile holds and how a result element is read from them.

#include "compiler/kernels/Linear.h"

#include "compiler/kernels/Math.h"

using namespace Halide;

namespace attnc {

static std::vector<Var> outerVars(size_t rank) {
  std::vector<Var> vars;
  for (size_t axis = 2; axis < rank; ++axis)
    vars.push_back(Var("outer" + std::to_string(axis - 2)));
  return vars;
}

// Lane and panel of column `column` of tile `columnTile`, without a division of anything that varies inside a
// tile. Past the last panel it is read again.
static std::pair<Expr, Expr> placeInPanels(const MatmulTile &tile, Expr column, Expr columnTile, int panels) {
  if (tile.columns < PanelColumns) {
    int parts = PanelColumns / tile.columns;
    return {column + columnTile % parts * tile.columns, min(columnTile / parts, panels - 1)};
  }
  if (tile.columns == PanelColumns)
    return {column, min(columnTile, panels - 1)};
  Expr panel = columnTile * (tile.columns / PanelColumns) + column / PanelColumns;
  return {column % PanelColumns, min(panel, panels - 1)};
}

Expr initialSum(const LinearInputs &inputs) { return inputs.scales ? Expr(0) : Expr(0.f); }

Expr sumTerm(const LinearInputs &inputs, const Coordinates &at, const Expr &lane, const Expr &panel) {
  Expr weight = inputs.weight.at(lane, at[0], panel);
  if (inputs.scales) // rows of bytes are filled up
    return cast<int32_t>(inputs.input.at(at)) * cast<int32_t>(weight);
  Coordinates source = at;
  if (inputs.weight.depth() > inputs.weight.in)
    source[0] = min(at[0], inputs.weight.in - 1);
  return inputs.input.at(source) * weight;
}

/// Whether the compiler may choose how a step multiplies and adds. Where a few pairs of bfloat16 are the
/// whole sum, it would add those of one row in another order than those of many.
static bool addsFreely(const PanelMatrix &weight) { return weight.group != 2 || weight.in > FewTerms; }

LinearInputs withRoundedRows(LinearInputs inputs) {
  auto exact = inputs.input.at;
  inputs.input.at = [exact](const Coordinates &at) { return reinterpret<float>(bfloatBits(exact(at))); };
  return inputs;
}

/// Whether every sum of a byte by a weight of so many inputs is a whole number that a float holds. (Bytes are
/// at most 255, weights 127.)
static bool fitsFloat(int inputs) { return int64_t(255) * 127 * inputs < (1 << 24); }

// Exact either way: what the compiler fuses is not rounded in between.
Expr wholeSum(const LinearInputs &inputs, const Expr &sum, const Coordinates &at, int byteOffset) {
  if (!inputs.scales)
    return sum;
  Coordinates zero = at;
  zero[0] = 1;
  Expr zeroByte = inputs.scales->rows.at(zero) - float(byteOffset), weights = inputs.scales->sums(at[0]);
  if (fitsFloat(inputs.weight.in))
    return cast<float>(sum) - zeroByte * weights;
  return cast<float>(sum - cast<int32_t>(zeroByte) * cast<int32_t>(weights));
}

Expr resultOf(const LinearInputs &inputs, const Expr &whole, const Coordinates &at) {
  Expr result = whole;
  if (inputs.scales) {
    Coordinates scale = at;
    scale[0] = 0;
    result = strict_float(result * (inputs.scales->rows.at(scale) * inputs.scales->columns(at[0])));
  }
  return inputs.bias ? strict_float(result + inputs.bias(at[0])) : result;
}

static Accumulator buildExternal(const LinearInputs &inputs, MatmulTile tile, const std::string &name) {
  Accumulator result{tile, Func(name), Var("column"), Var("row"), Var(), Var(), RDom(), 1};
  constexpr int bytesOfStep = 64;
  int width = inputs.scales ? (inputs.weight.in + bytesOfStep - 1) / bytesOfStep : inputs.weight.in;
  std::vector<ExternFuncArgument> arguments = {inputs.external[0], inputs.external[1], Expr(width)};
  if (tile.staysWithRows())
    arguments.push_back(Expr(tile.columnsOfTask));
  result.sums.define_extern(tile.external, arguments, inputs.scales ? Int(32) : Float(32),
                            {result.column, result.row}, NameMangling::C);
  return result;
}

/// Inputs of a row that is widened as a whole: sixteen rows, which tiles share weights for, are 256 KiB on
/// the stack.
constexpr int MostWidened = 4096;

/// A stage that widens the rows of a tile before it multiplies: a broadcast reads a float at once, and takes
/// four instructions to make one of half a word.
static std::function<Expr(const Coordinates &)> widen(const LinearInputs &inputs, Accumulator &accumulator,
                                                      const std::vector<Var> &outer) {
  Var input("input"), row = accumulator.row, rowTile = accumulator.rowTile;
  std::vector<Var> places = {input, row, rowTile};
  Coordinates from = {min(input, inputs.weight.in - 1),
                      min(rowTile * accumulator.tile.rows + row, inputs.input.extents[1] - 1)};
  std::vector<Expr> at = {accumulator.k, row, rowTile};
  for (const Var &var : outer) {
    places.push_back(var);
    from.push_back(var);
    at.push_back(var);
  }
  Func widened(accumulator.sums.name() + "_widened");
  widened(places) = inputs.input.at(from);
  accumulator.widened = widened;
  return [widened, at](const Coordinates &) -> Expr { return widened(at); };
}

Accumulator buildAccumulator(const LinearInputs &inputs, MatmulTile tile, const std::string &name) {
  if (tile.isExternal())
    return buildExternal(inputs, tile, name);
  Accumulator result{tile,
                     Func(name),
                     Var("column"),
                     Var("row"),
                     Var("columnTile"),
                     Var("rowTile"),
                     RDom(0, inputs.weight.depth(), "k"),
                     inputs.scales ? inputs.weight.group : 1};
  Var columnTile = result.columnTile, rowTile = result.rowTile;
  std::vector<Var> at = {result.column, result.row, columnTile, rowTile};
  std::vector<Var> outer = outerVars(inputs.input.extents.size());
  at.insert(at.end(), outer.begin(), outer.end());

  auto [lane, panel] = placeInPanels(tile, result.column, columnTile, inputs.weight.panels());
  Coordinates source = {result.k, min(rowTile * tile.rows + result.row, inputs.input.extents[1] - 1)};
  source.insert(source.end(), outer.begin(), outer.end());
  result.sums(at) = initialSum(inputs);
  LinearInputs read = inputs;
  if (inputs.areRounded && tile.rows > 1 && inputs.weight.in <= MostWidened)
    read.input.at = widen(inputs, result, outer);
  Expr sum = result.sums(at) + sumTerm(read, source, lane, panel);
  result.sums(at) = tile.inOrder || !addsFreely(inputs.weight) ? strict_float(sum) : sum;
  return result;
}

/// The sum at plain coordinates, less what the rows' zero adds. A stage of its own, computed where it is
/// read: what follows is strict, and would make this so.
static Func wholeSums(const LinearInputs &inputs, const Accumulator &accumulator) {
  MatmulTile tile = accumulator.tile;
  Func sums = accumulator.sums, whole(sums.name() + "_whole");
  std::vector<Var> vars = {accumulator.column, accumulator.row};
  std::vector<Var> outer = outerVars(inputs.input.extents.size());
  vars.insert(vars.end(), outer.begin(), outer.end());
  Coordinates at(vars.begin(), vars.end()), source = at;
  if (!tile.isExternal()) {
    source = {at[0] % tile.columns, at[1] % tile.rows, at[0] / tile.columns, at[1] / tile.rows};
    source.insert(source.end(), at.begin() + 2, at.end());
  }
  whole(vars) = wholeSum(inputs, sums(source), at, tile.byteOffset);
  return whole;
}

Tensor linearResult(const LinearInputs &inputs, const Accumulator &accumulator) {
  Tensor result;
  result.extents = inputs.input.extents;
  result.extents[0] = inputs.weight.out;
  Func whole = wholeSums(inputs, accumulator);
  result.at = [=](const Coordinates &at) { return resultOf(inputs, whole(at), at); };
  return result;
}

Tensor inlineLinear(const LinearInputs &inputs) {
  Coordinates extents = inputs.input.extents;
  extents[0] = inputs.weight.out;
  return {extents, [inputs](const Coordinates &at) {
            RDom k(0, inputs.weight.depth());
            Coordinates from = at;
            from[0] = k;
            Expr sum = Halide::sum(k, sumTerm(inputs, from, at[0] % PanelColumns, at[0] / PanelColumns));
            return resultOf(inputs, wholeSum(inputs, sum, at), at);
          }};
}

Expr selectByRows(Expr rows, const std::vector<MatmulTile> &tiles, std::vector<Expr> alternatives) {
  Expr result = alternatives.back();
  for (size_t i = alternatives.size() - 1; i-- > 0;)
    result = select(rows <= tiles[i].serves, alternatives[i], result);
  return result;
}

LinearStages buildLinear(const LinearInputs &inputs, const std::vector<MatmulTile> &tiles,
                         const Epilogue &epilogue, const std::string &name) {
  LinearStages stages{Func(name),
                      Var("column"),
                      Var("row"),
                      outerVars(inputs.input.extents.size()),
                      inputs.input.extents[1],
                      inputs.weight.out,
                      {}};
  std::vector<Var> vars = {stages.column, stages.row};
  vars.insert(vars.end(), stages.outer.begin(), stages.outer.end());
  Coordinates at(vars.begin(), vars.end());
  std::vector<Expr> alternatives;
  for (MatmulTile tile : tiles) {
    stages.accumulators.push_back(
        buildAccumulator(inputs, tile, name + "_sums" + std::to_string(stages.accumulators.size())));
    alternatives.push_back(epilogue(linearResult(inputs, stages.accumulators.back()), at));
  }
  // Strict: classes must not differ in how the compiler associates bias, residual and sum.
  stages.result(vars) = strict_float(selectByRows(stages.rows, tiles, alternatives));
  return stages;
}

} // namespace attnc
