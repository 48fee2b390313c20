//===- PreTokenizers.cpp - the `pre_tokenizer` of a tokenizer.json -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "PreTokenizers.h"
#include "Normalizers.h"
#include "Unicode.h"

namespace attnrt {

Metaspace::Metaspace(const JsonReader &json) : replacement(json.at("replacement").string()) {
  if (replacement.empty() || codePointLength(replacement) != replacement.size())
    json.at("replacement").reject("must be one character");
  if (json.has("add_prefix_space") && !json.at("add_prefix_space").boolean())
    prefix = Prefix::Never;
  if (json.has("split"))
    splits = json.at("split").boolean();
  if (!json.has("prepend_scheme"))
    return;
  const std::string scheme = json.at("prepend_scheme").string();
  if (scheme != "always" && scheme != "first" && scheme != "never")
    json.at("prepend_scheme").reject("must be always, first or never, found '", scheme, "'");
  prefix = scheme == "always" ? Prefix::Always : scheme == "first" ? Prefix::First : Prefix::Never;
}

const std::array<char32_t, 256> &byteLevelAlphabet() {
  static const auto alphabet = [] {
    std::array<char32_t, 256> points{};
    char32_t next = 256; // for bytes that are no printable characters of Latin-1
    for (int byte = 0; byte < 256; ++byte) {
      const bool isPrintable = (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte != 0xad);
      points[byte] = isPrintable ? byte : next++;
    }
    return points;
  }();
  return alphabet;
}

namespace {

/// cut(part, words) appends the words of one part.
template <typename Cut> PreTokenizer cutParts(Cut cut) {
  return [cut](std::vector<TextPart> &parts) {
    std::vector<TextPart> words;
    for (TextPart &part : parts)
      cut(part, words);
    parts = std::move(words);
  };
}

void appendWord(const TextPart &part, size_t begin, size_t end, std::vector<TextPart> &words) {
  if (begin < end)
    words.push_back({part.text.substr(begin, end - begin), part.isFirst && begin == 0});
}

PreTokenizer makeSequenceOfPreTokenizers(const JsonReader &json) {
  std::vector<PreTokenizer> steps;
  for (const JsonReader &step : json.at("pretokenizers").elements())
    steps.push_back(makePreTokenizer(step));
  return [steps](std::vector<TextPart> &parts) {
    for (const PreTokenizer &step : steps) {
      step(parts);
      checkLength(parts);
    }
  };
}

/// White space goes; punctuation, where `splitsPunctuation`, is a word each.
PreTokenizer makeWhiteSpaceSplit(bool splitsPunctuation) {
  return cutParts([splitsPunctuation](const TextPart &part, std::vector<TextPart> &words) {
    size_t begin = 0; // of the word that grows
    for (size_t at = 0; at < part.text.size();) {
      const size_t here = at;
      const char32_t point = nextCodePoint(part.text, at);
      const bool isAlone = splitsPunctuation && isPunctuation(point);
      if (!isAlone && !isWhiteSpace(point))
        continue;
      appendWord(part, begin, here, words);
      if (isAlone)
        appendWord(part, here, at, words);
      begin = at;
    }
    appendWord(part, begin, part.text.size(), words);
  });
}

PreTokenizer makeMetaspace(const JsonReader &json) {
  return cutParts([meta = Metaspace(json)](TextPart &part, std::vector<TextPart> &words) {
    part.text = replaceAll(part.text, " ", meta.replacement);
    const bool isPrefixed =
        meta.prefix == Metaspace::Prefix::Always || (meta.prefix == Metaspace::Prefix::First && part.isFirst);
    if (isPrefixed && !part.text.empty() && !part.text.starts_with(meta.replacement))
      part.text.insert(0, meta.replacement);
    size_t begin = 0;
    for (size_t found = 0; meta.splits && found != std::string::npos;
         found = part.text.find(meta.replacement, begin + 1)) {
      appendWord(part, begin, found, words);
      begin = found;
    }
    appendWord(part, begin, part.text.size(), words);
  });
}

enum class CharacterClass { Letter, Number, Space, Other };

CharacterClass classOf(char32_t point) {
  return isLetter(point)       ? CharacterClass::Letter
         : isNumber(point)     ? CharacterClass::Number
         : isWhiteSpace(point) ? CharacterClass::Space
                               : CharacterClass::Other;
}

/// The end of the characters of one class from `at` on; `last` is where the last of them begins.
size_t endOfRun(std::string_view text, size_t at, CharacterClass wanted, size_t &last) {
  while (at < text.size()) {
    size_t next = at;
    if (classOf(nextCodePoint(text, next)) != wanted)
      break;
    last = at;
    at = next;
  }
  return at;
}

/// Where the word at `at` ends by the expression of GPT-2 (Radford et al. 2019):
/// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
size_t endOfWord(std::string_view text, size_t at) {
  for (const std::string_view ending : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"})
    if (text.substr(at).starts_with(ending))
      return at + ending.size();
  size_t begin = at + (text[at] == ' '), next = begin;
  size_t last = at;
  if (begin < text.size())
    if (const CharacterClass run = classOf(nextCodePoint(text, next)); run != CharacterClass::Space)
      return endOfRun(text, begin, run, last);
  const size_t end = endOfRun(text, at, CharacterClass::Space, last);
  return end < text.size() && last > at ? last : end; // the last space belongs to the next word
}

void cutByteLevelWords(const TextPart &part, std::vector<TextPart> &words) {
  for (size_t at = 0; at < part.text.size();) {
    const size_t end = endOfWord(part.text, at);
    appendWord(part, at, end, words);
    at = end;
  }
}

PreTokenizer makeByteLevel(const JsonReader &json) {
  const bool isPrefixed = json.at("add_prefix_space").boolean();
  const bool splits = !json.has("use_regex") || json.at("use_regex").boolean();
  return [isPrefixed, splits](std::vector<TextPart> &parts) {
    std::vector<TextPart> words;
    for (TextPart &part : parts) {
      if (isPrefixed && !part.text.empty() && part.text[0] != ' ')
        part.text.insert(0, " ");
      if (splits)
        cutByteLevelWords(part, words);
      else
        appendWord(part, 0, part.text.size(), words);
    }
    for (TextPart &word : words) {
      std::string visible;
      for (const char byte : word.text)
        appendCodePoint(visible, byteLevelAlphabet()[static_cast<unsigned char>(byte)]);
      word.text = std::move(visible);
    }
    parts = std::move(words);
  };
}

} // namespace

PreTokenizer makePreTokenizer(const JsonReader &json) {
  if (json.isNull())
    return [](std::vector<TextPart> &) {};
  const std::string type = json.at("type").string();
  if (type == "Sequence")
    return makeSequenceOfPreTokenizers(json);
  if (type == "WhitespaceSplit")
    return makeWhiteSpaceSplit(false);
  if (type == "BertPreTokenizer")
    return makeWhiteSpaceSplit(true);
  if (type == "Metaspace")
    return makeMetaspace(json);
  if (type == "ByteLevel")
    return makeByteLevel(json);
  json.refuse("the pre-tokenizer '", type, "' is not supported");
}

} // namespace attnrt
