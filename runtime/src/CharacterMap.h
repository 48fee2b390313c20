//===- CharacterMap.h - SentencePiece's compiled normalization ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The `precompiled_charsmap` of SentencePiece: a double-array trie (Darts-clone) over UTF-8, whose values are
// places in a list of replacements that each end with a NUL.

#ifndef ATTNRT_SRC_CHARACTERMAP_H
#define ATTNRT_SRC_CHARACTERMAP_H

#include "Json.h"

namespace attnrt {

/// Whether no text leads out of a compiled map: for libraries that walk through one without looking.
bool isWholeCharacterMap(std::string_view bytes);

class CharacterMap {
public:
  /// From the file's Base64 text.
  explicit CharacterMap(const JsonReader &base64);

  std::string normalize(std::string_view text) const;

private:
  std::optional<std::string_view> replacement(std::string_view characters) const;

  std::vector<uint32_t> units;
  std::string replacements;
};

} // namespace attnrt

#endif // ATTNRT_SRC_CHARACTERMAP_H
