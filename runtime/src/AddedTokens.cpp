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

size_t stripLeft(std::string_view text, size_t begin) {
  while (begin > 0) {
    const char32_t point = lastCodePoint(text.substr(0, begin));
    if (!isWhiteSpace(point))
      break;
    std::string bytes;
    appendCodePoint(bytes, point);
    begin -= bytes.size();
  }
  return begin;
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
  const auto append = [&](size_t begin, size_t end, std::optional<int32_t> id) {
    if (begin < end)
      parts.push_back({{std::string(text.substr(begin, end - begin)), part.isFirst && begin == 0}, id});
  };
  size_t done = 0;
  for (auto match = findFrom(text, 0); match; match = findFrom(text, match->end)) {
    if (match->token->stripsLeft)
      match->begin = std::max(stripLeft(text, match->begin), done);
    if (match->token->stripsRight)
      match->end = stripRight(text, match->end);
    append(done, match->begin, std::nullopt);
    append(match->begin, match->end, match->token->id);
    done = match->end;
  }
  append(done, text.size(), std::nullopt);
}

} // namespace attnrt
