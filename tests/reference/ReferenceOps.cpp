//===- ReferenceOps.cpp - the operations of the attn dialect in double precision -===//
// SPDX-License-Identifier: Apache-2.0
//
// Written to be read, not to be fast.

#include "tests/reference/ReferenceOps.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace reference {

static constexpr double Infinity = std::numeric_limits<double>::infinity();

static int64_t product(const std::vector<int64_t> &shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<>());
}

int64_t Array::at(const std::vector<int64_t> &index) const {
  int64_t place = 0;
  for (size_t axis = 0; axis < shape.size(); ++axis)
    place = place * shape[axis] + index[axis];
  return place;
}

Array zeros(std::vector<int64_t> shape) {
  int64_t size = product(shape);
  return {std::move(shape), std::vector<double>(size)};
}

/// Calls `visit(row, first)` for each row along the last axis; `first` is the place of its first element.
static void forRows(const Array &x, const std::function<void(int64_t, int64_t)> &visit) {
  for (int64_t row = 0, width = x.extent(-1); row < x.size() / width; ++row)
    visit(row, row * width);
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

Array embed(const Array &ids, const Array &table) {
  std::vector<int64_t> shape = ids.shape;
  shape.push_back(table.extent(1));
  Array result = zeros(shape);
  forRows(result, [&](int64_t row, int64_t first) {
    for (int64_t w = 0; w < table.extent(1); ++w)
      result.values[first + w] = table.values[table.at({int64_t(ids.values[row]), w})];
  });
  return result;
}

Array addPositions(const Array &x, const Array &table, const Array *starts, int64_t offset) {
  Array result = x;
  bool hasQuery = x.shape.size() == 3 || !starts;
  int64_t queries = hasQuery ? x.extent(-2) : 1;
  forRows(result, [&](int64_t row, int64_t first) {
    int64_t position = row % queries + offset + (starts ? int64_t(starts->values[row / queries]) : 0);
    for (int64_t w = 0; w < x.extent(-1); ++w)
      result.values[first + w] += table.values[table.at({position, w})];
  });
  return result;
}

Array map(const Array &x, const std::function<double(double)> &apply) {
  Array result = x;
  std::transform(x.values.begin(), x.values.end(), result.values.begin(), apply);
  return result;
}

Array zip(const Array &x, const Array &y, const std::function<double(double, double)> &apply) {
  Array result = x;
  std::transform(x.values.begin(), x.values.end(), y.values.begin(), result.values.begin(), apply);
  return result;
}

Array linear(const Array &x, const Array &weight, const Array *bias) {
  std::vector<int64_t> shape = x.shape;
  shape.back() = weight.extent(0);
  Array result = zeros(shape);
  forRows(result, [&](int64_t row, int64_t first) {
    for (int64_t o = 0; o < weight.extent(0); ++o) {
      double sum = bias ? bias->values[o] : 0;
      for (int64_t i = 0; i < weight.extent(1); ++i)
        sum += x.values[row * weight.extent(1) + i] * weight.values[weight.at({o, i})];
      result.values[first + o] = sum;
    }
  });
  return result;
}

// A bfloat16 has 8 bits, so its step is 2^-7 of the power of two below.
double roundToBfloat(double x) {
  if (x == 0 || !std::isfinite(x))
    return x;
  double step = std::ldexp(1.0, std::ilogb(x) - 7);
  return std::nearbyint(x / step) * step;
}

Array fromBytes(const Array &bytes, const Array &scales, int64_t width) {
  std::vector<int64_t> shape = bytes.shape;
  shape.back() = width;
  Array result = zeros(shape);
  forRows(result, [&](int64_t row, int64_t first) {
    double scale = scales.values[2 * row], zero = scales.values[2 * row + 1];
    for (int64_t w = 0; w < width; ++w)
      result.values[first + w] = (bytes.values[row * bytes.extent(-1) + w] - zero) * scale;
  });
  return result;
}

Array scaleOutputs(const Array &weight, const Array &scales) {
  Array result = weight;
  forRows(result, [&](int64_t out, int64_t first) {
    for (int64_t i = 0; i < weight.extent(1); ++i)
      result.values[first + i] *= scales.values[out];
  });
  return result;
}

std::pair<Array, Array> quantise(const Array &x, int64_t stored) {
  std::vector<int64_t> shape = x.shape;
  shape.back() = 2;
  Array scales = zeros(shape);
  shape.back() = stored;
  Array bytes = zeros(shape);
  forRows(bytes, [&](int64_t row, int64_t first) {
    const double *elements = &x.values[row * x.extent(-1)];
    double least = 0, most = 0;
    for (int64_t w = 0; w < x.extent(-1); ++w) {
      least = std::min(least, elements[w]);
      most = std::max(most, elements[w]);
    }
    double scale = (most - least) / 255, zero = scale > 0 ? std::nearbyint(-least / scale) : 0;
    scales.values[2 * row] = scale;
    scales.values[2 * row + 1] = zero;
    for (int64_t w = 0; w < x.extent(-1) && scale > 0; ++w)
      bytes.values[first + w] = std::clamp(std::nearbyint(elements[w] / scale + zero), 0.0, 255.0);
  });
  return {bytes, scales};
}

Array concat(const std::vector<Array> &parts) {
  std::vector<int64_t> shape = parts.front().shape;
  shape.back() = 0;
  for (const Array &part : parts)
    shape.back() += part.extent(-1);
  Array result = zeros(shape);
  int64_t offset = 0;
  for (const Array &part : parts) {
    forRows(part, [&](int64_t row, int64_t first) {
      for (int64_t w = 0; w < part.extent(-1); ++w)
        result.values[row * shape.back() + offset + w] = part.values[first + w];
    });
    offset += part.extent(-1);
  }
  return result;
}

Array live(const Array &sequence, const Array &lengths) {
  Array result = zeros({sequence.extent(0), sequence.extent(1)});
  forRows(result, [&](int64_t batch, int64_t first) {
    for (int64_t q = 0; q < sequence.extent(1); ++q)
      result.values[first + q] = double(q) < lengths.values[batch];
  });
  return result;
}

Array where(const Array &live, const Array &fresh, const Array *kept) {
  Array result = fresh;
  forRows(fresh, [&](int64_t row, int64_t first) {
    for (int64_t w = 0; live.values[row] == 0 && w < fresh.extent(-1); ++w)
      result.values[first + w] = kept ? kept->values[first + w] : 0;
  });
  return result;
}

Array layerNorm(const Array &x, const Array &weight, const Array *bias, double epsilon) {
  Array result = x;
  int64_t width = x.extent(-1);
  forRows(x, [&](int64_t, int64_t first) {
    double mean = 0, variance = 0;
    for (int64_t w = 0; w < width; ++w)
      mean += x.values[first + w] / double(width);
    for (int64_t w = 0; w < width; ++w)
      variance += (x.values[first + w] - mean) * (x.values[first + w] - mean) / double(width);
    for (int64_t w = 0; w < width; ++w)
      result.values[first + w] =
          (x.values[first + w] - mean) / std::sqrt(variance + epsilon) * weight.values[w] +
          (bias ? bias->values[w] : 0);
  });
  return result;
}

Array rmsNorm(const Array &x, const Array &weight, double epsilon) {
  Array result = x;
  int64_t width = x.extent(-1);
  forRows(x, [&](int64_t, int64_t first) {
    double square = 0;
    for (int64_t w = 0; w < width; ++w)
      square += x.values[first + w] * x.values[first + w] / double(width);
    for (int64_t w = 0; w < width; ++w)
      result.values[first + w] = x.values[first + w] / std::sqrt(square + epsilon) * weight.values[w];
  });
  return result;
}

Array l2Norm(const Array &x, double epsilon) {
  Array result = x;
  int64_t width = x.extent(-1);
  forRows(x, [&](int64_t, int64_t first) {
    double square = 0;
    for (int64_t w = 0; w < width; ++w)
      square += x.values[first + w] * x.values[first + w];
    for (int64_t w = 0; w < width; ++w)
      result.values[first + w] = x.values[first + w] / std::max(std::sqrt(square), epsilon);
  });
  return result;
}

Array rotary(const Array &x, const Array &table, const Array *starts, bool interleaved) {
  Array result = x;
  int64_t half = table.extent(1) / 2, rowsOfBatch = x.extent(1) * x.extent(2);
  forRows(x, [&](int64_t row, int64_t first) {
    int64_t position = row % x.extent(2) + (starts ? int64_t(starts->values[row / rowsOfBatch]) : 0);
    for (int64_t j = 0; j < half; ++j) {
      int64_t a = first + (interleaved ? 2 * j : j), b = first + (interleaved ? 2 * j + 1 : half + j);
      double sine = table.values[table.at({position, j})],
             cosine = table.values[table.at({position, half + j})];
      result.values[a] = x.values[a] * cosine - x.values[b] * sine;
      result.values[b] = x.values[b] * cosine + x.values[a] * sine;
    }
  });
  return result;
}

double gelu(double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }

double geluTanh(double x) {
  const double pi = std::acos(-1.0);
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / pi) * (x + 0.044715 * x * x * x)));
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

