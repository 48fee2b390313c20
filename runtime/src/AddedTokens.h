//===- AddedTokens.h - tokens that a text may hold as they are ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The `added_tokens` of a tokenizer.json: languages, masks and the like, which are found in the text before
// it is split.

#ifndef ATTNRT_SRC_ADDEDTOKENS_H
#define ATTNRT_SRC_ADDEDTOKENS_H

#include "PrefixIndex.h"
#include "TextPart.h"

#include <optional>
#include <unordered_map>

namespace attnrt {

struct AddedToken {
  std::string text;
  int32_t id = 0;
  bool isWord = false;                          // found only where no letter touches it
  bool stripsLeft = false, stripsRight = false; // takes white space beside it
  bool isNormalized = false;                    // looked for in the normalized text
  bool isSpecial = false;                       // left out of decoded texts
};

/// A token that was found, or text between tokens.
struct AddedPart {
  TextPart part; // empty of a token
  std::optional<int32_t> id;
};

class AddedTokens {
public:
  AddedTokens() = default;
  /// `patterns` are the texts to look for: one of each token.
  AddedTokens(std::vector<AddedToken> tokens, const std::vector<std::string> &patterns);

  /// Cuts `part` at the tokens in it: the leftmost first, of those the longest. As in the package, white
  /// space that a token takes may hold another, and what stands behind that one counts again.
  void split(const TextPart &part, std::vector<AddedPart> &parts) const;

private:
  struct Match {
    size_t begin, end;
    const AddedToken *token;
  };
  std::optional<Match> findFrom(std::string_view text, size_t at) const;

  std::vector<AddedToken> tokens;
  PrefixIndex index; // values are places in `tokens`
};

} // namespace attnrt

#endif // ATTNRT_SRC_ADDEDTOKENS_H
