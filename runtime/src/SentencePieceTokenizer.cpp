//===- SentencePieceTokenizer.cpp - text to pieces by the SentencePiece library -===//
// SPDX-License-Identifier: Apache-2.0

#include "Failure.h"
#include "PieceFile.h"
#include "TextPart.h"
#include "Tokenizer.h"

namespace attnrt {
namespace {

class SentencePieceTokenizer final : public Tokenizer {
public:
  SentencePieceTokenizer(const std::string &path, const std::string &content, const Vocabulary &vocabulary)
      : vocabulary(vocabulary) {
    loadPieces(path, content, processor);
    check(processor.GetPieceSize() <= vocabulary.size, ATTNRT_BAD_BUNDLE, path, ": has ",
          processor.GetPieceSize(), " pieces, but the model's vocabulary ends at ", vocabulary.size);
  }

  std::vector<int32_t> encode(std::string_view text) const override {
    checkLength(text.size());
    std::vector<int> ids;
    const auto status = processor.Encode(text, &ids);
    check(status.ok(), ATTNRT_INVALID_ARGUMENT, "text cannot be split into pieces: ", status.ToString());
    if (vocabulary.unknown)
      for (int &id : ids)
        if (processor.IsUnknown(id))
          id = *vocabulary.unknown;
    return ids;
  }

  std::string decode(std::span<const int32_t> ids) const override {
    std::vector<int> known;
    for (const int32_t id : ids)
      if (id >= 0 && id < processor.GetPieceSize())
        known.push_back(id);
    std::string text;
    const auto status = processor.Decode(known, &text);
    check(status.ok(), ATTNRT_INTERNAL, "pieces cannot be joined: ", status.ToString());
    return text;
  }

  std::string tokenText(int32_t id) const override {
    return id >= 0 && id < processor.GetPieceSize() ? processor.IdToPiece(id) : "";
  }

private:
  Vocabulary vocabulary;
  sentencepiece::SentencePieceProcessor processor;
};

} // namespace

std::unique_ptr<Tokenizer> makeSentencePieceTokenizer(const std::string &path, const std::string &content,
                                                      const Vocabulary &vocabulary) {
  return std::make_unique<SentencePieceTokenizer>(path, content, vocabulary);
}

} // namespace attnrt
