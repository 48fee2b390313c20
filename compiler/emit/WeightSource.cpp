//===- WeightSource.cpp - where the numbers of weights come from -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/emit/WeightSource.h"

#include "compiler/emit/Hash.h"
#include "compiler/spec/TensorNumbers.h"
#include "compiler/spec/TensorReference.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace attnc {
namespace {

llvm::Expected<std::vector<float>> toFloats(const Tensor &tensor, const std::string &name) {
  if (std::optional<std::vector<float>> values = numbersOf(tensor))
    return std::move(*values);
  return llvm::createStringError("tensor '" + name + "' is of type " + tensor.type +
                                 "; F32, F16 and BF16 can be read");
}

/// The numbers of `term` in the given shape.
llvm::Expected<std::vector<float>> readTerm(const TensorTerm &term, const WeightFiles &file,
                                            const std::vector<int64_t> &shape) {
  const Tensor *tensor = file.find(term.tensor);
  if (!tensor)
    return llvm::createStringError("has no tensor '" + term.tensor + "'");
  std::optional<TensorSlice> slice = sliceOf(term, *tensor, shape);
  if (!slice)
    return llvm::createStringError("tensor '" + term.tensor + "' has shape " + shapeText(tensor->shape) +
                                   ", but " + shapeText(shape) + " is needed" +
                                   (term.parts == 1 ? "" : " of a part"));
  llvm::Expected<std::vector<float>> values = toFloats(*tensor, term.tensor);
  if (!values || term.parts == 1)
    return values;
  int64_t rows = shape.size() == 2 ? shape[0] : 1;
  std::vector<float> taken;
  taken.reserve(rows * slice->columns);
  for (int64_t row = 0; row < rows; ++row) {
    auto first = values->begin() + slice->first + (slice->rows == 1 ? 0 : row * slice->stride);
    taken.insert(taken.end(), first, first + slice->columns);
  }
  return taken;
}

/// Steele, Lea and Flood's SplitMix64 (2014): enough for test weights, and the same everywhere.
uint64_t nextRandom(uint64_t &state) {
  uint64_t mixed = state += 0x9e3779b97f4a7c15;
  mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9;
  mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111eb;
  return mixed ^ mixed >> 31;
}

} // namespace

llvm::Expected<TensorReader> openTensors(const WeightSource &source, std::set<std::string> normScales) {
  switch (source.kind) {
  case WeightSourceKind::File:
    return readTensorsFromFile(source.file);
  case WeightSourceKind::Random:
    return drawTensors(source.seed, std::move(normScales));
  case WeightSourceKind::None:
    break;
  }
  return [](const std::string &name, const std::vector<int64_t> &) -> llvm::Expected<std::vector<float>> {
    return llvm::createStringError("weight '" + name + "' is needed, but the spec names no weights");
  };
}

llvm::Expected<TensorReader> readTensorsFromFile(const std::string &path) {
  std::string error;
  std::shared_ptr<WeightFiles> weights = WeightFiles::open(path, error);
  if (!weights)
    return llvm::createStringError(error);
  return [weights, path](const std::string &name,
                         const std::vector<int64_t> &shape) -> llvm::Expected<std::vector<float>> {
    std::vector<float> sum;
    for (const TensorTerm &term : readReference(name, *weights)) {
      llvm::Expected<std::vector<float>> values = readTerm(term, *weights, shape);
      if (!values)
        return llvm::createStringError(path + ": " + llvm::toString(values.takeError()));
      if (sum.empty())
        sum = std::move(*values);
      else
        std::transform(sum.begin(), sum.end(), values->begin(), sum.begin(), std::plus<>());
    }
    return sum;
  };
}

TensorReader drawTensors(uint64_t seed, std::set<std::string> normScales) {
  return [seed, normScales = std::move(normScales)](
             const std::string &name,
             const std::vector<int64_t> &shape) -> llvm::Expected<std::vector<float>> {
    float center = normScales.count(name) ? 1.0f : 0.0f, bound = 0.02f;
    if (shape.size() == 2)
      bound = std::sqrt(6.0f / float(shape[0] + shape[1]));
    std::vector<float> values(std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<>()));
    uint64_t state = seed ^ hash64(name);
    for (float &value : values)
      value =
          center + bound * (float(nextRandom(state) >> 40) * 0x1p-23f - 1.0f); // 24 bits: exact in a float
    return values;
  };
}

} // namespace attnc
