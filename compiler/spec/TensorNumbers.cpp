//===- TensorNumbers.cpp - the numbers of a stored tensor ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/spec/TensorNumbers.h"

#include <bit>
#include <cmath>
#include <cstring>

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

} // namespace

std::optional<std::vector<float>> numbersOf(const Tensor &tensor) {
  if (tensor.type == "F32")
    return convert<float>(tensor, [](float value) { return value; });
  if (tensor.type == "F16")
    return convert<uint16_t>(tensor, halfToFloat);
  if (tensor.type == "BF16")
    return convert<uint16_t>(tensor,
                             [](uint16_t value) { return std::bit_cast<float>(uint32_t(value) << 16); });
  return std::nullopt;
}

} // namespace attnc
