//===- Languages.h - how tokenizers name languages --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Models of several languages tell them by tokens of the vocabulary. Old folders number these by rule: in a
// fixed order, after all pieces.

#ifndef ATTNC_HUGGINGFACE_LANGUAGES_H
#define ATTNC_HUGGINGFACE_LANGUAGES_H

#include <string>
#include <string_view>

namespace attnc {

/// How a class of tokenizers names languages and where it puts them.
struct LanguageStyle {
  std::string_view tokenizer; // the class, without "Fast"
  std::string_view around;    // of a language's code in its token
  bool comesFirst;            // before a source text, else after the end token
  bool startsTarget;          // the decoder's first token, else forced after it
  std::string_view codes;     // with blanks between them, in the order of their ids
};

/// The style of a class, or null.
const LanguageStyle *findLanguageStyle(std::string_view tokenizer);

/// The codes of M2M-100's models of WMT 2021.
extern const std::string_view wmt21Languages;

} // namespace attnc

#endif // ATTNC_HUGGINGFACE_LANGUAGES_H