Array splitHeads(const Array &x, int64_t heads) {
  int64_t width = x.extent(2) / heads;
  Array result = zeros({x.extent(0), heads, x.extent(1), width});
  for (int64_t b = 0; b < x.extent(0); ++b)
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t q = 0; q < x.extent(1); ++q)
        for (int64_t w = 0; w < width; ++w)
          result.values[result.at({b, h, q, w})] = x.values[x.at({b, q, h * width + w})];
  return result;
}

Array mergeHeads(const Array &x) {
  int64_t heads = x.extent(1), width = x.extent(3);
  Array result = zeros({x.extent(0), x.extent(2), heads * width});
  for (int64_t b = 0; b < x.extent(0); ++b)
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t q = 0; q < x.extent(2); ++q)
        for (int64_t w = 0; w < width; ++w)
          result.values[result.at({b, q, h * width + w})] = x.values[x.at({b, h, q, w})];
  return result;
}

Array slice(const Array &x, int64_t offset, int64_t width) {
  std::vector<int64_t> shape = x.shape;
  shape.back() = width;
  Array result = zeros(shape);
  forRows(result, [&](int64_t row, int64_t first) {
    for (int64_t w = 0; w < width; ++w)
      result.values[first + w] = x.values[row * x.extent(-1) + offset + w];
  });
  return result;
}

