//===- Hash.h - XXH3-128 as the manifest writes it --------------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ATTNRT_SRC_HASH_H
#define ATTNRT_SRC_HASH_H

#include <string>
#include <string_view>

namespace attnrt {

/// 32 lower-case hexadecimal digits, the high half first.
std::string hash128(std::string_view bytes);

} // namespace attnrt

#endif // ATTNRT_SRC_HASH_H
