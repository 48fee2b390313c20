//===- TextPart.h - a piece of a text on its way to tokens -------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ATTNRT_SRC_TEXTPART_H
#define ATTNRT_SRC_TEXTPART_H

#include "Failure.h"

#include <string>
#include <vector>

namespace attnrt {

struct TextPart {
  std::string text;     // UTF-8
  bool isFirst = false; // it begins where the whole text begins
};

/// A tokenizer's file may ask for texts that grow at each step: here that ends.
inline void checkLength(size_t bytes) {
  constexpr size_t longest = 16u << 20;
  check(bytes <= longest, ATTNRT_OUT_OF_RANGE, "a text has more than ", longest, " bytes");
}

inline void checkLength(const std::string &text) { checkLength(text.size()); }

inline void checkLength(const std::vector<TextPart> &parts) {
  size_t bytes = 0;
  for (const TextPart &part : parts)
    bytes += part.text.size();
  checkLength(bytes);
}

} // namespace attnrt

#endif // ATTNRT_SRC_TEXTPART_H
