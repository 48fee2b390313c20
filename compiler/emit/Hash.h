//===- Hash.h - XXH3 as manifests and seeds use it -------------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ATTNC_COMPILER_EMIT_HASH_H
#define ATTNC_COMPILER_EMIT_HASH_H

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace attnc {

/// XXH3-128 of what was added so far, as 32 hexadecimal digits.
class Hash128 {
public:
  Hash128();
  ~Hash128();
  void add(std::string_view bytes);
  std::string digits() const;

private:
  struct State;
  std::unique_ptr<State> state;
};

std::string hash128(std::string_view bytes);
uint64_t hash64(std::string_view bytes);

} // namespace attnc

#endif // ATTNC_COMPILER_EMIT_HASH_H
