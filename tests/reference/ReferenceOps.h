//===- ReferenceOps.h - the operations of the attn dialect in double precision -===//
// SPDX-License-Identifier: Apache-2.0
//
// The oracle: each operation as its definition says, in simple loops. Axes are slowest first, as in the
// dialect.

#ifndef ATTNC_TESTS_REFERENCE_OPS_H
#define ATTNC_TESTS_REFERENCE_OPS_H

#include <array>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace reference {

/// A dense value; ids and lengths are whole numbers in it.
struct Array {
  std::vector<int64_t> shape;
  std::vector<double> values; // row-major

  int64_t size() const { return static_cast<int64_t>(values.size()); }
  int64_t extent(int axis) const { return axis < 0 ? shape[shape.size() + axis] : shape[axis]; }
  /// The place of an element, for all axes.
  int64_t at(const std::vector<int64_t> &index) const;
};

Array zeros(std::vector<int64_t> shape);

// Rows
Array embed(const Array &ids, const Array &table);
Array addPositions(const Array &x, const Array &table, const Array *starts, int64_t offset);
Array map(const Array &x, const std::function<double(double)> &apply);
Array zip(const Array &x, const Array &y, const std::function<double(double, double)> &apply);
Array linear(const Array &x, const Array &weight, const Array *bias);
Array layerNorm(const Array &x, const Array &weight, const Array *bias, double epsilon);
Array rmsNorm(const Array &x, const Array &weight, double epsilon);
Array l2Norm(const Array &x, double epsilon);
/// Pairs of the table's width of columns; `starts` may be null.
Array rotary(const Array &x, const Array &table, const Array *starts, bool interleaved);
double gelu(double x);
double geluTanh(double x);

/// The bfloat16 that is nearest to a float, ties to even.
double roundToBfloat(double x);

/// Rows from bytes; each has its scale and the byte that stands for 0. `width` of the bytes count.
Array fromBytes(const Array &bytes, const Array &scales, int64_t width);
/// Each output's weights times its scale, the first row of `scales`.
Array scaleOutputs(const Array &weight, const Array &scales);
/// Rows as bytes, filled up to `stored`, and their scales.
std::pair<Array, Array> quantise(const Array &x, int64_t stored);
Array concat(const std::vector<Array> &parts);
Array live(const Array &sequence, const Array &lengths);
Array where(const Array &live, const Array &fresh, const Array *kept);

// Views
Array splitHeads(const Array &x, int64_t heads);
Array mergeHeads(const Array &x);
Array slice(const Array &x, int64_t offset, int64_t width);
Array select(const Array &x, int64_t position);
Array reshape(const Array &x, std::vector<int64_t> shape);

// Attention
Array matmul(const Array &lhs, const Array &rhs, bool transposed);
Array additiveScores(const Array &query, const Array &key, const Array &weight);
/// The new score from the old one and its batch, head, query (from the start on) and key.
using ScoreFunction = std::function<double(double score, const std::array<int64_t, 4> &at)>;
Array mapScores(const Array &scores, const Array *starts, const ScoreFunction &apply);
Array causalMask(const Array &scores);
/// `before` and `after` are without limit where they are negative.
Array windowMask(const Array &scores, const Array *starts, int64_t before, int64_t after);
Array prefixMask(const Array &scores, const Array &lengths);
Array paddingMask(const Array &scores, const Array &lengths);
Array softmax(const Array &scores);
Array meanHeads(const Array &weights);

// Caches
Array append(const Array &fresh, const Array &cache, const Array &positions);
Array recall(const Array &cache, const Array &ancestors, const Array &positions, const Array &initial);
Array lookup(const Array &cache, const Array &ancestors);
Array take(const Array &x, const Array &index);

// Vocabulary
Array logSumExp(const Array &logits);
Array logSoftmax(const Array &logits);
Array pick(const Array &x, const Array &ids);
std::pair<Array, Array> topK(const Array &x, int64_t candidates);

} // namespace reference

#endif // ATTNC_TESTS_REFERENCE_OPS_H
