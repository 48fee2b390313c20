//===- RowNorm.cpp - layer norm and root-mean-square norm of rows -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Two passes for layer norm (mean, then the variance around it): one pass of squares would cancel.

#include "compiler/kernels/RowNorm.h"

#include "compiler/kernels/Math.h"

using namespace Halide;

namespace attnc {

static Coordinates prepend(Expr first, const std::vector<Var> &rest) {
  Coordinates at = {std::move(first)};
  at.insert(at.end(), rest.begin(), rest.end());
  return at;
}

// Adds a Func over `rows` with the mean of `term` (a function of the column) over the width.
static Func addMean(RowNormStages &stages, const RowNormInputs &inputs, const std::vector<Var> &rows,
                    const std::function<Expr(Expr)> &term, const std::string &name) {
  Func partial(name + "_lanes"), mean(name);
  RDom block(0, inputs.width / inputs.lanes, "block");
  Coordinates at = prepend(stages.lane, rows);
  partial(at) = 0.f;
  partial(at) += term(block * inputs.lanes + stages.lane);
  Expr total = sumPairwise([&](int lane) -> Expr { return partial(prepend(lane, rows)); }, inputs.lanes);
  mean(rows) = total * (1.f / float(inputs.width));
  stages.partials.push_back(partial);
  stages.rowValues.push_back(mean);
  return mean;
}

RowNormStages buildRowNorm(const RowNormInputs &inputs, const std::string &name) {
  RowNormStages stages;
  std::vector<Var> rows;
  for (size_t axis = 1; axis < inputs.input.extents.size(); ++axis)
    rows.push_back(Var("outer" + std::to_string(axis)));
  Coordinates rowAt(rows.begin(), rows.end());

  Func mean;
  if (inputs.centred)
    mean = addMean(
        stages, inputs, rows, [&](Expr column) { return inputs.input.at(prepend(column, rows)); },
        name + "_mean");
  auto square = [&](Expr column) {
    Expr value = inputs.input.at(prepend(column, rows));
    Expr centred = inputs.centred ? value - mean(rowAt) : value;
    return centred * centred;
  };
  Func variance = addMean(stages, inputs, rows, square, name + "_variance");
  Func inverse(name + "_inverse");
  inverse(rows) = strict_float(1.f / sqrt(variance(rowAt) + inputs.epsilon));
  stages.rowValues.push_back(inverse);

  stages.result.extents = inputs.input.extents;
  stages.result.at = [=](const Coordinates &at) {
    Coordinates row(at.begin() + 1, at.end());
    Expr value = inputs.input.at(at);
    Expr centred = inputs.centred ? value - mean(row) : value;
    Expr scaled = centred * inverse(row) * inputs.weight(at[0]);
    return inputs.bias ? scaled + inputs.bias(at[0]) : scaled;
  };
  return stages;
}

} // namespace attnc
