//===- Linear.cpp - rows times a packed weight matrix -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The algorithm: which sums a tile holds and how a result element is read from them.

#include "compiler/kernels/Linear.h"

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

Accumulator buildAccumulator(const LinearInputs &inputs, MatmulTile tile, const std::string &name) {
  Accumulator result{tile,
                     Func(name),
                     Var("column"),
                     Var("row"),
                     Var("columnTile"),
                     Var("rowTile"),
                     RDom(0, inputs.weight.in, "k")};
  Var columnTile = result.columnTile, rowTile = result.rowTile;
  std::vector<Var> at = {result.column, result.row, columnTile, rowTile};
  std::vector<Var> outer = outerVars(inputs.input.extents.size());
  at.insert(at.end(), outer.begin(), outer.end());

  auto [lane, panel] = placeInPanels(tile, result.column, columnTile, inputs.weight.panels());
  Coordinates source = {result.k, min(rowTile * tile.rows + result.row, inputs.input.extents[1] - 1)};
  source.insert(source.end(), outer.begin(), outer.end());
  result.sums(at) = 0.f;
  result.sums(at) += inputs.input.at(source) * inputs.weight.at(lane, result.k, panel);
  return result;
}

Tensor linearResult(const LinearInputs &inputs, const Accumulator &accumulator) {
  Tensor result;
  result.extents = inputs.input.extents;
  result.extents[0] = inputs.weight.out;
  MatmulTile tile = accumulator.tile;
  Func sums = accumulator.sums;
  auto bias = inputs.bias;
  result.at = [=](const Coordinates &at) {
    Coordinates source = {at[0] % tile.columns, at[1] % tile.rows, at[0] / tile.columns, at[1] / tile.rows};
    source.insert(source.end(), at.begin() + 2, at.end());
    Expr sum = sums(source);
    return bias ? strict_float(sum + bias(at[0])) : sum;
  };
  return result;
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
    stages.accumulators.push_back(buildAccumulator(inputs, tile, name + "_sums" + std::to_string(tile.serves)));
    alternatives.push_back(epilogue(linearResult(inputs, stages.accumulators.back()), at));
  }
  // Strict: classes must not differ in how the compiler associates bias, residual and sum.
  stages.result(vars) = strict_float(selectByRows(stages.rows, tiles, alternatives));
  return stages;
}

} // namespace attnc
