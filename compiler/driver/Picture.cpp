//===- Picture.cpp - SVG files that commands write -----------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/driver/Picture.h"

#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace attnc {

static std::ofstream openPicture(const std::string &path, std::ios::openmode mode) {
  std::ofstream picture(path, mode | std::ios::binary);
  if (!picture)
    throw std::runtime_error(path + ": cannot be written");
  return picture;
}

void checkPicture(const std::string &path) {
  if (path.empty())
    return;
  std::error_code none;
  const bool wasThere = std::filesystem::exists(path, none);
  openPicture(path, std::ios::app);
  if (!wasThere)
    std::filesystem::remove(path, none);
}

void writePicture(const std::string &path, const std::string &svg) {
  if (!(openPicture(path, std::ios::trunc) << svg).flush())
    throw std::runtime_error(path + ": cannot be written");
}

} // namespace attnc
