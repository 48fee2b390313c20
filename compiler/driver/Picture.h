//===- Picture.h - SVG files that commands write -------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ATTNC_COMPILER_DRIVER_PICTURE_H
#define ATTNC_COMPILER_DRIVER_PICTURE_H

#include <string>

namespace attnc {

/// Throws where a picture could not be written to `path`: before the work for it is done, which would be
/// lost. What is there stays. An empty path is for no picture.
void checkPicture(const std::string &path);

/// Throws where that fails.
void writePicture(const std::string &path, const std::string &svg);

} // namespace attnc

#endif // ATTNC_COMPILER_DRIVER_PICTURE_H
