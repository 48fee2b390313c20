//===- Unicode.h - UTF-8 and what Unicode says of characters -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Texts are UTF-8 here. Only validUtf8() takes bytes that may be broken.

#ifndef ATTNRT_SRC_UNICODE_H
#define ATTNRT_SRC_UNICODE_H

#include <cstddef>
#include <string>
#include <string_view>

namespace attnrt {

/// The length of the code point that `bytes` begin with. Bytes that are no valid UTF-8 (overlong forms and
/// surrogates included) count one by one.
size_t codePointLength(std::string_view bytes);

/// `bytes` with U+FFFD for each byte that is not valid UTF-8.
std::string validUtf8(std::string_view bytes);

/// The code point at `text[at]`; `at` moves behind it.
char32_t nextCodePoint(std::string_view text, size_t &at);
void appendCodePoint(std::string &text, char32_t point);

/// How many bytes the grapheme cluster has that `text` begins with.
size_t graphemeLength(std::string_view text);

bool isWhiteSpace(char32_t point);
bool isLetter(char32_t point);
bool isNumber(char32_t point);
bool isPunctuation(char32_t point); // with the symbols of ASCII
bool isMark(char32_t point);
bool isNonspacingMark(char32_t point);
bool isControl(char32_t point);  // with format and private use
bool isWordPart(char32_t point); // \w of a regular expression

enum class NormalForm { C, D, KC, KD };
std::string normalForm(std::string_view text, NormalForm form);
std::string lowerCase(std::string_view text);

} // namespace attnrt

#endif // ATTNRT_SRC_UNICODE_H
