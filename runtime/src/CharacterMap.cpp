//===- CharacterMap.cpp - SentencePiece's compiled normalization -------------===//
// SPDX-License-Identifier: Apache-2.0

#include "CharacterMap.h"
#include "TextPart.h"
#include "Unicode.h"

namespace attnrt {
namespace {

constexpr size_t longestReplacement = 64; // Unicode's are shorter; a damaged map must not make texts explode

std::string decodeBase64(const JsonReader &json) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text = json.string(), bytes;
  while (text.ends_with('='))
    text.pop_back();
  uint32_t buffer = 0;
  int bits = 0;
  for (const char c : text) {
    const size_t digit = digits.find(c);
    if (digit == std::string_view::npos)
      json.reject("is not Base64 text");
    buffer = buffer << 6 | digit;
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes += static_cast<char>(buffer >> bits);
    }
  }
  return bytes;
}

uint32_t readUnit(std::string_view bytes, size_t at) {
  uint32_t unit = 0;
  for (size_t i = 4; i-- > 0;)
    unit = unit << 8 | static_cast<unsigned char>(bytes[at + i]);
  return unit;
}

// The fields of a unit, as Darts-clone lays them out.
bool hasLeaf(uint32_t unit) { return unit >> 8 & 1; }
uint32_t valueOf(uint32_t unit) { return unit & 0x7fffffff; }
uint32_t labelOf(uint32_t unit) { return unit & 0x800000ff; }
size_t offsetOf(uint32_t unit) { return static_cast<size_t>(unit >> 10) << ((unit & 0x200) >> 6); }

/// The bytes of a map's units, or none where the map is damaged.
size_t unitBytes(std::string_view map) {
  const size_t bytes = map.size() < 4 ? 0 : readUnit(map, 0);
  return bytes % 4 || bytes > map.size() - 4 ? 0 : bytes;
}

} // namespace

// A unit's children lie in the 256 units around its offset, and so does its value.
bool isWholeCharacterMap(std::string_view bytes) {
  constexpr size_t fanOut = 256;
  const size_t count = unitBytes(bytes) / 4, places = bytes.size() - 4 - count * 4;
  if (count == 0 || places == 0 || bytes.back() != '\0')
    return false;
  const auto unitAt = [&](size_t number) { return readUnit(bytes, 4 + number * 4); };
  for (size_t number = 0; number < count; ++number) {
    const uint32_t unit = unitAt(number);
    const bool isValue = unit >> 31; // the first is the root, whatever it says
    if (isValue && number > 0)
      continue;
    const size_t children = number ^ offsetOf(unit);
    if (children / fanOut * fanOut + fanOut > count || (hasLeaf(unit) && valueOf(unitAt(children)) >= places))
      return false;
  }
  return true;
}

CharacterMap::CharacterMap(const JsonReader &base64) {
  const std::string bytes = decodeBase64(base64);
  const size_t trieBytes = unitBytes(bytes);
  if (trieBytes == 0)
    base64.reject("is not a compiled map of characters");
  for (size_t at = 4; at < 4 + trieBytes; at += 4)
    units.push_back(readUnit(bytes, at));
  replacements = bytes.substr(4 + trieBytes);
  if (validUtf8(replacements) != replacements)
    base64.reject("has replacements that are no UTF-8");
}

/// What stands for the shortest key that `characters` begin with: so does the tokenizers package, although
/// `characters` may have more behind it.
std::optional<std::string_view> CharacterMap::replacement(std::string_view characters) const {
  size_t node = offsetOf(units[0]);
  for (const char c : characters) {
    const auto byte = static_cast<unsigned char>(c);
    node ^= byte;
    if (byte == 0 || node >= units.size() || labelOf(units[node]) != byte)
      return std::nullopt;
    const uint32_t unit = units[node];
    node ^= offsetOf(unit);
    if (!hasLeaf(unit))
      continue;
    if (node >= units.size() || valueOf(units[node]) >= replacements.size())
      return std::nullopt;
    const std::string_view rest = std::string_view(replacements).substr(valueOf(units[node]));
    if ((static_cast<unsigned char>(rest.front()) & 0xc0) == 0x80)
      return std::nullopt; // inside a character: a damaged map
    const std::string_view found = rest.substr(0, rest.find('\0'));
    return found.size() <= longestReplacement ? std::optional(found) : std::nullopt;
  }
  return std::nullopt;
}

std::string CharacterMap::normalize(std::string_view text) const {
  constexpr size_t longestCluster = 5; // bytes; longer ones go character by character
  std::string normalized;
  while (!text.empty()) {
    checkLength(normalized);
    size_t cluster = graphemeLength(text);
    if (cluster <= longestCluster)
      if (const auto mapped = replacement(text.substr(0, cluster))) {
        normalized += *mapped;
        text.remove_prefix(cluster);
        continue;
      }
    while (cluster > 0) {
      const std::string_view character = text.substr(0, codePointLength(text));
      normalized += replacement(character).value_or(character);
      text.remove_prefix(character.size());
      cluster -= character.size();
    }
  }
  return normalized;
}

} // namespace attnrt
