//===- ConstantWeights.cpp - weights that no file gives --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/emit/ConstantWeights.h"

#include "dialect/IR/Attn.h"

#include <cmath>

namespace attnc {
namespace {

/// A table of positions x width, computed in double precision; `#attn.sinusoid` has the formulas.
std::vector<float> computeSinusoid(attn::SinusoidAttr sinusoid, int64_t positions, int64_t width) {
  std::vector<float> table(positions * width);
  int64_t half = width / 2;
  double last = sinusoid.getInclusive() ? double(half - 1) : double(half);
  for (int64_t position = 0; position < positions; ++position)
    for (int64_t j = 0; j < half; ++j) {
      double angle = double(position + sinusoid.getStart()) *
                     std::pow(double(sinusoid.getBase()), -double(j) / std::max(last, 1.0));
      float *row = table.data() + position * width;
      row[sinusoid.getInterleaved() ? 2 * j : j] = float(std::sin(angle));
      row[sinusoid.getInterleaved() ? 2 * j + 1 : half + j] = float(std::cos(angle));
    }
  return table;
}

} // namespace

ConstantReader computeConstants(mlir::ModuleOp planned) {
  return [planned](const WeightRecipe &recipe) mutable -> llvm::Expected<std::vector<char>> {
    auto weight = planned.lookupSymbol<attn::WeightOp>(recipe.name);
    if (std::optional<attn::SinusoidAttr> sinusoid = weight.getSinusoid())
      return storeValues(recipe, computeSinusoid(*sinusoid, recipe.out(), recipe.in()), {});
    auto literal = mlir::dyn_cast_or_null<mlir::DenseFPElementsAttr>(weight.getValueAttr());
    if (!literal)
      return llvm::createStringError("weight '" + recipe.name + "' has neither a source nor a value");
    auto values = literal.getValues<float>();
    return storeValues(recipe, std::vector<float>(values.begin(), values.end()), {});
  };
}

std::set<std::string> scalingTensors(mlir::ModuleOp module) {
  std::set<std::string> names;
  auto collect = [&](mlir::Value weight) {
    auto get = weight.getDefiningOp<attn::GetWeightOp>();
    auto declared = get ? module.lookupSymbol<attn::WeightOp>(get.getWeight()) : nullptr;
    if (declared && declared.getTensors())
      for (mlir::StringAttr name : declared.getTensors()->getAsRange<mlir::StringAttr>())
        names.insert(name.str());
  };
  module.walk([&](attn::LayerNormOp norm) { collect(norm.getWeight()); });
  module.walk([&](attn::RmsNormOp norm) { collect(norm.getWeight()); });
  return names;
}

} // namespace attnc
