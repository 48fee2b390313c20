//===- PreTokenizers.h - the `pre_tokenizer` of a tokenizer.json -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Cuts a text into the words that a model of subwords splits on their own.

#ifndef ATTNRT_SRC_PRETOKENIZERS_H
#define ATTNRT_SRC_PRETOKENIZERS_H

#include "Json.h"
#include "TextPart.h"

#include <array>
#include <functional>

namespace attnrt {

/// Replaces the parts by smaller ones. None of them is empty.
using PreTokenizer = std::function<void(std::vector<TextPart> &)>;

/// Null gives one that does nothing. A component that is not supported is a failure that names it.
PreTokenizer makePreTokenizer(const JsonReader &json);

/// The character that stands for a space in front of or inside words, and when a text gets one in front.
struct Metaspace {
  explicit Metaspace(const JsonReader &json);

  enum class Prefix { Always, First, Never };
  std::string replacement;
  Prefix prefix = Prefix::Always;
  bool splits = true;
};

/// The printable code points that stand for bytes in byte-level vocabularies (Radford et al. 2019).
const std::array<char32_t, 256> &byteLevelAlphabet();

} // namespace attnrt

#endif // ATTNRT_SRC_PRETOKENIZERS_H
