//===- Unicode.cpp - UTF-8 and what Unicode says of characters ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Unicode.h"
#include "Failure.h"

#include <cstdlib>
#include <memory>
#include <utf8proc.h>

namespace attnrt {

size_t codePointLength(std::string_view bytes) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const auto continues = [&](size_t i) { return i < bytes.size() && (byte(i) & 0xc0) == 0x80; };
  const unsigned first = byte(0);
  if (first >= 0xc2 && first <= 0xdf && continues(1))
    return 2;
  if (first >= 0xe0 && first <= 0xef && continues(1) && continues(2)) {
    const bool isOverlong = first == 0xe0 && byte(1) < 0xa0;
    const bool isSurrogate = first == 0xed && byte(1) >= 0xa0;
    return isOverlong || isSurrogate ? 1 : 3;
  }
  if (first >= 0xf0 && first <= 0xf4 && continues(1) && continues(2) && continues(3)) {
    const bool isOverlong = first == 0xf0 && byte(1) < 0x90;
    const bool isTooLarge = first == 0xf4 && byte(1) >= 0x90;
    return isOverlong || isTooLarge ? 1 : 4;
  }
  return 1;
}

std::string validUtf8(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    const size_t length = codePointLength(bytes);
    const bool isBroken = length == 1 && static_cast<unsigned char>(bytes[0]) >= 0x80;
    text += isBroken ? std::string_view("\xef\xbf\xbd") : bytes.substr(0, length);
    bytes.remove_prefix(length);
  }
  return text;
}

char32_t nextCodePoint(std::string_view text, size_t &at) {
  const auto *bytes = reinterpret_cast<const utf8proc_uint8_t *>(text.data() + at);
  utf8proc_int32_t point = 0;
  const utf8proc_ssize_t length = utf8proc_iterate(bytes, text.size() - at, &point);
  check(length > 0, ATTNRT_INTERNAL, "a text is not UTF-8");
  at += length;
  return point;
}

void appendCodePoint(std::string &text, char32_t point) {
  utf8proc_uint8_t bytes[4];
  const utf8proc_ssize_t length = utf8proc_encode_char(point, bytes);
  text.append(reinterpret_cast<const char *>(bytes), length);
}

size_t graphemeLength(std::string_view text) {
  size_t at = 0;
  utf8proc_int32_t state = 0;
  char32_t before = nextCodePoint(text, at);
  while (at < text.size()) {
    size_t next = at;
    const char32_t point = nextCodePoint(text, next);
    if (utf8proc_grapheme_break_stateful(before, point, &state))
      break;
    before = point;
    at = next;
  }
  return at;
}

bool isWhiteSpace(char32_t point) {
  return (point >= 9 && point <= 13) || point == ' ' || point == 0x85 || point == 0xa0 || point == 0x1680 ||
         (point >= 0x2000 && point <= 0x200a) || point == 0x2028 || point == 0x2029 || point == 0x202f ||
         point == 0x205f || point == 0x3000;
}

bool isLetter(char32_t point) {
  const auto category = utf8proc_category(point);
  return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}

bool isNumber(char32_t point) {
  const auto category = utf8proc_category(point);
  return category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO;
}

bool isPunctuation(char32_t point) {
  if (point < 0x80)
    return point > ' ' && point < 0x7f && !isLetter(point) && !isNumber(point);
  const auto category = utf8proc_category(point);
  return category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO;
}

bool isMark(char32_t point) {
  const auto category = utf8proc_category(point);
  return category >= UTF8PROC_CATEGORY_MN && category <= UTF8PROC_CATEGORY_ME;
}

bool isNonspacingMark(char32_t point) { return utf8proc_category(point) == UTF8PROC_CATEGORY_MN; }

bool isControl(char32_t point) {
  const auto category = utf8proc_category(point);
  return category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CF ||
         category == UTF8PROC_CATEGORY_CO;
}

bool isWordPart(char32_t point) {
  const auto category = utf8proc_category(point);
  return isLetter(point) || isMark(point) || category == UTF8PROC_CATEGORY_ND ||
         category == UTF8PROC_CATEGORY_NL || category == UTF8PROC_CATEGORY_PC;
}

std::string normalForm(std::string_view text, NormalForm form) {
  const bool isComposed = form == NormalForm::C || form == NormalForm::KC;
  const bool isCompatible = form == NormalForm::KC || form == NormalForm::KD;
  const auto options =
      static_cast<utf8proc_option_t>(UTF8PROC_STABLE | (isComposed ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE) |
                                     (isCompatible ? UTF8PROC_COMPAT : 0));
  utf8proc_uint8_t *mapped = nullptr;
  const utf8proc_ssize_t length =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t *>(text.data()), text.size(), &mapped, options);
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(mapped, std::free);
  check(length >= 0, length == UTF8PROC_ERROR_NOMEM ? ATTNRT_OUT_OF_MEMORY : ATTNRT_INTERNAL,
        "a text cannot be normalized: ", utf8proc_errmsg(length));
  return {reinterpret_cast<const char *>(mapped), static_cast<size_t>(length)};
}

std::string lowerCase(std::string_view text) {
  std::string lower;
  for (size_t at = 0; at < text.size();) {
    const char32_t point = nextCodePoint(text, at);
    if (point == 0x130)
      lower += "i\xcc\x87"; // the only character whose lower case is two characters
    else
      appendCodePoint(lower, utf8proc_tolower(point));
  }
  return lower;
}

} // namespace attnrt
