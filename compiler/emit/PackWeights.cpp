//===- PackWeights.cpp - weights in the kernels' layout --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/emit/PackWeights.h"

#include "compiler/emit/FileOutput.h"
#include "compiler/emit/Hash.h"
#include "compiler/spec/Safetensors.h"
#include "llvm/ADT/STLExtras.h"
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace attnc {
namespace {

/// The shape that the file gives a weight: its padding is part of it, so that the file has no holes.
std::vector<int64_t> storedShape(const WeightRecipe &recipe) {
  int64_t count = recipe.bytes / recipe.elementBytes(), group = recipe.group();
  if (recipe.panels != 0 && group > 1)
    return {count / recipe.panels / recipe.depth(), recipe.depth() / group, recipe.panels, group};
  if (recipe.panels != 0)
    return {count / recipe.panels / recipe.in(), recipe.in(), recipe.panels};
  if (count == recipe.out() * recipe.in())
    return recipe.shape;
  return {count};
}

/// A type's name in safetensors.
const char *nameOfType(const std::string &type) {
  return type == "int8" ? "I8" : type == "bf16" ? "BF16" : "F32";
}

/// Length and text of the header, padded with blanks so that the data starts at a multiple of 64.
std::string makeHeader(const std::vector<WeightRecipe> &recipes) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  for (const WeightRecipe &recipe : recipes)
    header[recipe.name] = {{"dtype", nameOfType(recipe.type)},
                           {"shape", storedShape(recipe)},
                           {"data_offsets", {recipe.offset, recipe.offset + recipe.bytes}}};
  std::string text = header.dump();
  uint64_t length = text.size();
  constexpr size_t prefix = sizeof length, line = 64;
  length = (prefix + length + line - 1) / line * line - prefix;
  text.resize(length, ' ');
  std::string bytes(prefix, '\0');
  for (size_t i = 0; i < prefix; ++i)
    bytes[i] = char(length >> 8 * i);
  return bytes + text;
}

std::vector<float> transpose(const std::vector<float> &values, int64_t rows, int64_t columns) {
  std::vector<float> turned(values.size());
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column)
      turned[column * rows + row] = values[row * columns + column];
  return turned;
}

/// What is as large, or larger, and no infinity becomes one in bfloat16: half a step above its largest
/// number.
constexpr float PastBfloat = 0x1.ffp127f;

using Refuses = bool (*)(float value);

Refuses refusesNumbers(const std::string &type) {
  if (type == "int8")
    return [](float value) { return !std::isfinite(value); };
  if (type == "bf16")
    return [](float value) { return !std::isinf(value) && !(std::fabs(value) < PastBfloat); };
  return [](float value) { return std::isnan(value); };
}

std::string describeRefused(float value, const std::string &place) {
  if (std::isnan(value))
    return "a NaN at " + place + ", which is no number";
  if (std::isinf(value))
    return "an infinity at " + place + ", which int8 cannot hold; f32 and bf16 can";
  return "a number at " + place + " that is an infinity in bf16; f32 and int8 can hold it";
}

/// What `type` cannot hold is an error that names the first of a tensor of `shape`.
llvm::Error refuseNumbers(const std::string &tensor, const std::vector<int64_t> &shape,
                          const std::string &type, const std::vector<float> &values) {
  auto found = llvm::find_if(values, refusesNumbers(type));
  if (found == values.end())
    return llvm::Error::success();
  int64_t index = found - values.begin(), columns = shape.back();
  std::vector<int64_t> place = {index / columns, index % columns};
  if (shape.size() == 1)
    place = {index};
  return llvm::createStringError("tensor '" + tensor + "' has " + describeRefused(*found, shapeText(place)));
}

/// The tensors of a recipe side by side, out x in.
llvm::Expected<std::vector<float>> joinTensors(const WeightRecipe &recipe, const TensorReader &tensors) {
  int64_t in = recipe.in();
  std::vector<float> joined; // out x in
  joined.reserve(recipe.out() * in);
  llvm::Error problems = llvm::Error::success(); // of all parts
  for (size_t part = 0; part < recipe.tensors.size(); ++part) {
    int64_t rows = recipe.rows[part];
    if (recipe.tensors[part].empty()) {
      joined.resize(joined.size() + rows * in, 0.0f);
      continue;
    }
    bool turned = recipe.transposed && recipe.shape.size() == 2;
    std::vector<int64_t> shape = {rows};
    if (recipe.shape.size() == 2)
      shape.push_back(in);
    if (turned)
      std::swap(shape[0], shape[1]);
    llvm::Expected<std::vector<float>> values = tensors(recipe.tensors[part], shape);
    if (!values) {
      problems = llvm::joinErrors(std::move(problems), values.takeError());
      continue;
    }
    problems = llvm::joinErrors(std::move(problems),
                                refuseNumbers(recipe.tensors[part], shape, recipe.type, *values));
    if (turned)
      *values = transpose(*values, shape[0], shape[1]);
    joined.insert(joined.end(), values->begin(), values->end());
  }
  if (problems)
    return problems;
  return joined;
}

/// Weights one after the other.
class WeightStore {
public:
  WeightStore(const TensorReader &tensors, const ConstantReader &constants)
      : tensors(tensors), constants(constants) {}

  /// The bytes of a weight; what rounding lost goes to `errors`.
  llvm::Expected<std::vector<char>> store(const WeightRecipe &recipe, std::vector<WeightError> &errors) {
    if (recipe.tensors.empty())
      return constants(recipe);
    if (recipe.holdsScales())
      return storeScales(recipe, scalesFor(recipe));
    llvm::Expected<std::vector<float>> values = joinTensors(recipe, tensors);
    if (!values)
      return values.takeError();
    OutputScales scales = findScales(recipe, *values);
    for (WeightError &error : findErrors(recipe, *values, scales))
      errors.push_back(std::move(error));
    std::vector<char> bytes = storeValues(recipe, *values, scales);
    if (recipe.type == "int8")
      matrices.push_back({&recipe, std::move(scales)});
    return bytes;
  }

private:
  /// Those of the matrix before; none where that one is an error.
  OutputScales scalesFor(const WeightRecipe &recipe) const {
    for (const auto &[matrix, scales] : matrices)
      if (recipe.holdsScalesOf(*matrix))
        return scales;
    return {};
  }

  const TensorReader &tensors;
  const ConstantReader &constants;
  std::vector<std::pair<const WeightRecipe *, OutputScales>> matrices;
};

} // namespace

llvm::Expected<PackedWeights> packWeights(const std::vector<WeightRecipe> &recipes,
                                          const TensorReader &tensors, const ConstantReader &constants,
                                          const std::string &path) {
  PackedWeights packed;
  Hash128 whole;
  FileOutput file(path);
  auto write = [&](std::string_view bytes) {
    whole.add(bytes);
    file.write(bytes);
  };
  write(makeHeader(recipes));
  WeightStore store(tensors, constants);
  llvm::Error problems = llvm::Error::success(); // of all weights
  for (const WeightRecipe &recipe : recipes) {
    llvm::Expected<std::vector<char>> stored = store.store(recipe, packed.errors);
    if (!stored) {
      problems = llvm::joinErrors(std::move(problems), stored.takeError());
      continue;
    }
    std::string_view bytes(stored->data(), recipe.bytes);
    packed.hashes.tensors.push_back(hash128(bytes));
    write(bytes);
  }
  if (llvm::Error error = llvm::joinErrors(std::move(problems), file.close()))
    return error;
  packed.hashes.file = whole.digits();
  return packed;
}

} // namespace attnc
