//===- WordPieceModel.cpp - the longest piece first --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Schuster and Nakajima 2012, as BERT uses it: from the left the longest piece that is known; a word that
// cannot be split to its end is one unknown token.

#include "PrefixIndex.h"
#include "SubwordModel.h"
#include "Unicode.h"

namespace attnrt {
namespace {

class WordPieceModel final : public SubwordModel {
public:
  WordPieceModel(const JsonReader &json, int32_t limit) {
    table.addAll(json.at("vocab"), limit);
    longestWord = json.at("max_input_chars_per_word").integer(0, INT32_MAX);
    unknown = table.find(json.at("unk_token").string());
    const std::string prefix = json.at("continuing_subword_prefix").string();
    std::vector<PrefixIndex::Entry> first, later;
    for (const auto &[token, id] : json.at("vocab").value.items()) {
      first.push_back({token, id.get<uint32_t>()});
      if (token.starts_with(prefix))
        later.push_back({token.substr(prefix.size()), id.get<uint32_t>()});
    }
    firstPieces = PrefixIndex(std::move(first));
    laterPieces = PrefixIndex(std::move(later));
  }

  void encode(const std::string &word, std::vector<int32_t> &tokens) const override {
    const size_t before = tokens.size();
    std::string_view rest = isTooLong(word) ? std::string_view() : word;
    while (!rest.empty()) {
      size_t length = 0;
      const PrefixIndex &pieces = rest.size() == word.size() ? firstPieces : laterPieces;
      pieces.forEachPrefix(rest, [&](size_t found, uint32_t id) {
        if (length > 0)
          tokens.pop_back();
        tokens.push_back(static_cast<int32_t>(id));
        length = found;
      });
      if (length == 0)
        break;
      rest.remove_prefix(length);
    }
    if (rest.empty() && tokens.size() > before)
      return;
    check(unknown.has_value(), ATTNRT_INVALID_ARGUMENT, "'", word,
          "' is not in the vocabulary, which has no unknown token");
    tokens.resize(before);
    tokens.push_back(*unknown);
  }

private:
  bool isTooLong(std::string_view word) const {
    int64_t characters = 0;
    for (size_t at = 0; at < word.size() && characters <= longestWord; ++characters)
      at += codePointLength(word.substr(at));
    return characters > longestWord;
  }

  PrefixIndex firstPieces, laterPieces; // of a word; the later ones without their prefix
  int64_t longestWord = 0;              // in characters
  std::optional<int32_t> unknown;
};

} // namespace

std::unique_ptr<SubwordModel> makeWordPieceModel(const JsonReader &json, int32_t limit) {
  return std::make_unique<WordPieceModel>(json, limit);
}

} // namespace attnrt
