//===- TextPart.h - a piece of a text on its way to tokens -------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ATTNRT_SRC_TEXTPART_H
#define ATTNRT_SRC_TEXTPART_H

#include "Failure.h"

#include <string>

namespace attnrt {

struct TextPart {
  std::string text;     // UTF-8
  bool isFirst = false; // it begins where the whole text begins
};

/// A tokenizer's file may ask for texts that grow at each step: here that ends.
inline void checkLength(const std::string &text) {
  constexpr size_t longest = 16u << 20;
  check(text.size() <= longest, ATTNRT_OUT_OF_RANGE, "the normalized text has more than ", longest, " bytes");
}

} // namespace attnrt

#endif // ATTNRT_SRC_TEXTPART_H
