//===- ScoreExpression.h - functions of a score written in a spec ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// `softcap(s, 30) + slopes[head] * (key - query)` as a typed tree. The language is
// docs/attention/expressions.md.

#ifndef ATTNC_SPEC_SCOREEXPRESSION_H
#define ATTNC_SPEC_SCOREEXPRESSION_H

#include "compiler/spec/Diagnostics.h"

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attnc {

/// Numbers are float32, whole numbers have 32 bits.
enum class ScalarType { Number, Whole, Condition };

enum class ScalarFunction {
  Negate,
  Not,
  And,
  Or,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  Equal,
  NotEqual,
  Add,
  Subtract,
  Multiply,
  Divide,
  FloorDivide,
  Remainder,
  ToNumber, // of a whole number; never written
  Abs,
  Exp,
  Floor,
  Log,
  Max,
  Min,
  Select,
  Sigmoid,
  Softcap,
  Sqrt,
  Tanh,
  Bucket,
  CausalBucket
};

/// The least and the largest that a whole number may be.
struct WholeRange {
  double low = 0, high = 0;
};

struct ScoreExpression {
  enum class Kind { Score, Batch, Head, Query, Key, Constant, Element, Function };
  Kind kind = Kind::Constant;
  ScalarType type = ScalarType::Number;
  Location where;
  double value = 0;                           // of a constant
  std::string table = {};                     // of an element
  ScalarFunction function = {};               // of a function
  std::vector<ScoreExpression> operands = {}; // of a function; the indices of an element
  WholeRange range = {};                      // of a whole number
};

/// The type of a table's elements, or nothing where no table has that name.
using TableTypes = std::function<std::optional<ScalarType>(std::string_view name)>;

/// Parses `text` as a `wanted`; whole numbers become numbers where one is needed. After an error nothing is
/// returned.
std::optional<ScoreExpression> parseScore(const Located<std::string> &text, ScalarType wanted,
                                          const TableTypes &tables, Diagnostics &diagnostics);

/// The buckets of distances 0, 1, 2, ... in T5 (Raffel et al. 2020): small ones have one each, larger ones
/// share them in logarithmic steps up to `mostDistance`. Gives the first distance of bucket 1, 2, ...,
/// `buckets - 1`.
std::vector<int64_t> bucketStarts(int64_t buckets, int64_t mostDistance);

} // namespace attnc

#endif // ATTNC_SPEC_SCOREEXPRESSION_H
