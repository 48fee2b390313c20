//===- SubwordModel.h - the `model` of a tokenizer.json ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ATTNRT_SRC_SUBWORDMODEL_H
#define ATTNRT_SRC_SUBWORDMODEL_H

#include "Json.h"

#include <memory>
#include <unordered_map>

namespace attnrt {

/// Tokens and their ids, which may have holes.
class TokenTable {
public:
  /// Of tokens with one id the last counts, and of ids of one token.
  void add(const std::string &token, int32_t id);
  /// Adds an object of tokens and ids below `limit`.
  void addAll(const JsonReader &json, int32_t limit);

  std::optional<int32_t> find(const std::string &token) const;
  /// Null for an id without a token.
  const std::string *text(int32_t id) const;

private:
  std::unordered_map<std::string, int32_t> ids;
  std::unordered_map<int32_t, const std::string *> texts; // keys of `ids`
};

/// Splits words into tokens. Immutable.
class SubwordModel {
public:
  virtual ~SubwordModel() = default;

  /// Appends the tokens of `word`, which is not empty.
  virtual void encode(const std::string &word, std::vector<int32_t> &tokens) const = 0;

  TokenTable table;
};

/// Ids are below `limit`. A model that is not supported is a failure that names it.
std::unique_ptr<SubwordModel> makeSubwordModel(const JsonReader &json, int32_t limit);

/// The kinds, for makeSubwordModel().
std::unique_ptr<SubwordModel> makeUnigramModel(const JsonReader &json, int32_t limit);
std::unique_ptr<SubwordModel> makeBpeModel(const JsonReader &json, int32_t limit);
std::unique_ptr<SubwordModel> makeWordPieceModel(const JsonReader &json, int32_t limit);

/// The tokens `<0x00>` ... `<0xFF>` of the bytes of `text`; nothing where the table lacks one of them.
std::optional<std::vector<int32_t>> byteTokens(const TokenTable &table, std::string_view text);

} // namespace attnrt

#endif // ATTNRT_SRC_SUBWORDMODEL_H
