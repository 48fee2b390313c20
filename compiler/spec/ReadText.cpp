//===- ReadText.cpp - files of the user as text ----------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/spec/ReadText.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

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

std::optional<std::string> readFile(const std::string &path, size_t most, const std::string &what,
                                    Diagnostics &diagnostics) {
  diagnostics.setSource(path, {});
  std::error_code failure;
  if (std::filesystem::is_directory(path, failure)) {
    diagnostics.error({}, "this is a folder, no " + what);
    return std::nullopt;
  }
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    diagnostics.error({}, "cannot read the " + what + ": " + std::strerror(errno));
    return std::nullopt;
  }
  return readText(in, most);
}

} // namespace attnc
