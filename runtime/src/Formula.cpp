//===- Formula.cpp - sizes in bytes as the manifest states them --------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Formula.h"
#include "Failure.h"

#include <algorithm>
#include <charconv>

namespace attnrt {
namespace {

bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isNamePart(char c) { return (c >= 'a' && c <= 'z') || c == '_' || isDigit(c); }

/// Takes words, numbers and signs off the front of a text.
struct Scanner {
  std::string_view rest;

  void skipSpaces() { rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size())); }

  bool accept(char sign) {
    skipSpaces();
    if (rest.empty() || rest.front() != sign)
      return false;
    rest.remove_prefix(1);
    return true;
  }

  std::string_view word() {
    skipSpaces();
    const size_t length = std::find_if_not(rest.begin(), rest.end(), isNamePart) - rest.begin();
    const std::string_view taken = rest.substr(0, length);
    rest.remove_prefix(length);
    return taken;
  }
};

} // namespace

Formula::Formula(std::string_view text, const std::vector<std::string> &names) {
  const auto reject = [&](auto &&...why) {
    fail(ATTNRT_BAD_BUNDLE, "formula '", text.substr(0, 80), "': ", why...);
  };
  Scanner scanner{text};
  do {
    Term &term = terms.emplace_back();
    do {
      const std::string_view word = scanner.word();
      if (word.empty())
        reject("a number or a size is missing");
      if (!isDigit(word.front())) {
        const auto name = std::find(names.begin(), names.end(), word);
        if (name == names.end())
          reject("'", word, "' is none of the sizes");
        term.factors.push_back(name - names.begin());
        continue;
      }
      int64_t number = 0;
      const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
      if (error != std::errc() || end != word.data() + word.size() ||
          __builtin_mul_overflow(term.coefficient, number, &term.coefficient))
        reject("'", word, "' is not a number of 64 bits");
    } while (scanner.accept('*'));
  } while (scanner.accept('+'));
  scanner.skipSpaces();
  if (!scanner.rest.empty())
    reject("'", scanner.rest.front(), "' is not expected");
}

std::optional<int64_t> Formula::evaluate(std::span<const int64_t> sizes) const {
  int64_t sum = 0;
  for (const Term &term : terms) {
    int64_t product = term.coefficient;
    for (const size_t factor : term.factors)
      if (__builtin_mul_overflow(product, sizes[factor], &product))
        return std::nullopt;
    if (__builtin_add_overflow(sum, product, &sum))
      return std::nullopt;
  }
  return sum;
}

std::vector<size_t> Formula::sizes() const {
  std::vector<size_t> found;
  for (const Term &term : terms)
    for (const size_t factor : term.factors)
      if (std::find(found.begin(), found.end(), factor) == found.end())
        found.push_back(factor);
  return found;
}

} // namespace attnrt
