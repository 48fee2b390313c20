//===- Normalizers.cpp - the `normalizer` of a tokenizer.json ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Normalizers.h"
#include "CharacterMap.h"
#include "Unicode.h"

#include <memory>

namespace attnrt {

std::string replaceAll(std::string_view text, std::string_view old, std::string_view by) {
  std::string replaced;
  for (size_t found; (found = text.find(old)) != std::string_view::npos;) {
    replaced += text.substr(0, found);
    replaced += by;
    text.remove_prefix(found + old.size());
  }
  return replaced += text;
}

namespace {

constexpr size_t longestReplacement = 64;

std::string readReplacement(const JsonReader &json) {
  std::string text = json.string();
  if (text.size() > longestReplacement)
    json.reject("has more than ", longestReplacement, " bytes");
  return text;
}

/// A function of the text alone as a normalizer.
template <typename Map> Normalizer mapText(Map map) {
  return [map](TextPart &part) { part.text = map(part.text); };
}

/// map(point, out) appends what stands for each code point.
template <typename Map> Normalizer mapCharacters(Map map) {
  return [map](TextPart &part) {
    std::string mapped;
    for (size_t at = 0; at < part.text.size();) {
      const bool isStart = at == 0;
      map(nextCodePoint(part.text, at), mapped);
      part.isFirst &= !isStart || !mapped.empty();
    }
    part.text = std::move(mapped);
  };
}

Normalizer makeSequenceOfNormalizers(const JsonReader &json) {
  std::vector<Normalizer> steps;
  for (const JsonReader &step : json.at("normalizers").elements())
    steps.push_back(makeNormalizer(step));
  return [steps](TextPart &part) {
    for (const Normalizer &step : steps) {
      step(part);
      checkLength(part.text);
    }
  };
}

Normalizer makeForm(NormalForm form) {
  return mapText([form](std::string_view text) { return normalForm(text, form); });
}

/// Takes out the characters that isRemoved(point) says.
template <typename Predicate> Normalizer makeRemoval(Predicate isRemoved) {
  return mapCharacters([isRemoved](char32_t point, std::string &out) {
    if (!isRemoved(point))
      appendCodePoint(out, point);
  });
}

Normalizer makeStrip(const JsonReader &json) {
  const bool left = json.at("strip_left").boolean(), right = json.at("strip_right").boolean();
  return [left, right](TextPart &part) {
    size_t begin = std::string::npos, end = 0; // of what is not white space
    for (size_t at = 0; at < part.text.size();) {
      const size_t here = at;
      if (isWhiteSpace(nextCodePoint(part.text, at)))
        continue;
      begin = std::min(begin, here);
      end = at;
    }
    if (right)
      part.text.resize(end);
    if (!left || begin == 0)
      return;
    part.text.erase(0, std::min(begin, part.text.size()));
    part.isFirst = false;
  };
}

/// Controls and white space as Google's neural machine translation treats them.
Normalizer makeNmt() {
  return mapCharacters([](char32_t point, std::string &out) {
    const bool isDropped = (point >= 1 && point <= 8) || point == 0xb || (point >= 0xe && point <= 0x1f) ||
                           point == 0x7f || point == 0x8f || point == 0x9f;
    const bool isSpace = point == 9 || point == 0xa || point == 0xc || point == 0xd || point == 0x1680 ||
                         (point >= 0x200b && point <= 0x200f) || point == 0x2028 || point == 0x2029 ||
                         point == 0x2581 || point == 0xfeff || point == 0xfffd;
    if (!isDropped)
      appendCodePoint(out, isSpace ? ' ' : point);
  });
}

Normalizer makePrecompiled(const JsonReader &json) {
  const auto map = std::make_shared<const CharacterMap>(json.at("precompiled_charsmap"));
  return mapText([map](std::string_view text) { return map->normalize(text); });
}

Normalizer makePrepend(const JsonReader &json) {
  return mapText([prefix = readReplacement(json.at("prepend"))](const std::string &text) {
    return text.empty() ? text : prefix + text;
  });
}

/// The regular expressions that tokenizers of translation models have: one character, perhaps `\s`, then
/// nothing, `+` or `{n,}`.
struct RunPattern {
  char32_t character = 0; // 0: any white space
  size_t least = 1;
  bool takesAll = false;

