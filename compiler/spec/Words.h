//===- Words.h - words in messages -----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Quoting what a file says, and guessing what it meant.

#ifndef ATTNC_SPEC_WORDS_H
#define ATTNC_SPEC_WORDS_H

#include <string>
#include <string_view>
#include <vector>

namespace attnc {

/// The text in single quotes, shortened, with control characters written out: a spec cannot reach the
/// terminal.
std::string quote(std::string_view text);

/// `1 operand` or `2 operands`.
std::string counted(size_t count, const std::string &noun);

/// The length of the UTF-8 sequence that `text` starts with, or 0 where it is none.
size_t utf8Length(std::string_view text);

/// The words with commas between them; past 40, an ellipsis.
std::string listed(const std::vector<std::string> &words);

/// `; did you mean 'width'?` where a candidate is close to `word`, or nothing.
std::string didYouMean(std::string_view word, const std::vector<std::string> &candidates);

/// `didYouMean`, or else `; known are ...`.
std::string didYouMeanOrKnown(std::string_view word, const std::vector<std::string> &candidates);

} // namespace attnc

#endif // ATTNC_SPEC_WORDS_H
