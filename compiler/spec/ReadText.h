//===- ReadText.h - files of the user as text ------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ATTNC_SPEC_READTEXT_H
#define ATTNC_SPEC_READTEXT_H

#include "compiler/spec/Diagnostics.h"

#include <istream>
#include <optional>
#include <string>

namespace attnc {

/// What `in` holds, or its first `most` + 1 bytes: a path may name a device without an end.
std::string readText(std::istream &in, size_t most);

/// The same of the file at `path`. Nothing is returned where it cannot be read, and `diagnostics` says why;
/// `what` names it there ("spec").
std::optional<std::string> readFile(const std::string &path, size_t most, const std::string &what,
                                    Diagnostics &diagnostics);

} // namespace attnc

#endif // ATTNC_SPEC_READTEXT_H
