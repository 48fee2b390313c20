//===- TokenizerTest.cpp - text to ids and back -------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ToyFixture.h"

#include "runtime/src/Failure.h"
#include "runtime/src/Tokenizer.h"

#include <cstdlib>
#include <fstream>

namespace {

using toy::Ids;

class Tokenizers : public toy::Fixture {};

TEST_F(Tokenizers, CharactersAreCodePointsAndTheSourceGetsItsEnd) {
  EXPECT_EQ((Ids{3, 6, 7, 8, toy::end}), model.tokenize(ATTNRT_SOURCE, "a한국é"));
  EXPECT_EQ((Ids{toy::end}), model.tokenize(ATTNRT_SOURCE, ""));
  EXPECT_EQ("a한</s>", model.detokenize(ATTNRT_SOURCE, Ids{3, 6, 2}));
}

TEST_F(Tokenizers, UnknownCharactersAndBrokenBytesAreUnknownTokens) {
  EXPECT_EQ((Ids{3, 10, 4, toy::end}), model.tokenize(ATTNRT_SOURCE, "aZb"));
  // A lone continuation byte, a cut character, an overlong slash, a surrogate: each byte is one unknown
  // token.
  EXPECT_EQ((Ids{10, 3, toy::end}), model.tokenize(ATTNRT_SOURCE, "\x80"
                                                                  "a"));
  EXPECT_EQ((Ids{10, 10, toy::end}), model.tokenize(ATTNRT_SOURCE, "\xed\x95"));
  EXPECT_EQ((Ids{10, 10, 3, toy::end}), model.tokenize(ATTNRT_SOURCE, "\xc0\xaf"
                                                                      "a"));
  EXPECT_EQ((Ids{10, 10, 10, toy::end}), model.tokenize(ATTNRT_SOURCE, "\xed\xa0\x80"));
  EXPECT_EQ((Ids{10, toy::end}), model.tokenize(ATTNRT_SOURCE, "\xf0\x9f\x98\x80"));
}

TEST_F(Tokenizers, WordsAreCutAtWhiteSpace) {
  EXPECT_EQ((Ids{3, 4, 6, 5}), model.tokenize(ATTNRT_TARGET, "  x y\tnothing z "));
  EXPECT_EQ("x ? z", model.detokenize(ATTNRT_TARGET, Ids{3, 6, 5}));
  EXPECT_EQ("y", model.tokenText(ATTNRT_TARGET, 4));
}

TEST_F(Tokenizers, SpecialTokensOfAListAreWordsLikeOthersButNoCharacters) {
  EXPECT_EQ((Ids{3, toy::end}), model.tokenize(ATTNRT_TARGET, "x </s>"));
  EXPECT_EQ("x </s>", model.detokenize(ATTNRT_TARGET, Ids{3, toy::end}));
  EXPECT_EQ((Ids{10, 10, 10, 10, toy::end}), model.tokenize(ATTNRT_SOURCE, "</s>"));
}

TEST_F(Tokenizers, ASmallBufferIsFilledAndTheSizeTold) {
  int32_t ids[2];
  size_t count = 0;
  attnrt::api::check(attnrt_tokenize(model.handle(), ATTNRT_SOURCE, 3, "abc", 2, ids, &count));
  EXPECT_EQ(4u, count);
  EXPECT_EQ(4, ids[1]);
  char text[3];
  const int32_t wanted[] = {3, 4, 5};
  attnrt::api::check(attnrt_detokenize(model.handle(), ATTNRT_SOURCE, 3, wanted, sizeof text, text, &count));
  EXPECT_EQ(3u, count);
  EXPECT_STREQ("ab", text);
}

/// Where the real models are; empty where they are missing.
std::string modelFolder() {
  const char *given = std::getenv("ATTNC_MODELS");
  const std::string folder = given ? given : ATTNC_SOURCE_DIR "/../shared/models";
  return std::ifstream(folder + "/sentencepiece-esen/pairs.json") ? folder + "/sentencepiece-esen" : "";
}

TEST(SentencePiece, EncodesAndDecodesAsTheReferenceDoes) {
  const std::string folder = modelFolder();
  if (folder.empty())
    GTEST_SKIP() << "the real models are missing (ATTNC_MODELS, or ../shared/models)";
  const auto pairs = nlohmann::json::parse(std::ifstream(folder + "/pairs.json"));
  int compared = 0;
  for (const auto &[file, size] :
       {std::pair("vocab.esen.spm", 32000), std::pair("mozilla-translations-vocab.spm", 1000)}) {
    const auto tokenizer = attnrt::makeTokenizer({attnrt::TokenizerKind::SentencePiece, file, "", "", ""},
                                                 folder, {size, std::nullopt});
    for (const auto &pair : pairs[file]) {
      const Ids ids = pair["ids"];
      EXPECT_EQ(ids, tokenizer->encode(pair["text"].get<std::string>()));
      EXPECT_EQ(pair["decoded"].get<std::string>(), tokenizer->decode(ids));
      ++compared;
    }
  }
  EXPECT_GE(compared, 20);
}

TEST(SentencePiece, DamagedModelsAreErrors) {
  const toy::Folder folder;
  for (const char *content : {"", "nonsense", "\x0a\xff\xff\xff\xff\x0f"}) {
    folder.write("model.spm", content);
    EXPECT_THROW(attnrt::makeTokenizer({attnrt::TokenizerKind::SentencePiece, "model.spm", "", "", ""},
                                       folder.path(), {10, {}}),
                 attnrt::Failure);
  }
}

TEST(SentencePiece, ModelsThatEndAfterAPieceAreErrors) {
  std::ifstream file(ATTNC_SOURCE_DIR "/examples/korean-english/tokenizer.model", std::ios::binary);
  const std::string whole(std::istreambuf_iterator<char>(file), {});
  const std::string cut = whole.substr(0, 1000); // the library takes it for a model of fewer pieces
  const toy::Folder folder;
  folder.write("model.spm", cut);
  EXPECT_THROW(attnrt::makeTokenizer({attnrt::TokenizerKind::SentencePiece, "model.spm", "", "", ""},
                                     folder.path(), {1200, {}}),
               attnrt::Failure);
}

} // namespace
