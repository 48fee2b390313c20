//===- SubwordModel.cpp - the `model` of a tokenizer.json --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "SubwordModel.h"

namespace attnrt {

void TokenTable::add(const std::string &token, int32_t id) {
  const auto [place, isNew] = ids.insert_or_assign(token, id);
  texts[id] = &place->first;
}

void TokenTable::addAll(const JsonReader &json, int32_t limit) {
  if (!json.value.is_object())
    json.reject("must be an object");
  for (const auto &[token, id] : json.value.items())
    add(token, static_cast<int32_t>(JsonReader(id, json.placeOf(token)).integer(0, limit - 1)));
}

std::optional<int32_t> TokenTable::find(const std::string &token) const {
  const auto found = ids.find(token);
  return found == ids.end() ? std::nullopt : std::optional(found->second);
}

const std::string *TokenTable::text(int32_t id) const {
  const auto found = texts.find(id);
  return found == texts.end() ? nullptr : found->second;
}

std::optional<std::vector<int32_t>> byteTokens(const TokenTable &table, std::string_view text) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::vector<int32_t> tokens;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const auto id = table.find(std::string("<0x") + digits[byte >> 4] + digits[byte & 15] + ">");
    if (!id)
      return std::nullopt;
    tokens.push_back(*id);
  }
  return tokens;
}

/// Files of before 2021 lack the type.
static std::string typeOf(const JsonReader &json) {
  if (json.has("type"))
    return json.at("type").string();
  if (json.has("merges"))
    return "BPE";
  return json.has("max_input_chars_per_word") ? "WordPiece" : "Unigram";
}

std::unique_ptr<SubwordModel> makeSubwordModel(const JsonReader &json, int32_t limit) {
  const std::string type = typeOf(json);
  if (type == "Unigram")
    return makeUnigramModel(json, limit);
  if (type == "BPE")
    return makeBpeModel(json, limit);
  if (type == "WordPiece")
    return makeWordPieceModel(json, limit);
  json.refuse("the model '", type, "' is not supported");
}

} // namespace attnrt
