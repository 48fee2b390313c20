//===- Hash.cpp - XXH3 as manifests and seeds use it -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/emit/Hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

namespace attnc {

struct Hash128::State {
  XXH3_state_t xxh;
};

Hash128::Hash128() : state(std::make_unique<State>()) { XXH3_128bits_reset(&state->xxh); }

Hash128::~Hash128() = default;

void Hash128::add(std::string_view bytes) { XXH3_128bits_update(&state->xxh, bytes.data(), bytes.size()); }

std::string Hash128::digits() const {
  XXH128_hash_t hash = XXH3_128bits_digest(&state->xxh);
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format_hex_no_prefix(hash.high64, 16)
                                 << llvm::format_hex_no_prefix(hash.low64, 16);
  return text;
}

std::string hash128(std::string_view bytes) {
  Hash128 hash;
  hash.add(bytes);
  return hash.digits();
}

uint64_t hash64(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

} // namespace attnc
