//===- WeightRecipe.cpp - how each weight of a bundle comes about ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/emit/WeightRecipe.h"

#include "compiler/emit/PlannedModule.h"
#include <nlohmann/json.hpp>

using namespace mlir;

namespace attnc {
namespace {

/// Bytes of a weight as stored: whole panels, or dense and padded to a cache line.
int64_t storedBytes(const WeightRecipe &recipe) {
  constexpr int64_t line = 64, element = sizeof(float);
  if (recipe.panels != 0)
    return (recipe.out() + recipe.panels - 1) / recipe.panels * recipe.panels * recipe.depth() *
           recipe.elementBytes();
  int64_t bytes = recipe.out() * recipe.in() * element;
  // Vectors are padded to whole panels of 32 outputs, which kernels read as they read the panels.
  int64_t unit = recipe.shape.size() == 1 ? 32 * element : line;
  return (bytes + unit - 1) / unit * unit;
}

WeightRecipe readRecipe(attn::WeightOp weight, const std::set<std::string> &normScales) {
  WeightRecipe recipe;
  recipe.name = weight.getSymName().str();
  auto type = cast<RankedTensorType>(weight.getType());
  recipe.shape = type.getShape().vec();
  recipe.offset = weight.getOffset().value_or(-1);
  if (auto panels = dyn_cast_or_null<attn::PanelsAttr>(type.getEncoding()))
    recipe.panels = panels.getColumns();
  if (std::optional<ArrayAttr> tensors = weight.getTensors())
    for (StringAttr tensor : tensors->getAsRange<StringAttr>())
      recipe.tensors.push_back(tensor.str());
  if (std::optional<ArrayRef<int64_t>> rows = weight.getRows())
    recipe.rows = rows->vec();
  else if (!recipe.tensors.empty())
    recipe.rows = {recipe.out()};
  recipe.transposed = weight.getTransposed();
  if (!type.getElementType().isF32())
    recipe.type = type.getElementType().isBF16() ? "bf16" : "int8";
  recipe.scaledInputs = weight.getScales().value_or(0);
  recipe.isNormScale =
      llvm::any_of(recipe.tensors, [&](const auto &tensor) { return normScales.count(tensor) != 0; });
  recipe.bytes = storedBytes(recipe);
  return recipe;
}

/// A manifest may have been edited by hand: everything that packing relies on is checked.
bool isSound(const WeightRecipe &recipe, int64_t offset) {
  constexpr int64_t most = int64_t(1) << 40;
  if (recipe.shape.empty() || recipe.shape.size() > 2 || recipe.tensors.size() != recipe.rows.size())
    return false;
  int64_t elements = 1;
  for (int64_t extent : recipe.shape) {
    if (extent < 1 || extent > most / 4 / elements)
      return false;
    elements *= extent;
  }
  if (recipe.panels < 0 || recipe.panels > 4096 || (recipe.panels != 0 && recipe.shape.size() != 2))
    return false;
  if (recipe.type != "f32" &&
      (recipe.panels == 0 || recipe.tensors.empty() || (recipe.type != "bf16" && recipe.type != "int8")))
    return false;
  int64_t rows = 0, outputs = recipe.holdsScales() ? recipe.in() : recipe.out();
  for (int64_t extent : recipe.rows) {
    if (extent < 1 || extent > outputs - rows)
      return false;
    rows += extent;
  }
  if (recipe.holdsScales() && (recipe.shape != std::vector<int64_t>{2, outputs} || recipe.panels != 0))
    return false;
  return (recipe.tensors.empty() || recipe.holdsScales() || rows == outputs) && recipe.offset == offset &&
         recipe.bytes == storedBytes(recipe);
}

/// Whether scales stand behind the matrix that they are made of.
bool hasMatrix(const WeightRecipe &recipe, llvm::ArrayRef<WeightRecipe> before) {
  return !recipe.holdsScales() ||
         llvm::any_of(before, [&](const WeightRecipe &matrix) { return recipe.holdsScalesOf(matrix); });
}

} // namespace

int64_t WeightRecipe::depth() const {
  int64_t unit = group() > 1 ? attn::rowBytes / elementBytes() : 1;
  return (in() + unit - 1) / unit * unit;
}

bool WeightRecipe::holdsScalesOf(const WeightRecipe &matrix) const {
  return matrix.type == "int8" && matrix.in() == scaledInputs && matrix.tensors == tensors &&
         matrix.rows == rows && matrix.transposed == transposed;
}

llvm::Expected<std::vector<WeightRecipe>> readWeightRecipes(ModuleOp planned,
                                                            const std::set<std::string> &normScales) {
  std::vector<WeightRecipe> recipes;
  for (attn::WeightOp weight : planned.getOps<attn::WeightOp>())
    recipes.push_back(readRecipe(weight, normScales));
  llvm::stable_sort(recipes, [](const auto &a, const auto &b) { return a.offset < b.offset; });
  int64_t offset = 0;
  for (const auto &[index, recipe] : llvm::enumerate(recipes)) {
    if (!isSound(recipe, offset))
      return llvm::createStringError("weight '" + recipe.name + "' is planned at byte " +
                                     std::to_string(recipe.offset) + ", but the one before it ends at " +
                                     std::to_string(offset));
    if (!hasMatrix(recipe, llvm::ArrayRef(recipes).take_front(index)))
      return llvm::createStringError("the scales '" + recipe.name + "' have no matrix before them");
    offset += recipe.bytes;
  }
  mlir::FailureOr<PlannedModule> module = readPlannedModule(planned);
  if (failed(module))
    return llvm::createStringError("the entries cannot be lowered");
  if (module->weightBytes != offset)
    return llvm::createStringError("the weights end at byte " + std::to_string(offset) +
                                   ", which is not what was planned");
  return recipes;
}

llvm::Expected<std::vector<WeightRecipe>> readWeightRecipes(const nlohmann::json &tensors) {
  std::vector<WeightRecipe> recipes;
  int64_t offset = 0;
  try {
    for (const nlohmann::json &tensor : tensors) {
      WeightRecipe recipe;
      tensor.at("name").get_to(recipe.name);
      tensor.at("shape").get_to(recipe.shape);
      tensor.at("offset").get_to(recipe.offset);
      tensor.at("bytes").get_to(recipe.bytes);
      tensor.at("panels").get_to(recipe.panels);
      tensor.at("tensors").get_to(recipe.tensors);
      tensor.at("rows").get_to(recipe.rows);
      tensor.at("transposed").get_to(recipe.transposed);
      tensor.at("scaling").get_to(recipe.isNormScale);
      recipe.type = tensor.value("type", recipe.type);
      recipe.scaledInputs = tensor.value("scales", recipe.scaledInputs);
      if (!isSound(recipe, offset) || !hasMatrix(recipe, recipes))
        return llvm::createStringError("the manifest's record of weight '" + recipe.name +
                                       "' contradicts itself");
      offset += recipe.bytes;
      recipes.push_back(std::move(recipe));
    }
  } catch (const nlohmann::json::exception &error) {
    return llvm::createStringError(std::string("the manifest's weights cannot be read: ") + error.what());
  }
  return recipes;
}

} // namespace attnc
