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
            "' is no token id");
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

} // namespace

std::unique_ptr<Tokenizer> makeTokenizer(const TokenizerInfo &info, const std::string &folder,
                                         const Vocabulary &vocabulary) {
  if (info.kind == TokenizerKind::Ids)
    return std::make_unique<IdTokenizer>(vocabulary);
  constexpr size_t largestFile = 256u << 20;
  const std::string path = folder + "/" + info.file;
  const std::string content = readFile(path, largestFile);
  check(info.hash.empty() || hash128(content) == info.hash, ATTNRT_BAD_BUNDLE, path,
        ": does not match its hash");
  if (info.kind == TokenizerKind::SentencePiece)
    return makeSentencePieceTokenizer(path, content, vocabulary);
  return makeListTokenizer(info.kind, path, content, vocabulary);
}

} // namespace attnrt
