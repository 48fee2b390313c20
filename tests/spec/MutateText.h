//===- MutateText.h - texts that are slightly wrong ------------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ATTNC_TESTS_SPEC_MUTATETEXT_H
#define ATTNC_TESTS_SPEC_MUTATETEXT_H

#include <algorithm>
#include <iterator>
#include <random>
#include <string>

namespace attnc::tests {

/// A text with one to four small changes: bytes replaced, spans removed or doubled, hostile pieces put in.
inline std::string mutated(std::string text, std::mt19937 &random) {
  static const char *const pieces[] = {"[",
                                       "]",
                                       "{",
                                       "}",
                                       ":",
                                       ",",
                                       "\n",
                                       "  ",
                                       "- ",
                                       "null",
                                       "~",
                                       "-1",
                                       "1e999",
                                       "999999999999999999999",
                                       "&a ",
                                       "*a",
                                       "!!str ",
                                       "\"",
                                       "'",
                                       "|",
                                       ">",
                                       "#",
                                       "%",
                                       "\t",
                                       "? ",
                                       "\xff",
                                       "\xed\x95\x9c",
                                       "<<",
                                       "---\n"};
  for (unsigned change = random() % 4 + 1; change && !text.empty(); --change) {
    size_t at = random() % text.size(), length = std::min<size_t>(random() % 24, text.size() - at);
    switch (random() % 4) {
    case 0:
      text[at] = char(random());
      break;
    case 1:
      text.erase(at, length);
      break;
    case 2:
      text.insert(at, text.substr(at, length));
      break;
    default:
      text.insert(at, pieces[random() % std::size(pieces)]);
    }
  }
  return text;
}

} // namespace attnc::tests

#endif // ATTNC_TESTS_SPEC_MUTATETEXT_H
