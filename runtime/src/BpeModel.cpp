//===- BpeModel.cpp - pairs merged in the order of their training ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Byte-pair encoding (Sennrich et al. 2016): a word begins as its characters; of the neighbours that may be
// merged, the pair that was learnt first is, until there is none.

#include "SubwordModel.h"
#include "Unicode.h"

#include <queue>

namespace attnrt {
namespace {

struct Merge {
  uint32_t rank = 0;
  int32_t token = 0; // what the pair becomes
};

/// A token of the word that is being merged; a list.
struct Symbol {
  int32_t token = 0;
  int32_t before = -1, next = -1;
  bool isMerged = false; // into the one before it
};

/// A merge to be done, unless the symbols have changed by then.
struct PossibleMerge {
  Merge merge;
  int32_t place = 0;                                 // of the left symbol
  bool operator<(const PossibleMerge &other) const { // the queue gives the largest first
    return std::pair(merge.rank, place) > std::pair(other.merge.rank, other.place);
  }
};

class BpeModel final : public SubwordModel {
public:
  BpeModel(const JsonReader &json, int32_t limit) {
    if (json.gives("dropout") && json.at("dropout").number() != 0)
      json.at("dropout").refuse("random splits are not supported");
    table.addAll(json.at("vocab"), limit);
    const auto text = [&](const char *key) {
      return json.gives(key) ? json.at(key).string() : std::string();
    };
    const auto flag = [&](const char *key) { return json.gives(key) && json.at(key).boolean(); };
    prefix = text("continuing_subword_prefix");
    suffix = text("end_of_word_suffix");
    fusesUnknown = flag("fuse_unk");
    fallsBack = flag("byte_fallback");
    ignoresMerges = flag("ignore_merges");
    if (json.gives("unk_token")) {
      unknown = table.find(text("unk_token"));
      if (!unknown)
        json.at("unk_token").reject("'", text("unk_token"), "' is not in the vocabulary");
    }
    uint32_t rank = 0;
    for (const JsonReader &merge : json.at("merges").elements())
      addMerge(merge, rank++);
  }

  void encode(const std::string &word, std::vector<int32_t> &tokens) const override {
    if (ignoresMerges)
      if (const auto whole = table.find(word)) {
        tokens.push_back(*whole);
        return;
      }
    std::vector<Symbol> symbols = characters(word);
    mergeAll(symbols);
    for (const Symbol &symbol : symbols)
      if (!symbol.isMerged)
        tokens.push_back(symbol.token);
  }

private:
  static uint64_t keyOf(int32_t left, int32_t right) {
    return static_cast<uint64_t>(left) << 32 | static_cast<uint32_t>(right);
  }

  /// `json` is "left right" or [left, right].
  void addMerge(const JsonReader &json, uint32_t rank) {
    std::string left, right;
    if (json.value.is_string()) {
      const std::string pair = json.string();
      const size_t space = pair.find(' ');
      if (space == std::string::npos || pair.find(' ', space + 1) != std::string::npos)
        json.reject("must be two tokens with a space between them");
      left = pair.substr(0, space);
      right = pair.substr(space + 1);
    } else {
      const std::vector<JsonReader> pair = json.elements();
      if (pair.size() != 2)
        json.reject("must be two tokens");
      left = pair[0].string();
      right = pair[1].string();
    }
    if (right.size() < prefix.size())
      json.reject("'", right, "' is shorter than the prefix '", prefix, "'");
    const std::string whole = left + right.substr(prefix.size());
    const auto idOf = [&](const std::string &token) {
      const auto id = table.find(token);
      if (!id)
        json.reject("'", token, "' is not in the vocabulary");
      return *id;
    };
    const int32_t leftId = idOf(left), rightId = idOf(right), wholeId = idOf(whole);
    merges[keyOf(leftId, rightId)] = {rank, wholeId};
  }

  static void append(std::vector<Symbol> &symbols, int32_t token) {
    const auto place = static_cast<int32_t>(symbols.size());
    if (place > 0)
      symbols.back().next = place;
    symbols.push_back({token, place - 1});
  }

  /// The word's characters as tokens.
  std::vector<Symbol> characters(const std::string &word) const {
    check(word.size() < INT32_MAX, ATTNRT_OUT_OF_RANGE, "a word has too many bytes");
    std::vector<Symbol> symbols;
    bool isAfterUnknown = false;
    for (size_t at = 0; at < word.size();) {
      const size_t length = codePointLength(std::string_view(word).substr(at));
      std::string character = (at > 0 ? prefix : "") + word.substr(at, length);
      at += length;
      if (at == word.size())
        character += suffix;
      const auto known = table.find(character);
      const auto bytes = known || !fallsBack ? std::nullopt : byteTokens(table, character);
      if (known)
        append(symbols, *known);
      else if (bytes)
        for (const int32_t byte : *bytes)
          append(symbols, byte);
      else if (unknown && !(fusesUnknown && isAfterUnknown))
        append(symbols, *unknown);
      isAfterUnknown = !known && !bytes;
    }
    return symbols; // without an unknown token such characters are left out, as the tokenizers package does
  }

  void mergeAll(std::vector<Symbol> &symbols) const {
    std::priority_queue<PossibleMerge> queue;
    const auto offer = [&](int32_t left) {
      if (left < 0 || symbols[left].next < 0)
        return;
      const auto found = merges.find(keyOf(symbols[left].token, symbols[symbols[left].next].token));
      if (found != merges.end())
        queue.push({found->second, left});
    };
    for (size_t place = 0; place < symbols.size(); ++place)
      offer(static_cast<int32_t>(place));
    while (!queue.empty()) {
      const PossibleMerge top = queue.top();
      queue.pop();
      Symbol &left = symbols[top.place];
      if (left.isMerged || left.next < 0)
        continue;
      Symbol &right = symbols[left.next];
      const auto found = merges.find(keyOf(left.token, right.token));
      if (found == merges.end() || found->second.token != top.merge.token)
        continue;
      left.token = top.merge.token;
      left.next = right.next;
      right.isMerged = true;
      if (left.next >= 0)
        symbols[left.next].before = top.place;
      offer(left.before);
      offer(top.place);
    }
  }

  std::unordered_map<uint64_t, Merge> merges;
  std::string prefix, suffix; // of characters inside words, and of the last one
  std::optional<int32_t> unknown;
  bool fusesUnknown = false, fallsBack = false, ignoresMerges = false;
};

} // namespace

std::unique_ptr<SubwordModel> makeBpeModel(const JsonReader &json, int32_t limit) {
  return std::make_unique<BpeModel>(json, limit);
}

} // namespace attnrt
