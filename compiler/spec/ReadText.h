//===- ReadText.h - files of the user as text ------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ATTNC_SPEC_READTEXT_H
#define ATTNC_SPEC_READTEXT_H

#include <istream>
#include <string>

namespace attnc {

/// What `in` holds, or its first `most` + 1 bytes: a path may name a device without an end.
std::string readText(std::istream &in, size_t most);

} // namespace attnc

#endif // ATTNC_SPEC_READTEXT_H