Array select(const Array &x, int64_t position) {
  Array result = zeros({x.extent(0), x.extent(2)});
  for (int64_t b = 0; b < x.extent(0); ++b)
    for (int64_t w = 0; w < x.extent(2); ++w)
      result.values[result.at({b, w})] = x.values[x.at({b, position, w})];
  return result;
}

Array reshape(const Array &x, std::vector<int64_t> shape) { return {std::move(shape), x.values}; }

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

Array matmul(const Array &lhs, const Array &rhs, bool transposed) {
  int64_t inner = lhs.extent(-1), rows = lhs.extent(-2), columns = rhs.extent(transposed ? -2 : -1);
  // Matrices on the left for each on the right: heads of a group follow each other.
  int64_t group = (lhs.size() / (rows * inner)) / std::max<int64_t>(1, rhs.size() / (inner * columns));
  std::vector<int64_t> shape = lhs.shape;
  shape.back() = columns;
  Array result = zeros(shape);
  for (int64_t m = 0; m < lhs.size() / (rows * inner); ++m)
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns; ++c)
        for (int64_t k = 0; k < inner; ++k)
          result.values[(m * rows + r) * columns + c] +=
              lhs.values[(m * rows + r) * inner + k] *
              rhs.values[m / group * inner * columns + (transposed ? c * inner + k : k * columns + c)];
  return result;
}

