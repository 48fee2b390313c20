//===- AddedTokens.cpp - tokens that a text may hold as they are -------------===//
// SPDX-License-Identifier: Apache-2.0

#include "AddedTokens.h"
#include "Unicode.h"

namespace attnrt {
namespace {

char32_t lastCodePoint(std::string_view text) {
  size_t at = text.size() - 1;
  while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80)
    --at;
  return nextCodePoint(text, at);
}

bool isApart(std::string_view text, size_t begin, size_t end) {
  const bool isLeft = begin == 0 || !isWordPart(lastCodePoint(text.substr(0, begin)));
  return isLeft && (end == text.size() || !isWordPart(nextCodePoint(text, end)));
}

/// Where the white space before `begin` begins, but not before `done`.
size_t stripLeft(std::string_view text, size_t begin, size_t done) {
  while (begin > done) {
    const char32_t point = lastCodePoint(text.substr(0, begin));
    if (!isWhiteSpace(point))
      return begin;
    std::string bytes;
    appendCodePoint(bytes, point);
    begin -= bytes.size();
  }
  return done;
}

size_t stripRight(std::string_view text, size_t end) {
  for (size_t next = end; next < text.size() && isWhiteSpace(nextCodePoint(text, next));)
    end = next;
  return end;
}

} // namespace

AddedTokens::AddedTokens(std::vector<AddedToken> given, const std::vector<std::string> &patterns)
    : tokens(std::move(given)) {
  std::vector<PrefixIndex::Entry> entries;
  for (size_t i = 0; i < tokens.size(); ++i)
    entries.push_back({patterns[i], static_cast<uint32_t>(i)});
  index = PrefixIndex(std::move(entries));
}

std::optional<AddedTokens::Match> AddedTokens::findFrom(std::string_view text, size_t at) const {
  while (at < text.size()) {
    Match match{at, at, nullptr};
    index.forEachPrefix(text.substr(at),
                        [&](size_t length, uint32_t token) { match = {at, at + length, &tokens[token]}; });
    if (match.token && (!match.token->isWord || isApart(text, match.begin, match.end)))
      return match;
    at = match.token ? match.end : at + codePointLength(text.substr(at));
  }
  return std::nullopt;
}

void AddedTokens::split(const TextPart &part, std::vector<AddedPart> &parts) const {
  const std::string_view text = part.text;
  const auto appendText = [&](size_t begin, size_t end) {
    if (begin < end)
      parts.push_back(
          {{std::string(text.substr(begin, end - begin)), part.isFirst && begin == 0}, std::nullopt});
  };
  size_t done = 0, spaceEnd = 0; // of the white space that a token took last
  for (auto match = findFrom(text, 0); match; match = findFrom(text, match->end)) {
    const AddedToken &token = *match->token;
    const size_t begin = token.stripsLeft ? stripLeft(text, match->begin, done) : match->begin;
    if (token.stripsRight && match->end > spaceEnd)
      spaceEnd = stripRight(text, match->end);
    appendText(done, begin);
    done = token.stripsRight ? spaceEnd : match->end;
    if (begin < done)
      parts.push_back({{}, token.id});
  }
  appendText(done, text.size());
}

} // namespace attnrt
