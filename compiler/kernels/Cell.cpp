//===- Cell.cpp - a recurrent cell: matmuls and gates in one kernel --------===//
// SPDX-License-Identifier: Apache-2.0
//
// The algorithm: sums of each gate, and what the cell makes of them.

#include "compiler/kernels/Cell.h"

using namespace Halide;

namespace attnc {

LinearInputs sliceLinear(const LinearInputs &inputs, int offset, int width) {
  LinearInputs slice = inputs;
  slice.external.clear();
  slice.weight.out = width;
  const PanelMatrix whole = inputs.weight;
  if (offset % PanelColumns == 0) {
    // A tile may reach past the gate into the next one's panels, but not past the last.
    slice.weight.at = [=](Expr lane, Expr k, Expr panel) {
      return whole.at(lane, k, min(panel + offset / PanelColumns, whole.panels() - 1));
    };
  } else {
    slice.weight.at = [=](Expr lane, Expr k, Expr panel) {
      Expr column = min(panel * PanelColumns + lane + offset, whole.out - 1);
      return whole.at(column % PanelColumns, k, column / PanelColumns);
    };
  }
  auto shifted = [offset](std::function<Expr(Expr)> vector) {
    return [=](Expr column) { return vector(column + offset); };
  };
  if (inputs.bias)
    slice.bias = shifted(inputs.bias);
  if (inputs.scales) {
    slice.scales->columns = shifted(inputs.scales->columns);
    slice.scales->sums = shifted(inputs.scales->sums);
  }
  return slice;
}

CellStages buildCell(const CellInputs &inputs, const std::vector<MatmulTile> &tiles,
                     const std::string &name) {
  CellStages stages{Func(name), Var("column"), Var("row"), inputs.rows, inputs.columns, {}};
  const Coordinates at = {stages.column, stages.row};
  std::vector<std::vector<Expr>> alternatives; // of each result, by tile
  for (MatmulTile tile : tiles) {
    std::vector<Accumulator> accumulators;
    std::vector<Tensor> gates;
    for (const LinearInputs &gate : inputs.gates) {
      accumulators.push_back(buildAccumulator(gate, tile,
                                              name + "_sums" + std::to_string(stages.accumulators.size()) +
                                                  "_" + std::to_string(accumulators.size())));
      gates.push_back(linearResult(gate, accumulators.back()));
    }
    std::vector<Expr> elements = inputs.elements(gates, at);
    alternatives.resize(elements.size());
    for (size_t i = 0; i < elements.size(); ++i)
      alternatives[i].push_back(elements[i]);
    stages.accumulators.push_back(std::move(accumulators));
  }
  std::vector<Expr> results;
  for (const std::vector<Expr> &byTile : alternatives)
    results.push_back(strict_float(selectByRows(inputs.rows, tiles, byTile)));
  if (results.size() == 1)
    stages.result(stages.column, stages.row) = results[0];
  else
    stages.result(stages.column, stages.row) = Tuple(results);
  return stages;
}

} // namespace attnc
