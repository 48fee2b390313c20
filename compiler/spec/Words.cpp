//===- Words.cpp - words in messages ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Quoting and edit distance.

#include "compiler/spec/Words.h"

#include <algorithm>
#include <cstdio>
#include <numeric>

namespace attnc {

size_t utf8Length(std::string_view text) {
  auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  auto isTail = [&](size_t i) { return (byte(i) & 0xc0) == 0x80; };
  if (byte(0) < 0x80)
    return 1;
  if (byte(0) >= 0xc2 && byte(0) < 0xe0)
    return isTail(1) ? 2 : 0;
  if (byte(0) >= 0xe0 && byte(0) < 0xf0)
    return isTail(1) && isTail(2) && (byte(0) != 0xe0 || byte(1) >= 0xa0) &&
                   (byte(0) != 0xed || byte(1) < 0xa0)
               ? 3
               : 0;
  if (byte(0) >= 0xf0 && byte(0) < 0xf5)
    return isTail(1) && isTail(2) && isTail(3) && (byte(0) != 0xf0 || byte(1) >= 0x90) &&
                   (byte(0) != 0xf4 || byte(1) < 0x90)
               ? 4
               : 0;
  return 0;
}

std::string counted(size_t count, const std::string &noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string quote(std::string_view text) {
  constexpr size_t shown = 60;
  std::string result = "'";
  size_t end = std::min(text.size(), shown);
  while (end < text.size() && (text[end] & 0xc0) == 0x80)
    ++end;
  for (char c : text.substr(0, end)) {
    if (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f) {
      result += c;
      continue;
    }
    char escape[5];
    std::snprintf(escape, sizeof escape, "\\x%02x", static_cast<unsigned char>(c));
    result += escape;
  }
  return result + (end < text.size() ? "...'" : "'");
}

std::string listed(const std::vector<std::string> &words) {
  constexpr size_t shown = 40;
  std::string result;
  for (size_t i = 0; i < std::min(words.size(), shown); ++i)
    result += (i ? ", " : "") + words[i];
  return words.size() > shown ? result + ", ..." : result;
}

/// Insertions, deletions, replacements and swaps of neighbours (optimal string alignment), row by row of the
/// table.
static size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> before, last, row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t(0));
  for (size_t i = 1; i <= a.size(); ++i) {
    before = std::move(last);
    last = row;
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j - 1] + (a[i - 1] != b[j - 1]), last[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::string didYouMean(std::string_view word, const std::vector<std::string> &candidates) {
  constexpr size_t longest = 200; // names of tensors are long, names past this are no slip of the pen
  if (word.size() > longest)
    return {};
  const std::string *best = nullptr;
  size_t bestDistance = std::max<size_t>(1, word.size() / 3) + 1;
  for (const std::string &candidate : candidates) {
    if (candidate.size() > longest)
      continue;
    size_t distance = editDistance(word, candidate);
    bool sharesLetters = distance < std::max(word.size(), candidate.size());
    if (sharesLetters && distance < bestDistance) {
      best = &candidate;
      bestDistance = distance;
    }
  }
  return best ? "; did you mean " + quote(*best) + "?" : "";
}

std::string didYouMeanOrKnown(std::string_view word, const std::vector<std::string> &candidates) {
  std::string guess = didYouMean(word, candidates);
  return guess.empty() && !candidates.empty() ? "; known are " + listed(candidates) : guess;
}

} // namespace attnc
