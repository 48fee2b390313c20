//===- Hash.cpp - XXH3-128 as the manifest writes it ------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cinttypes>
#include <cstdio>

namespace attnrt {

std::string hash128(std::string_view bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  char digits[33];
  std::snprintf(digits, sizeof digits, "%016" PRIx64 "%016" PRIx64, static_cast<uint64_t>(hash.high64),
                static_cast<uint64_t>(hash.low64));
  return digits;
}

} // namespace attnrt
