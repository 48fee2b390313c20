//===- TokenDecoders.cpp - the `decoder` of a tokenizer.json -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "TokenDecoders.h"
#include "Normalizers.h"
#include "PreTokenizers.h"
#include "Unicode.h"

#include <unordered_map>

namespace attnrt {
namespace {

using Tokens = std::vector<std::string>;

void checkLengths(const Tokens &tokens) {
  size_t bytes = 0;
  for (const std::string &token : tokens)
    bytes += token.size();
  checkLength(bytes);
}

std::string joined(const Tokens &tokens) {
  std::string text;
  for (const std::string &token : tokens)
    text += token;
  return text;
}

TokenDecoder makeSequenceOfTokenDecoders(const JsonReader &json) {
  std::vector<TokenDecoder> steps;
  for (const JsonReader &step : json.at("decoders").elements())
    steps.push_back(makeTokenDecoder(step));
  return [steps](Tokens &tokens) {
    for (const TokenDecoder &step : steps) {
      step(tokens);
      checkLengths(tokens);
    }
  };
}

TokenDecoder makeMetaspace(const JsonReader &json) {
  return [meta = Metaspace(json)](Tokens &tokens) {
    const bool isPrefixed = meta.prefix != Metaspace::Prefix::Never;
    for (size_t i = 0; i < tokens.size(); ++i)
      tokens[i] = replaceAll(tokens[i], meta.replacement, i == 0 && isPrefixed ? "" : " ");
  };
}

/// Tokens that have a character outside the alphabet stay as they are.
TokenDecoder makeByteLevel() {
  std::unordered_map<char32_t, char> bytes;
  for (size_t byte = 0; byte < 256; ++byte)
    bytes.emplace(byteLevelAlphabet()[byte], static_cast<char>(byte));
  return [bytes](Tokens &tokens) {
    std::string text;
    for (const std::string &token : tokens) {
      std::string decoded;
      bool isKnown = true;
      for (size_t at = 0; at < token.size() && isKnown;) {
        const auto byte = bytes.find(nextCodePoint(token, at));
        isKnown = byte != bytes.end();
        if (isKnown)
          decoded += byte->second;
      }
      text += isKnown ? decoded : token;
    }
    tokens = {validUtf8(text)};
  };
}

/// Spaces before punctuation and contractions go again, as BERT's detokenizer has it.
std::string cleanUp(std::string text) {
  constexpr std::pair<std::string_view, std::string_view> rules[] = {
      {" .", "."},   {" ?", "?"},           {" !", "!"},   {" ,", ","},     {" ' ", "'"},    {" n't", "n't"},
      {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"},
  };
  for (const auto &[dirty, clean] : rules)
    text = replaceAll(text, dirty, clean);
  return text;
}

TokenDecoder makeWordPiece(const JsonReader &json) {
  const std::string prefix = json.at("prefix").string();
  const bool cleans = json.at("cleanup").boolean();
  return [prefix, cleans](Tokens &tokens) {
    for (size_t i = 0; i < tokens.size(); ++i) {
      if (i > 0 && tokens[i].starts_with(prefix))
        tokens[i].erase(0, prefix.size());
      else if (i > 0)
        tokens[i].insert(0, " ");
      if (cleans)
        tokens[i] = cleanUp(tokens[i]);
    }
  };
}

/// A suffix that ends words becomes a space, and goes at the end.
TokenDecoder makeBpe(const JsonReader &json) {
  const std::string suffix = json.at("suffix").string();
  if (suffix.empty())
    json.at("suffix").reject("is empty");
  return [suffix](Tokens &tokens) {
    for (size_t i = 0; i < tokens.size(); ++i)
      tokens[i] = replaceAll(tokens[i], suffix, i + 1 < tokens.size() ? " " : "");
  };
}

TokenDecoder makeReplace(const JsonReader &json) {
  const Normalizer replace = makeNormalizer(json);
  return [replace](Tokens &tokens) {
    size_t bytes = 0;
    for (std::string &token : tokens) {
      TextPart part{std::move(token)};
      replace(part);
      token = std::move(part.text);
      checkLength(bytes += token.size());
    }
  };
}

std::optional<char> byteOf(std::string_view token) {
  const bool isByte = token.size() == 6 && token.starts_with("<0x") && token.ends_with('>');
  const std::string_view digits = isByte ? token.substr(3, 2) : "";
  if (!isByte || digits.find_first_not_of("0123456789abcdefABCDEF") != std::string_view::npos)
    return std::nullopt;
  return static_cast<char>(std::stoi(std::string(digits), nullptr, 16));
}

/// Tokens of bytes that follow each other become text; where they are no UTF-8, each becomes U+FFFD.
TokenDecoder makeByteFallback() {
  return [](Tokens &tokens) {
    Tokens decoded;
    std::string bytes;
    const auto flush = [&] {
      const bool isText = validUtf8(bytes) == bytes;
      if (isText && !bytes.empty())
        decoded.push_back(bytes);
      for (size_t i = 0; !isText && i < bytes.size(); ++i)
        decoded.push_back("\xef\xbf\xbd");
      bytes.clear();
    };
    for (const std::string &token : tokens) {
      if (const auto byte = byteOf(token)) {
        bytes += *byte;
        continue;
      }
      flush();
      decoded.push_back(token);
    }
    flush();
    tokens = std::move(decoded);
  };
}

/// Takes up to `start` and `stop` times the character `content` from the ends of each token.
TokenDecoder makeStrip(const JsonReader &json) {
  const std::string content = json.at("content").string();
  const int64_t start = json.at("start").integer(0, INT32_MAX), stop = json.at("stop").integer(0, INT32_MAX);
  if (content.empty() || codePointLength(content) != content.size())
    json.at("content").reject("must be one character");
  return [content, start, stop](Tokens &tokens) {
    for (std::string &token : tokens) {
      for (int64_t i = 0; i < start && token.starts_with(content); ++i)
        token.erase(0, content.size());
      for (int64_t i = 0; i < stop && token.ends_with(content); ++i)
        token.resize(token.size() - content.size());
    }
  };
}

} // namespace

TokenDecoder makeTokenDecoder(const JsonReader &json) {
  if (json.isNull())
    return [](Tokens &tokens) {
      for (size_t i = 1; i < tokens.size(); ++i)
        tokens[i].insert(0, " ");
    };
  const std::string type = json.at("type").string();
  if (type == "Sequence")
    return makeSequenceOfTokenDecoders(json);
  if (type == "Metaspace")
    return makeMetaspace(json);
  if (type == "ByteLevel")
    return makeByteLevel();
  if (type == "WordPiece")
    return makeWordPiece(json);
  if (type == "BPEDecoder")
    return makeBpe(json);
  if (type == "Replace")
    return makeReplace(json);
  if (type == "ByteFallback")
    return makeByteFallback();
  if (type == "Strip")
    return makeStrip(json);
  if (type == "Fuse")
    return [](Tokens &tokens) { tokens = {joined(tokens)}; };
  json.refuse("the decoder '", type, "' is not supported");
}

} // namespace attnrt
