//===- PackWeights.h - weights in the kernels' layout ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Joins, transposes and packs tensors as their recipes say, and writes weights.safetensors: every weight
// under its symbol, in the order of the offsets, the data part aligned to 64 bytes in the file.

#ifndef ATTNC_COMPILER_EMIT_PACKWEIGHTS_H
#define ATTNC_COMPILER_EMIT_PACKWEIGHTS_H

#include "compiler/emit/StoredWeights.h"
#include "compiler/emit/WeightSource.h"

namespace attnc {

/// Gives a constant weight's stored bytes, padding and all.
using ConstantReader = std::function<llvm::Expected<std::vector<char>>(const WeightRecipe &recipe)>;

struct WeightHashes {
  std::string file;
  std::vector<std::string> tensors; // in the order of the recipes
};

struct PackedWeights {
  WeightHashes hashes;
  std::vector<WeightError> errors; // of the tensors that were rounded
};

/// Writes the file `path`.
llvm::Expected<PackedWeights> packWeights(const std::vector<WeightRecipe> &recipes,
                                          const TensorReader &tensors, const ConstantReader &constants,
                                          const std::string &path);

} // namespace attnc

#endif // ATTNC_COMPILER_EMIT_PACKWEIGHTS_H