  /// How many bytes `text` begins with that match; 0 where it does not.
  size_t matchLength(std::string_view text) const {
    size_t at = 0, count = 0;
    while (at < text.size() && (takesAll || count < least)) {
      size_t next = at;
      const char32_t point = nextCodePoint(text, next);
      if (character ? point != character : !isWhiteSpace(point))
        break;
      at = next;
      ++count;
    }
    return count >= least ? at : 0;
  }
};

RunPattern readRunPattern(const JsonReader &json) {
  constexpr std::pair<std::string_view, char32_t> escapes[] = {
      {"\\s", 0}, {"\\n", '\n'}, {"\\r", '\r'}, {"\\t", '\t'}};
  const std::string text = json.string();
  RunPattern pattern;
  size_t at = 0;
  for (const auto &[escape, character] : escapes)
    if (text.starts_with(escape)) {
      pattern.character = character;
      at = escape.size();
    }
  if (at == 0 && text.find_first_of("\\^$.|?*+()[]{}") != 0 && !text.empty())
    pattern.character = nextCodePoint(text, at);
  const std::string_view rest = std::string_view(text).substr(at);
  const bool isBraced =
      rest.size() == 4 && rest[0] == '{' && rest[1] >= '1' && rest[1] <= '9' && rest.ends_with(",}");
  if (at == 0 || !(rest.empty() || rest == "+" || isBraced))
    json.refuse("the regular expression '", text,
                "' is not supported; a character or \\s is, with + or {n,} after it");
  pattern.takesAll = !rest.empty();
  pattern.least = isBraced ? rest[1] - '0' : 1;
  return pattern;
}

/// How many bytes a text begins with that are to be replaced.
using Matcher = std::function<size_t(std::string_view)>;

Matcher makeMatcher(const JsonReader &pattern) {
  if (!pattern.has("String"))
    return
        [run = readRunPattern(pattern.at("Regex"))](std::string_view text) { return run.matchLength(text); };
  const std::string old = pattern.at("String").string();
  if (old.empty())
    pattern.reject("is empty");
  return [old](std::string_view text) { return text.starts_with(old) ? old.size() : 0; };
}

Normalizer makeReplace(const JsonReader &json) {
  const std::string content = readReplacement(json.at("content"));
  return [matcher = makeMatcher(json.at("pattern")), content](TextPart &part) {
    std::string replaced;
    for (std::string_view text = part.text; !text.empty();) {
      const size_t matched = matcher(text), length = matched ? matched : codePointLength(text);
      if (replaced.empty() && matched) // what replaces several characters stands where the last of them stood
        part.isFirst &= !content.empty() && matched == codePointLength(text);
      replaced += matched ? std::string_view(content) : text.substr(0, length);
      text.remove_prefix(length);
      checkLength(replaced);
    }
    part.text = std::move(replaced);
  };
}

bool isHan(char32_t point) {
  constexpr std::pair<char32_t, char32_t> blocks[] = {
      {0x4e00, 0x9fff},   {0x3400, 0x4dbf},   {0x20000, 0x2a6df}, {0x2a700, 0x2b73f},
      {0x2b740, 0x2b81f}, {0x2b920, 0x2ceaf}, {0xf900, 0xfaff},   {0x2f800, 0x2fa1f},
  };
  for (const auto &[first, last] : blocks)
    if (point >= first && point <= last)
      return true;
  return false;
}

/// No controls; white space is a space.
Normalizer makeCleaning() {
  return mapCharacters([](char32_t point, std::string &out) {
    const bool isKept = point == '\t' || point == '\n' || point == '\r';
    if (isKept || (point != 0 && point != 0xfffd && !isControl(point)))
      appendCodePoint(out, isWhiteSpace(point) ? ' ' : point);
  });
}

Normalizer makeSpacesAroundHan() {
  return mapCharacters([](char32_t point, std::string &out) {
    const std::string_view around = isHan(point) ? " " : "";
    out += around;
    appendCodePoint(out, point);
    out += around;
  });
}

/// Devlin et al. 2019: no controls, Han characters on their own, no accents, lower case.
Normalizer makeBert(const JsonReader &json) {
  const bool lowers = json.at("lowercase").boolean();
  std::vector<Normalizer> steps;
  if (json.at("clean_text").boolean())
    steps.push_back(makeCleaning());
  if (json.at("handle_chinese_chars").boolean())
    steps.push_back(makeSpacesAroundHan());
  if (json.gives("strip_accents") ? json.at("strip_accents").boolean() : lowers) {
    steps.push_back(makeForm(NormalForm::D));
    steps.push_back(makeRemoval(isNonspacingMark));
  }
  if (lowers)
    steps.push_back(mapText(lowerCase));
  return [steps](TextPart &part) {
    for (const Normalizer &step : steps)
      step(part);
  };
}

} // namespace

Normalizer makeNormalizer(const JsonReader &json) {
  if (json.isNull())
    return [](TextPart &) {};
  const std::string type = json.at("type").string();
  if (type == "Sequence")
    return makeSequenceOfNormalizers(json);
  if (type == "NFC")
    return makeForm(NormalForm::C);
  if (type == "NFD")
    return makeForm(NormalForm::D);
  if (type == "NFKC")
    return makeForm(NormalForm::KC);
  if (type == "NFKD")
    return makeForm(NormalForm::KD);
  if (type == "Lowercase")
    return mapText(lowerCase);
  if (type == "StripAccents")
    return makeRemoval(isMark);
  if (type == "Strip")
    return makeStrip(json);
  if (type == "Nmt")
    return makeNmt();
  if (type == "Precompiled")
    return makePrecompiled(json);
  if (type == "Prepend")
    return makePrepend(json);
  if (type == "Replace")
    return makeReplace(json);
  if (type == "BertNormalizer")
    return makeBert(json);
  json.refuse("the normalizer '", type, "' is not supported");
}

} // namespace attnrt
