//===- ReadText.cpp - files of the user as text ----------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/spec/ReadText.h"

#include <algorithm>

namespace attnc {

std::string readText(std::istream &in, size_t most) {
  constexpr size_t atOnce = 1 << 16;
  std::string text;
  while (in && text.size() <= most) {
    size_t before = text.size();
    text.resize(std::min(before + atOnce, most + 1));
    in.read(text.data() + before, std::streamsize(text.size() - before));
    text.resize(before + size_t(in.gcount()));
  }
  return text;
}

} // namespace attnc
