//===- StoredWeights.cpp - a weight's numbers as bytes in its type ---------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/emit/StoredWeights.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <span>

namespace attnc {
namespace {

/// Integers reach from minus this to this.
constexpr float LargestInteger = 127;

int8_t toInteger(float value, float scale) {
  if (scale == 0)
    return 0;
  // Floats of this size have no bits below 1: the addition rounds, ties to even. A call of nearbyint takes
  // several times as long, and each scale is looked for among eleven.
  constexpr float rounding = 0x1.8p23f;
  return int8_t(std::clamp(value / scale, -LargestInteger, LargestInteger) + rounding - rounding);
}

/// The sum of squares of what rounding to integers of `scale` loses.
double lostSquares(std::span<const float> output, float scale) {
  double lost = 0;
  for (float value : output) {
    double difference = double(value) - toInteger(value, scale) * double(scale);
    lost += difference * difference;
  }
  return lost;
}

/// What 1 stands for in an output's integers; 0 where all of them are zero. Cutting off the largest
/// magnitudes may lose less than it gains for all others, so some shares of the largest are tried.
float scaleOf(std::span<const float> output) {
  float largest = 0;
  for (float value : output)
    largest = std::max(largest, std::fabs(value));
  float best = largest / LargestInteger;
  double least = lostSquares(output, best);
  for (int percent = 98; percent >= 80 && least > 0; percent -= 2) {
    float scale = largest * (float(percent) / 100) / LargestInteger;
    if (double lost = lostSquares(output, scale); lost < least) {
      least = lost;
      best = scale;
    }
  }
  return best;
}

/// The nearest bfloat16, ties to even; a NaN stays one.
uint16_t toBfloat(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value))
    return uint16_t(bits >> 16 | 0x40);
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/// What `value` becomes in a weight's type.
float roundTo(const std::string &type, float value, float scale) {
  return type == "int8" ? float(toInteger(value, scale)) * scale
                        : std::bit_cast<float>(uint32_t(toBfloat(value)) << 16);
}

/// Elements of `Stored` in panels: groups of inputs side by side, columns of a panel next, then the groups.
template <typename Stored, typename Convert>
std::vector<char> packPanels(const WeightRecipe &recipe, std::span<const float> values, Convert convert) {
  std::vector<char> bytes(recipe.bytes, 0);
  auto *stored = reinterpret_cast<Stored *>(bytes.data());
  int64_t columns = recipe.panels, group = recipe.group(), in = recipe.in(), groups = recipe.depth() / group;
  for (int64_t out = 0; out < recipe.out(); ++out) {
    Stored *panel = stored + out / columns * groups * columns * group;
    for (int64_t k = 0; k < in; ++k)
      panel[(k / group * columns + out % columns) * group + k % group] = convert(values[out * in + k], out);
  }
  return bytes;
}

} // namespace

// A sum is exact: below 2^24 for any width below 2^17.
OutputScales findScales(const WeightRecipe &recipe, const std::vector<float> &values) {
  OutputScales found;
  for (int64_t out = 0; recipe.type == "int8" && out < recipe.out(); ++out) {
    std::span<const float> output = std::span(values).subspan(out * recipe.in(), recipe.in());
    float scale = scaleOf(output), sum = 0;
    for (float value : output)
      sum += toInteger(value, scale);
    found.scales.push_back(scale);
    found.sums.push_back(sum);
  }
  return found;
}

std::vector<char> storeValues(const WeightRecipe &recipe, const std::vector<float> &values,
                              const OutputScales &scales) {
  if (recipe.type == "int8")
    return packPanels<int8_t>(recipe, values,
                              [&](float value, int64_t out) { return toInteger(value, scales.scales[out]); });
  if (recipe.type == "bf16")
    return packPanels<uint16_t>(recipe, values, [](float value, int64_t) { return toBfloat(value); });
  if (recipe.panels != 0)
    return packPanels<float>(recipe, values, [](float value, int64_t) { return value; });
  std::vector<char> bytes(recipe.bytes, 0);
  std::memcpy(bytes.data(), values.data(), values.size() * sizeof(float));
  return bytes;
}

// Scales in the first row, sums in the second.
std::vector<char> storeScales(const WeightRecipe &recipe, const OutputScales &scales) {
  int64_t padded = recipe.shape[1];
  std::vector<float> rows(2 * padded, 0.0f);
  std::ranges::copy(scales.scales, rows.begin());
  std::ranges::copy(scales.sums, rows.begin() + padded);
  std::vector<char> bytes(recipe.bytes, 0);
  std::memcpy(bytes.data(), rows.data(), rows.size() * sizeof(float));
  return bytes;
}

std::vector<WeightError> findErrors(const WeightRecipe &recipe, const std::vector<float> &values,
                                    const OutputScales &scales) {
  std::vector<WeightError> errors;
  if (recipe.type == "f32")
    return errors;
  int64_t in = recipe.in(), first = 0;
  for (size_t part = 0; part < recipe.tensors.size(); first += recipe.rows[part++]) {
    WeightError error{recipe.tensors[part], recipe.type};
    double lost = 0, whole = 0;
    for (int64_t out = 0; out < recipe.rows[part]; ++out) {
      std::span<const float> output = std::span(values).subspan((first + out) * in, in);
      float scale = recipe.type == "int8" ? scales.scales[first + out] : 1;
      double lostHere = 0, wholeHere = 0;
      for (float value : output) {
        if (!std::isfinite(value)) // bfloat16 has these as they are
          continue;
        lostHere += std::pow(double(value) - roundTo(recipe.type, value, scale), 2);
        wholeHere += double(value) * value;
      }
      lost += lostHere;
      whole += wholeHere;
      double relative = wholeHere > 0 ? std::sqrt(lostHere / wholeHere) : 0;
      if (relative > error.worstError) {
        error.worstOutput = out;
        error.worstError = relative;
      }
    }
    error.error = whole > 0 ? std::sqrt(lost / whole) : 0;
    errors.push_back(std::move(error));
  }
  return errors;
}

} // namespace attnc
