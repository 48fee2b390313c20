//===- WeightSource.cpp - where the numbers of weights come from -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/emit/WeightSource.h"

#include "compiler/emit/Hash.h"
#include "compiler/spec/WeightFiles.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>

namespace attnc {
namespace {

float halfToFloat(uint16_t half) {
  uint32_t sign = uint32_t(half & 0x8000) << 16, exponent = (half >> 10) & 31, fraction = half & 1023;
  if (exponent == 31) // infinities and NaN
    return std::bit_cast<float>(sign | 0x7f800000 | fraction << 13);
  if (exponent == 0) // zero and subnormal numbers: fraction * 2^-24
    return std::copysign(std::ldexp(float(fraction), -24), sign ? -1.0f : 1.0f);
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
}

template <typename Stored, typename Convert>
std::vector<float> convert(const Tensor &tensor, Convert toFloat) {
  std::vector<float> values(tensor.bytes / sizeof(Stored));
  for (size_t i = 0; i < values.size(); ++i) {
    Stored stored;
    std::memcpy(&stored, tensor.data + i * sizeof(Stored), sizeof(Stored));
    values[i] = toFloat(stored);
  }
  return values;
}

llvm::Expected<std::vector<float>> toFloats(const Tensor &tensor, const std::string &name) {
  if (tensor.type == "F32")
    return convert<float>(tensor, [](float value) { return value; });
  if (tensor.type == "F16")
    return convert<uint16_t>(tensor, halfToFloat);
  if (tensor.type == "BF16")
    return convert<uint16_t>(tensor,
                             [](uint16_t value) { return std::bit_cast<float>(uint32_t(value) << 16); });
  return llvm::createStringError("tensor '" + name + "' is of type " + tensor.type +
                                 "; F32, F16 and BF16 can be read");
}

/// Steele, Lea and Flood's SplitMix64 (2014): enough for test weights, and the same everywhere.
uint64_t nextRandom(uint64_t &state) {
  uint64_t mixed = state += 0x9e3779b97f4a7c15;
  mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9;
  mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111eb;
  return mixed ^ mixed >> 31;
}

} // namespace

llvm::Expected<TensorReader> openTensors(const WeightSource &source, std::set<std::string> scales) {
  switch (source.kind) {
  case WeightSourceKind::File:
    return readTensorsFromFile(source.file);
  case WeightSourceKind::Random:
    return drawTensors(source.seed, std::move(scales));
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
    const Tensor *tensor = weights->find(name);
    if (!tensor)
      return llvm::createStringError(path + ": has no tensor '" + name + "'");
    if (!canBeReadAs(*tensor, shape))
      return llvm::createStringError(path + ": tensor '" + name + "' has shape " + shapeText(tensor->shape) +
                                     ", but " + shapeText(shape) + " is needed");
    return toFloats(*tensor, name);
  };
}

TensorReader drawTensors(uint64_t seed, std::set<std::string> scales) {
  return [seed, scales = std::move(scales)](
             const std::string &name,
             const std::vector<int64_t> &shape) -> llvm::Expected<std::vector<float>> {
    float center = scales.count(name) ? 1.0f : 0.0f, bound = 0.02f;
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
