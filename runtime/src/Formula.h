//===- Formula.h - sizes in bytes as the manifest states them ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// `64 + 2048 * batch * source` becomes terms over the bundle's sizes, evaluated without overflow.

#ifndef ATTNRT_SRC_FORMULA_H
#define ATTNRT_SRC_FORMULA_H

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attnrt {

/// A sum of products of whole numbers >= 0 and sizes: it never falls as a size grows, so what suffices for a
/// session's capacity suffices for each of its requests.
class Formula {
public:
  Formula() = default;

  /// Reads `text` over the sizes called `names`. Anything else is a failure that says what is wrong.
  Formula(std::string_view text, const std::vector<std::string> &names);

  /// The value, or nothing where it does not fit.
  std::optional<int64_t> evaluate(std::span<const int64_t> sizes) const;

  /// The sizes that count, by index, in the order in which they first stand there.
  std::vector<size_t> sizes() const;

private:
  struct Term {
    int64_t coefficient = 1;
    std::vector<size_t> factors; // indices of sizes
  };
  std::vector<Term> terms;
};

} // namespace attnrt

#endif // ATTNRT_SRC_FORMULA_H
