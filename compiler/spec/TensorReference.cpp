//===- TensorReference.cpp - a part of a tensor, or a sum -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/spec/TensorReference.h"
#include "compiler/spec/MapReader.h"

namespace attnc {

/// `a`, `a[0].b` or `a[1/3].b`; brackets that hold something else belong to the name.
static TensorTerm readTerm(const std::string &text) {
  size_t open = text.rfind('['), close = text.find(']', std::min(open, text.size()));
  if (close == std::string::npos)
    return {text};
  std::string inner = text.substr(open + 1, close - open - 1);
  size_t slash = inner.find('/');
  bool isPart = slash != std::string::npos;
  std::optional<int64_t> index = parseInteger(inner.substr(0, slash));
  std::optional<int64_t> parts = isPart ? parseInteger(inner.substr(slash + 1)) : std::optional<int64_t>(0);
  if (!index || !parts || *index < 0 || (isPart && *index >= *parts))
    return {text};
  return {text.substr(0, open) + text.substr(close + 1), *index, *parts};
}

std::vector<TensorTerm> readReference(const std::string &name, const WeightFiles &file) {
  if (file.find(name))
    return {{name}};
  constexpr std::string_view plus = " + ";
  std::vector<TensorTerm> terms;
  size_t begin = 0;
  for (size_t end; (end = name.find(plus, begin)) != std::string::npos; begin = end + plus.size())
    terms.push_back(readTerm(name.substr(begin, end - begin)));
  terms.push_back(readTerm(name.substr(begin)));
  return terms;
}

std::optional<TensorSlice> sliceOf(const TensorTerm &term, const Tensor &tensor,
                                   const std::vector<int64_t> &shape) {
  int64_t columns = shape.back(), rows = shape.size() == 2 ? shape[0] : 1;
  if (term.parts == 0) {
    bool isThere = tensor.shape.size() == 2 && tensor.shape[1] == columns && term.index < tensor.shape[0];
    return isThere ? std::optional(TensorSlice{term.index * columns, 1, columns, columns}) : std::nullopt;
  }
  if (term.parts == 1)
    return canBeReadAs(tensor, shape) ? std::optional(TensorSlice{0, rows, columns, columns}) : std::nullopt;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    std::vector<int64_t> whole = shape;
    if (__builtin_mul_overflow(whole[axis], term.parts, &whole[axis]) || tensor.shape != whole)
      continue;
    bool areRows = shape.size() == 2 && axis == 0;
    return TensorSlice{term.index * (areRows ? rows * columns : columns), rows, columns, whole.back()};
  }
  return std::nullopt;
}

} // namespace attnc