Array additiveScores(const Array &query, const Array &key, const Array &weight) {
  int64_t group = query.extent(1) / key.extent(1), width = query.extent(3);
  Array result = zeros({query.extent(0), query.extent(1), query.extent(2), key.extent(2)});
  for (int64_t b = 0; b < query.extent(0); ++b)
    for (int64_t h = 0; h < query.extent(1); ++h)
      for (int64_t q = 0; q < query.extent(2); ++q)
        for (int64_t k = 0; k < key.extent(2); ++k)
          for (int64_t w = 0; w < width; ++w) {
            double sum = query.values[query.at({b, h, q, w})] + key.values[key.at({b, h / group, k, w})];
            double scale = weight.values[weight.shape.size() == 1 ? w : h * width + w];
            result.values[result.at({b, h, q, k})] += scale * std::tanh(sum);
          }
  return result;
}

Array mapScores(const Array &scores, const Array *starts, const ScoreFunction &apply) {
  Array result = scores;
  for (int64_t b = 0; b < scores.extent(0); ++b)
    for (int64_t h = 0; h < scores.extent(1); ++h)
      for (int64_t q = 0; q < scores.extent(2); ++q)
        for (int64_t k = 0; k < scores.extent(3); ++k) {
          double &score = result.values[result.at({b, h, q, k})];
          if (score != -Infinity)
            score = apply(score, {b, h, q + (starts ? int64_t(starts->values[b]) : 0), k});
        }
  return result;
}

/// Sets scores to minus infinity where `masked(batch, query, key)`.
static Array mask(const Array &scores, const std::function<bool(int64_t, int64_t, int64_t)> &masked) {
  Array result = scores;
  for (int64_t b = 0; b < scores.extent(0); ++b)
    for (int64_t h = 0; h < scores.extent(1); ++h)
      for (int64_t q = 0; q < scores.extent(2); ++q)
        for (int64_t k = 0; k < scores.extent(3); ++k)
          if (masked(b, q, k))
            result.values[result.at({b, h, q, k})] = -Infinity;
  return result;
}

Array causalMask(const Array &scores) {
  return mask(scores, [](int64_t, int64_t query, int64_t key) { return key > query; });
}

Array windowMask(const Array &scores, const Array *starts, int64_t before, int64_t after) {
  return mask(scores, [=](int64_t batch, int64_t query, int64_t key) {
    int64_t position = query + (starts ? int64_t(starts->values[batch]) : 0);
    return (before >= 0 && key < position - before) || (after >= 0 && key > position + after);
  });
}

Array prefixMask(const Array &scores, const Array &lengths) {
  return mask(scores, [&](int64_t batch, int64_t query, int64_t key) {
    return key > query && double(key) >= lengths.values[batch];
  });
}

Array paddingMask(const Array &scores, const Array &lengths) {
  return mask(scores, [&](int64_t batch, int64_t, int64_t key) { return key >= lengths.values[batch]; });
}

Array softmax(const Array &scores) {
  Array result = scores;
  int64_t keys = scores.extent(-1);
  forRows(scores, [&](int64_t, int64_t first) {
    auto row = scores.values.begin() + first;
    double maximum = *std::max_element(row, row + keys), sum = 0;
    for (int64_t k = 0; k < keys; ++k)
      sum += maximum == -Infinity ? 0 : std::exp(row[k] - maximum);
    for (int64_t k = 0; k < keys; ++k)
      result.values[first + k] = sum == 0 ? 0 : std::exp(row[k] - maximum) / sum;
  });
  return result;
}

Array meanHeads(const Array &weights) {
  Array result = zeros({weights.extent(0), weights.extent(2), weights.extent(3)});
  int64_t matrix = weights.extent(2) * weights.extent(3), heads = weights.extent(1);
  for (int64_t b = 0; b < weights.extent(0); ++b)
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t i = 0; i < matrix; ++i)
        result.values[b * matrix + i] += weights.values[(b * heads + h) * matrix + i] / double(heads);
  return result;
}

//===----------------------------------------------------------------------===//
// Caches
//===----------------------------------------------------------------------===//

