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

/// Lays `values` (out x in) out as `recipe` stores them, padding and all.
std::vector<char> storeValues(const WeightRecipe &recipe, const std::vector<float> &values);

/// The errors of the tensors that make up `values` (out x in), one of each.
std::vector<WeightError> findErrors(const WeightRecipe &recipe, const std::vector<float> &values);

} // namespace attnc

#endif // ATTNC_COMPILER_EMIT_STOREDWEIGHTS_H
