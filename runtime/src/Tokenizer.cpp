//===- Tokenizer.cpp - choosing a tokenizer; ids as text ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Tokenizer.h"
#include "Failure.h"
#include "Hash.h"
#include "MappedFile.h"

#include <charconv>
#include <sstream>

namespace attnrt {
namespace {

/// Text is ids, separated by spaces.
class IdTokenizer final : public Tokenizer {
public:
  explicit IdTokenizer(const Vocabulary &vocabulary) : vocabulary(vocabulary) {}

  std::vector<int32_t> encode(std::string_view text) const override {
    std::vector<int32_t> ids;
    std::istringstream words{std::string(text)};
    std::string word;
    while (words >> word) {
      int32_t id = 0;
      const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), id);
      check(error == std::errc() && end == word.data() + word.size(), ATTNRT_INVALID_ARGUMENT, "'", word,
            "' is not a token id");
      check(id >= 0 && id < vocabulary.size, ATTNRT_INVALID_ARGUMENT, "token id ", id,
            " is out of range: the vocabulary has ", vocabulary.size);
      ids.push_back(id);
    }
    return ids;
  }

  std::string decode(std::span<const int32_t> ids) const override {
    std::string text;
    for (const int32_t id : ids)
      text += (text.empty() ? "" : " ") + tokenText(id);
    return text;
  }

  std::string tokenText(int32_t id) const override { return std::to_string(id); }

private:
  Vocabulary vocabulary;
};

NamedContent readTokenizerFile(const std::string &folder, const std::string &file, const std::string &hash) {
  constexpr size_t largestFile = 64u << 20; // four times the largest that is known
  NamedContent read{folder + "/" + file, {}};
  read.content = readFile(read.path, largestFile);
  check(hash.empty() || hash128(read.content) == hash, ATTNRT_BAD_BUNDLE, read.path,
        ": does not match its hash");
  return read;
}

} // namespace

std::unique_ptr<Tokenizer> makeTokenizer(const TokenizerInfo &info, const std::string &folder,
                                         const Vocabulary &vocabulary) {
  if (info.kind == TokenizerKind::Ids)
    return std::make_unique<IdTokenizer>(vocabulary);
  const NamedContent file = readTokenizerFile(folder, info.file, info.hash);
  if (!info.vocabulary.empty())
    return makeMappedPieceTokenizer(file, readTokenizerFile(folder, info.vocabulary, info.vocabularyHash),
                                    vocabulary);
  if (info.kind == TokenizerKind::SentencePiece)
    return makeSentencePieceTokenizer(file.path, file.content, vocabulary);
  if (info.kind == TokenizerKind::TokenizerJson)
    return makeJsonTokenizer(file.path, file.content, vocabulary);
  return makeListTokenizer(info.kind, file.path, file.content, vocabulary);
}

} // namespace attnrt
