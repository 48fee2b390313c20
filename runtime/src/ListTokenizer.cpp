//===- ListTokenizer.cpp - words or characters looked up in a list -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// The list is a JSON array of strings or a text file with one token a line; a token's place is its id. Text
// is cut at white space, or into Unicode code points.

#include "Failure.h"
#include "Json.h"
#include "Tokenizer.h"
#include "Unicode.h"

#include <algorithm>
#include <unordered_map>

namespace attnrt {
namespace {

std::vector<std::string_view> splitCharacters(std::string_view text) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const size_t length = codePointLength(text);
    parts.push_back(text.substr(0, length));
    text.remove_prefix(length);
  }
  return parts;
}

std::vector<std::string_view> splitWords(std::string_view text) {
  constexpr std::string_view spaces = " \t\r\n\v\f";
  std::vector<std::string_view> parts;
  for (size_t begin; (begin = text.find_first_not_of(spaces)) != std::string_view::npos;) {
    text.remove_prefix(begin);
    const size_t length = std::min(text.find_first_of(spaces), text.size());
    parts.push_back(text.substr(0, length));
    text.remove_prefix(length);
  }
  return parts;
}

std::vector<std::string> readLines(std::string_view content) {
  std::vector<std::string> lines;
  while (!content.empty()) {
    const size_t length = std::min(content.find('\n'), content.size());
    std::string_view line = content.substr(0, length);
    if (line.ends_with('\r'))
      line.remove_suffix(1);
    lines.emplace_back(line);
    content.remove_prefix(std::min(length + 1, content.size()));
  }
  return lines;
}

std::vector<std::string> readList(const std::string &path, const std::string &content) {
  if (!path.ends_with(".json")) {
    for (const std::string_view part : splitCharacters(content))
      check(part.size() > 1 || static_cast<unsigned char>(part[0]) < 0x80, ATTNRT_BAD_BUNDLE, path,
            ": is not UTF-8");
    return readLines(content);
  }
  const nlohmann::json parsed = parseJson(content, path);
  std::vector<std::string> tokens;
  for (const JsonReader &token : JsonReader(parsed, path).elements())
    tokens.push_back(token.string());
  return tokens;
}

class ListTokenizer final : public Tokenizer {
public:
  ListTokenizer(TokenizerKind kind, const std::string &path, const std::string &content,
                const Vocabulary &vocabulary)
      : isCharacters(kind == TokenizerKind::Characters), vocabulary(vocabulary),
        tokens(readList(path, content)) {
    check(tokens.size() <= static_cast<size_t>(vocabulary.size), ATTNRT_BAD_BUNDLE, path, ": has ",
          tokens.size(), " tokens, but the model's vocabulary ends at ", vocabulary.size);
    for (size_t id = 0; id < tokens.size(); ++id)
      ids.emplace(tokens[id], static_cast<int32_t>(id)); // of equal tokens the first counts
  }

  std::vector<int32_t> encode(std::string_view text) const override {
    std::vector<int32_t> result;
    for (const std::string_view part : isCharacters ? splitCharacters(text) : splitWords(text)) {
      const auto known = ids.find(std::string(part));
      if (known != ids.end())
        result.push_back(known->second);
      else if (vocabulary.unknown)
        result.push_back(*vocabulary.unknown);
      else
        fail(ATTNRT_INVALID_ARGUMENT, "'", part, "' is not in the vocabulary, which has no unknown token");
    }
    return result;
  }

  std::string decode(std::span<const int32_t> wanted) const override {
    std::string text;
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (i > 0 && !isCharacters)
        text += ' ';
      text += tokenText(wanted[i]);
    }
    return text;
  }

  std::string tokenText(int32_t id) const override {
    return id >= 0 && static_cast<size_t>(id) < tokens.size() ? tokens[id] : "";
  }

private:
  bool isCharacters;
  Vocabulary vocabulary;
  std::vector<std::string> tokens;
  std::unordered_map<std::string, int32_t> ids;
};

} // namespace

std::unique_ptr<Tokenizer> makeListTokenizer(TokenizerKind kind, const std::string &path,
                                             const std::string &content, const Vocabulary &vocabulary) {
  return std::make_unique<ListTokenizer>(kind, path, content, vocabulary);
}

} // namespace attnrt
