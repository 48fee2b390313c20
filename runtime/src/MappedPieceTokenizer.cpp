//===- MappedPieceTokenizer.cpp - SentencePiece with ids from another file ---===//
// SPDX-License-Identifier: Apache-2.0
//
// The vocabulary file is a JSON object: `pieces` gives each piece its id, `added` the ids of tokens that a
// text may hold as they are (languages, say) and that decoded texts leave out.

#include "AddedTokens.h"
#include "Failure.h"
#include "PieceFile.h"
#include "SubwordModel.h"
#include "Tokenizer.h"
#include "Unicode.h"

namespace attnrt {
namespace {

class MappedPieceTokenizer final : public Tokenizer {
public:
  MappedPieceTokenizer(const NamedContent &model, const JsonReader &ids, const Vocabulary &vocabulary)
      : unknown(vocabulary.unknown) {
    loadPieces(model.path, model.content, processor);
    pieces.addAll(ids.at("pieces"), vocabulary.size);
    special.addAll(ids.at("added"), vocabulary.size);
    std::vector<AddedToken> tokens;
    std::vector<std::string> texts;
    for (const auto &[text, id] : ids.at("added").value.items()) {
      tokens.push_back({text, id.get<int32_t>()});
      texts.push_back(text);
    }
    added = AddedTokens(std::move(tokens), texts);
  }

  std::vector<int32_t> encode(std::string_view bytes) const override {
    std::vector<AddedPart> parts;
    added.split({validUtf8(bytes), true}, parts);
    std::vector<int32_t> ids;
    for (const AddedPart &part : parts) {
      if (part.id)
        ids.push_back(*part.id);
      else
        encodePart(part.part.text, ids);
    }
    return ids;
  }

  std::string decode(std::span<const int32_t> ids) const override {
    std::vector<std::string> known;
    for (const int32_t id : ids)
      if (const std::string *piece = pieces.text(id); piece && !special.text(id))
        known.push_back(*piece);
    std::string text;
    const auto status = processor.Decode(known, &text);
    check(status.ok(), ATTNRT_INTERNAL, "pieces cannot be joined: ", status.ToString());
    const size_t begin = std::min(text.find_first_not_of(' '), text.size());
    return text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
  }

  std::string tokenText(int32_t id) const override {
    const std::string *text = pieces.text(id) ? pieces.text(id) : special.text(id);
    return text ? *text : "";
  }

private:
  void encodePart(const std::string &text, std::vector<int32_t> &ids) const {
    checkLength(text.size());
    std::vector<std::string> found;
    const auto status = processor.Encode(text, &found);
    check(status.ok(), ATTNRT_INVALID_ARGUMENT, "text cannot be split into pieces: ", status.ToString());
    for (const std::string &piece : found) {
      const auto id = pieces.find(piece);
      check(id || unknown, ATTNRT_INVALID_ARGUMENT, "'", piece,
            "' is not in the vocabulary, which has no unknown token");
      ids.push_back(id ? *id : *unknown);
    }
  }

  sentencepiece::SentencePieceProcessor processor;
  TokenTable pieces, special;
  AddedTokens added; // the tokens of `special`
  std::optional<int32_t> unknown;
};

} // namespace

std::unique_ptr<Tokenizer> makeMappedPieceTokenizer(const NamedContent &model, const NamedContent &ids,
                                                    const Vocabulary &vocabulary) {
  const nlohmann::json parsed = parseJson(ids.content, ids.path);
  return std::make_unique<MappedPieceTokenizer>(model, JsonReader(parsed, ids.path), vocabulary);
}

} // namespace attnrt