Array append(const Array &fresh, const Array &cache, const Array &positions) {
  Array result = cache;
  for (int64_t r = 0; r < fresh.extent(0); ++r)
    for (int64_t h = 0; h < fresh.extent(1); ++h)
      for (int64_t q = 0; q < fresh.extent(2); ++q)
        for (int64_t w = 0; w < fresh.extent(3); ++w)
          result.values[result.at({r, (int64_t(positions.values[r]) + q) % cache.extent(1), h, w})] =
              fresh.values[fresh.at({r, h, q, w})];
  return result;
}

Array recall(const Array &cache, const Array &ancestors, const Array &positions, const Array &initial) {
  Array result = initial;
  for (int64_t r = 0; r < initial.extent(0); ++r) {
    int64_t before = int64_t(positions.values[r]) - 1;
    for (int64_t w = 0; before >= 0 && w < initial.extent(2); ++w) {
      int64_t slot = int64_t(ancestors.values[ancestors.at({r, before})]);
      result.values[result.at({r, 0, w})] = cache.values[cache.at({slot, before % cache.extent(1), 0, w})];
    }
  }
  return result;
}

Array lookup(const Array &cache, const Array &ancestors) {
  int64_t keys = std::min(cache.extent(1), ancestors.extent(1));
  Array result = zeros({ancestors.extent(0), cache.extent(2), keys, cache.extent(3)});
  for (int64_t r = 0; r < result.extent(0); ++r)
    for (int64_t h = 0; h < result.extent(1); ++h)
      for (int64_t k = 0; k < keys; ++k)
        for (int64_t w = 0; w < result.extent(3); ++w)
          result.values[result.at({r, h, k, w})] =
              cache.values[cache.at({int64_t(ancestors.values[ancestors.at({r, k})]), k, h, w})];
  return result;
}

Array take(const Array &x, const Array &index) {
  std::vector<int64_t> shape = x.shape;
  shape[0] = index.extent(0);
  Array result = zeros(shape);
  int64_t part = x.size() / x.extent(0);
  for (int64_t r = 0; r < index.extent(0); ++r)
    std::copy_n(x.values.begin() + int64_t(index.values[r]) * part, part, result.values.begin() + r * part);
  return result;
}

//===----------------------------------------------------------------------===//
// Vocabulary
//===----------------------------------------------------------------------===//

Array logSumExp(const Array &logits) {
  Array result = zeros({logits.shape.begin(), logits.shape.end() - 1});
  forRows(logits, [&](int64_t number, int64_t first) {
    auto row = logits.values.begin() + first, end = row + logits.extent(-1);
    double maximum = *std::max_element(row, end), sum = 0;
    for (auto logit = row; logit != end; ++logit)
      sum += std::exp(*logit - maximum);
    result.values[number] = maximum + std::log(sum);
  });
  return result;
}

Array logSoftmax(const Array &logits) {
  Array result = logits, logSum = logSumExp(logits);
  forRows(logits, [&](int64_t number, int64_t first) {
    for (int64_t w = 0; w < logits.extent(-1); ++w)
      result.values[first + w] -= logSum.values[number];
  });
  return result;
}

Array pick(const Array &x, const Array &ids) {
  Array result = zeros(ids.shape);
  for (int64_t row = 0; row < ids.size(); ++row)
    result.values[row] = x.values[row * x.extent(-1) + int64_t(ids.values[row])];
  return result;
}

std::pair<Array, Array> topK(const Array &x, int64_t candidates) {
  std::vector<int64_t> shape = x.shape;
  shape.back() = candidates;
  Array values = zeros(shape), ids = zeros(shape);
  forRows(x, [&](int64_t row, int64_t first) {
    std::vector<int64_t> order(x.extent(-1));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int64_t a, int64_t b) { return x.values[first + a] > x.values[first + b]; });
    for (int64_t c = 0; c < candidates; ++c) {
      values.values[row * candidates + c] = x.values[first + order[c]];
      ids.values[row * candidates + c] = double(order[c]);
    }
  });
  return {values, ids};
}

} // namespace reference
