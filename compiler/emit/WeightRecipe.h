//===- WeightRecipe.h - how each weight of a bundle comes about ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One record per weight, read from the planned module when compiling and from the manifest when packing anew.

#ifndef ATTNC_COMPILER_EMIT_WEIGHTRECIPE_H
#define ATTNC_COMPILER_EMIT_WEIGHTRECIPE_H

#include "llvm/Support/Error.h"
#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace mlir {
class ModuleOp;
}

namespace attnc {

struct WeightRecipe {
  std::string name;
  std::vector<int64_t> shape; // out x in, or one axis
  int64_t offset = 0;         // bytes from the start of the data part
  int64_t bytes = 0;          // with the padding to a multiple of 64
  int64_t panels = 0;         // columns of a panel; 0: dense
  std::string type = "f32";   // of its elements: f32, bf16 or int8
  int64_t scaledInputs = 0;   // of what holds the scales of an int8 matrix: the matrix's inputs
  // Names in the source of weights, joined along the out axis; "" stands for zeros. None: the weight is a
  // constant.
  std::vector<std::string> tensors;
  std::vector<int64_t> rows; // out extents of `tensors`
  bool transposed = false;   // the source holds in x out
  bool isNormScale = false;  // a norm multiplies with it: random ones lie near one

  int64_t out() const { return shape[0]; }
  int64_t in() const { return shape.size() == 2 ? shape[1] : 1; }
  int64_t elementBytes() const { return type == "int8" ? 1 : type == "bf16" ? 2 : 4; }
  /// Inputs of a column that lie side by side in a panel, and the inputs of a column with its padding.
  int64_t group() const { return 4 / elementBytes(); }
  int64_t depth() const;
  bool holdsScales() const { return scaledInputs != 0; }
  bool holdsScalesOf(const WeightRecipe &matrix) const;
};

/// The weights of `planned` in the order of their offsets, scales behind their matrices; those made of the
/// tensors `normScales` are marked. Fails where they leave holes or overlap.
llvm::Expected<std::vector<WeightRecipe>> readWeightRecipes(mlir::ModuleOp planned,
                                                            const std::set<std::string> &normScales = {});

/// The same from `weights.tensors` of a manifest.
llvm::Expected<std::vector<WeightRecipe>> readWeightRecipes(const nlohmann::json &tensors);

} // namespace attnc

#endif // ATTNC_COMPILER_EMIT_WEIGHTRECIPE_H
