//===- JsonTokenizer.cpp - the tokenizer.json of the tokenizers package ------===//
// SPDX-License-Identifier: Apache-2.0
//
// Text goes through added tokens, normalizer, pre-tokenizer and model; ids go through the decoder. The tokens
// that the file's post-processor would put around a text are the bundle's own to know (`source_start`,
// `source_end`), and `truncation` and `padding` are not looked at.

#include "AddedTokens.h"
#include "Failure.h"
#include "Normalizers.h"
#include "PreTokenizers.h"
#include "SubwordModel.h"
#include "TokenDecoders.h"
#include "Tokenizer.h"
#include "Unicode.h"

#include <unordered_set>

namespace attnrt {
namespace {

const nlohmann::json null;

/// A component that may be missing.
JsonReader component(const JsonReader &json, const char *key) {
  return json.has(key) ? json.at(key) : JsonReader(null, json.placeOf(key));
}

AddedToken readAddedToken(const JsonReader &json) {
  const auto flag = [&](const char *key) { return json.has(key) && json.at(key).boolean(); };
  return {json.at("content").string(),
          static_cast<int32_t>(json.at("id").integer(0, INT32_MAX)),
          flag("single_word"),
          flag("lstrip"),
          flag("rstrip"),
          flag("normalized"),
          flag("special")};
}

class JsonTokenizer final : public Tokenizer {
public:
  JsonTokenizer(const JsonReader &json, const Vocabulary &vocabulary)
      : model(makeSubwordModel(json.at("model"), vocabulary.size)),
        normalize(makeNormalizer(component(json, "normalizer"))),
        preTokenize(makePreTokenizer(component(json, "pre_tokenizer"))),
        decodeTokens(makeTokenDecoder(component(json, "decoder"))) {
    std::vector<AddedToken> raw, normalized;
    if (json.gives("added_tokens"))
      for (const JsonReader &token : json.at("added_tokens").elements())
        add(readAddedToken(token), vocabulary.size, raw, normalized);
    std::vector<std::string> rawTexts, normalizedTexts;
    for (const AddedToken &token : raw)
      rawTexts.push_back(token.text);
    for (const AddedToken &token : normalized) {
      TextPart part{token.text};
      normalize(part);
      normalizedTexts.push_back(part.text);
    }
    rawTokens = AddedTokens(std::move(raw), rawTexts);
    normalizedTokens = AddedTokens(std::move(normalized), normalizedTexts);
  }

  std::vector<int32_t> encode(std::string_view bytes) const override {
    std::vector<int32_t> ids;
    std::vector<AddedPart> parts;
    rawTokens.split({validUtf8(bytes), true}, parts);
    for (AddedPart &part : parts) {
      std::vector<AddedPart> inner;
      if (part.id) {
        ids.push_back(*part.id);
        continue;
      }
      normalize(part.part);
      normalizedTokens.split(part.part, inner);
      for (AddedPart &piece : inner)
        encodePart(piece, ids);
    }
    return ids;
  }

  std::string decode(std::span<const int32_t> ids) const override {
    std::vector<std::string> tokens;
    for (const int32_t id : ids)
      if (const std::string token = tokenText(id); !token.empty() && !special.contains(id))
        tokens.push_back(token);
    decodeTokens(tokens);
    std::string text;
    for (const std::string &token : tokens)
      text += token;
    return text;
  }

  std::string tokenText(int32_t id) const override {
    if (const auto found = addedTexts.find(id); found != addedTexts.end())
      return found->second;
    const std::string *text = model->table.text(id);
    return text ? *text : "";
  }

private:
  /// Tokens that the network has no row for are not looked for: some models were saved with one too many.
  void add(AddedToken token, int32_t limit, std::vector<AddedToken> &raw,
           std::vector<AddedToken> &normalized) {
    if (const auto id = model->table.find(token.text))
      token.id = *id;
    if (token.id >= limit || token.text.empty())
      return;
    addedTexts[token.id] = token.text;
    if (token.isSpecial)
      special.insert(token.id);
    (token.isNormalized ? normalized : raw).push_back(std::move(token));
  }

  void encodePart(AddedPart &part, std::vector<int32_t> &ids) const {
    if (part.id) {
      ids.push_back(*part.id);
      return;
    }
    std::vector<TextPart> words{std::move(part.part)};
    preTokenize(words);
    for (const TextPart &word : words)
      model->encode(word.text, ids);
  }

  std::unique_ptr<SubwordModel> model;
  Normalizer normalize;
  PreTokenizer preTokenize;
  TokenDecoder decodeTokens;
  AddedTokens rawTokens, normalizedTokens;
  std::unordered_map<int32_t, std::string> addedTexts;
  std::unordered_set<int32_t> special; // ids that decoded texts leave out
};

} // namespace

std::unique_ptr<Tokenizer> makeJsonTokenizer(const std::string &path, const std::string &content,
                                             const Vocabulary &vocabulary) {
  const nlohmann::json parsed = parseJson(content, path);
  return std::make_unique<JsonTokenizer>(JsonReader(parsed, path), vocabulary);
}

} // namespace attnrt
