//===- PackWeights.cpp - weights in the kernels' layout --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/emit/PackWeights.h"

#include "compiler/emit/FileOutput.h"
#include "compiler/emit/Hash.h"
#include <nlohmann/json.hpp>

#include <algorithm>

namespace attnc {
namespace {

/// The shape that the file gives a weight: its padding is part of it, so that the file has no holes.
std::vector<int64_t> storedShape(const WeightRecipe &recipe) {
  int64_t count = recipe.bytes / int64_t(sizeof(float));
  if (recipe.panels != 0)
    return {count / recipe.panels / recipe.in(), recipe.in(), recipe.panels};
  if (count == recipe.out() * recipe.in())
    return recipe.shape;
  return {count};
}

/// Length and text of the header, padded with blanks so that the data starts at a multiple of 64.
std::string makeHeader(const std::vector<WeightRecipe> &recipes) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  for (const WeightRecipe &recipe : recipes)
    header[recipe.name] = {{"dtype", "F32"},
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

llvm::Expected<std::vector<float>> joinAndPack(const WeightRecipe &recipe, const TensorReader &tensors) {
  std::vector<float> joined; // out x in
  joined.reserve(recipe.out() * recipe.in());
  llvm::Error problems = llvm::Error::success(); // of all parts
  for (size_t part = 0; part < recipe.tensors.size(); ++part) {
    int64_t rows = recipe.rows[part];
    if (recipe.tensors[part].empty()) {
      joined.resize(joined.size() + rows * recipe.in(), 0.0f);
      continue;
    }
    bool turned = recipe.transposed && recipe.shape.size() == 2;
    std::vector<int64_t> shape = recipe.shape;
    shape[0] = rows;
    if (turned)
      std::swap(shape[0], shape[1]);
    llvm::Expected<std::vector<float>> values = tensors(recipe.tensors[part], shape);
    if (!values) {
      problems = llvm::joinErrors(std::move(problems), values.takeError());
      continue;
    }
    if (turned)
      *values = transpose(*values, shape[0], shape[1]);
    joined.insert(joined.end(), values->begin(), values->end());
  }
  if (problems)
    return problems;
  return packValues(recipe, joined);
}

} // namespace

std::vector<float> packValues(const WeightRecipe &recipe, const std::vector<float> &values) {
  std::vector<float> packed(recipe.bytes / sizeof(float), 0.0f);
  if (recipe.panels == 0) {
    std::copy(values.begin(), values.end(), packed.begin());
    return packed;
  }
  int64_t columns = recipe.panels, in = recipe.in();
  for (int64_t out = 0; out < recipe.out(); ++out) {
    float *panel = packed.data() + out / columns * in * columns; // in x columns
    for (int64_t k = 0; k < in; ++k)
      panel[k * columns + out % columns] = values[out * in + k];
  }
  return packed;
}

llvm::Expected<WeightHashes> packWeights(const std::vector<WeightRecipe> &recipes,
                                         const TensorReader &tensors, const ConstantReader &constants,
                                         const std::string &path) {
  WeightHashes hashes;
  Hash128 whole;
  FileOutput file(path);
  auto write = [&](std::string_view bytes) {
    whole.add(bytes);
    file.write(bytes);
  };
  write(makeHeader(recipes));
  llvm::Error problems = llvm::Error::success(); // of all weights
  for (const WeightRecipe &recipe : recipes) {
    llvm::Expected<std::vector<float>> stored =
        recipe.tensors.empty() ? constants(recipe) : joinAndPack(recipe, tensors);
    if (!stored) {
      problems = llvm::joinErrors(std::move(problems), stored.takeError());
      continue;
    }
    std::string_view bytes(reinterpret_cast<const char *>(stored->data()), recipe.bytes);
    hashes.tensors.push_back(hash128(bytes));
    write(bytes);
  }
  if (llvm::Error error = llvm::joinErrors(std::move(problems), file.close()))
    return error;
  hashes.file = whole.digits();
  return hashes;
}

} // namespace attnc
