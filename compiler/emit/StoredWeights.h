//===- StoredWeights.h - a weight's numbers as bytes in its type -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Rounds matrices to bfloat16 or to 8-bit integers with a scale for each output, lays them out, and tells
// what was lost.

#ifndef ATTNC_COMPILER_EMIT_STOREDWEIGHTS_H
#define ATTNC_COMPILER_EMIT_STOREDWEIGHTS_H

#include "compiler/emit/WeightRecipe.h"

namespace attnc {

/// What rounding lost of one tensor of the source. Errors are relative: the root of the sum of squares of the
/// differences divided by that of the tensor, or of the output.
struct WeightError {
  std::string tensor, type;
  double error = 0;
  int64_t worstOutput = 0;
  double worstError = 0;
};

/// Of each output of an int8 matrix: what 1 stands for in its integers, and their sum. Other matrices have
/// none.
struct OutputScales {
  std::vector<float> scales, sums;
};

/// The scales that lose least of `values` (out x in), by the sum of squares; none where the type is not int8.
OutputScales findScales(const WeightRecipe &recipe, const std::vector<float> &values);

/// Lays `values` (out x in) out as `recipe` stores them, padding and all. `scales`: see findScales().
std::vector<char> storeValues(const WeightRecipe &recipe, const std::vector<float> &values,
                              const OutputScales &scales);

/// Lays out a matrix's scales, and the sums of its integers; zeros where it has none.
std::vector<char> storeScales(const WeightRecipe &recipe, const OutputScales &scales);

/// The errors of the tensors that make up `values` (out x in), one of each.
std::vector<WeightError> findErrors(const WeightRecipe &recipe, const std::vector<float> &values,
                                    const OutputScales &scales);

} // namespace attnc

#endif // ATTNC_COMPILER_EMIT_STOREDWEIGHTS_H
