//===- TokenizerTest.cpp - text to ids and back -------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ToyFixture.h"

#include "runtime/src/Failure.h"
#include "runtime/src/Tokenizer.h"

#include <cstdlib>
#include <fstream>
#include <map>

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

/// A field of bytes of a Protocol Buffers message.
std::string field(int number, const std::string &bytes) {
  std::string text(1, static_cast<char>(number << 3 | 2));
  size_t left = bytes.size();
  for (; left >= 0x80; left >>= 7)
    text += static_cast<char>(0x80 | (left & 0x7f));
  return text + static_cast<char>(left) + bytes;
}

/// A compiled map of characters of 256 units, all empty but those given, and these replacements.
std::string characterMap(std::map<size_t, uint32_t> given, const std::string &replacements) {
  std::vector<uint32_t> words(257, 0);
  words[0] = 4 * 256;
  for (const auto &[number, unit] : given)
    words[1 + number] = unit;
  return std::string(reinterpret_cast<const char *>(words.data()), 4 * words.size()) + replacements;
}

TEST(SentencePiece, MapsThatLeadOutOfThemselvesAreErrors) {
  std::ifstream file(ATTNC_SOURCE_DIR "/examples/korean-english/tokenizer.model", std::ios::binary);
  const std::string whole(std::istreambuf_iterator<char>(file), {});
  constexpr uint32_t hasLeaf = 1u << 8, isValue = 1u << 31;
  const auto makeWith = [&](const std::string &map) { // in rules that are joined to those before
    const toy::Folder folder;
    folder.write("model.spm", whole + field(3, field(2, map)));
    attnrt::makeTokenizer({attnrt::TokenizerKind::SentencePiece, "model.spm", "", "", ""}, folder.path(),
                          {1200, {}})
        ->encode("text");
  };
  const uint32_t toUnit2 = 2u << 10 | hasLeaf | 't'; // of unit 't' ^ 1: its value is at 't' ^ 1 ^ 2
  const std::map<size_t, uint32_t> good = {{0, 1u << 10}, {'t' ^ 1, toUnit2}, {'t' ^ 1 ^ 2, isValue | 1}};
  EXPECT_NO_THROW(makeWith(characterMap(good, std::string("a\0b\0", 4))));
  EXPECT_NO_THROW(makeWith(""));
  EXPECT_THROW(makeWith(characterMap(good, std::string("a\0b", 3))), attnrt::Failure) << "no end";
  EXPECT_THROW(makeWith(characterMap(good, std::string("\0", 1))), attnrt::Failure) << "no such place";
  EXPECT_THROW(makeWith(characterMap({{0, 1u << 20}}, std::string("\0", 1))), attnrt::Failure)
      << "no such unit";
  EXPECT_THROW(makeWith(characterMap({{7, 1u << 9 | 1u << 18}}, std::string("\0", 1))), attnrt::Failure);
  EXPECT_THROW(makeWith(characterMap({{0, isValue | 1u << 20}}, std::string("\0", 1))), attnrt::Failure)
      << "a root that looks like a value";
  EXPECT_THROW(makeWith(characterMap({}, "")), attnrt::Failure) << "no replacements";
  EXPECT_THROW(makeWith("\x07"), attnrt::Failure);
  EXPECT_THROW(makeWith(std::string("\xff\xff\xff\x7f\0\0\0\0", 8)), attnrt::Failure)
      << "more units than there are";
}

TEST(SentencePiece, PiecesThatTheLibraryThrowsAtAreErrors) {
  std::ifstream file(ATTNC_SOURCE_DIR "/examples/korean-english/tokenizer.model", std::ios::binary);
  const std::string whole(std::istreambuf_iterator<char>(file), {});
  for (const std::string &piece : {std::string(), std::string(1, '\0')}) {
    const toy::Folder folder;
    folder.write("model.spm", field(1, field(1, piece)) + whole);
    try {
      attnrt::makeTokenizer({attnrt::TokenizerKind::SentencePiece, "model.spm", "", "", ""}, folder.path(),
                            {1201, {}});
      ADD_FAILURE() << "no error";
    } catch (const attnrt::Failure &failure) {
      EXPECT_NE(std::string(failure.what()).find("is not a SentencePiece model"), std::string::npos)
          << failure.what();
    }
  }
}

TEST(SentencePiece, TextsBeyondAllMeasureAreErrors) {
  const auto tokenizer =
      attnrt::makeTokenizer({attnrt::TokenizerKind::SentencePiece, "tokenizer.model", "", "", ""},
                            ATTNC_SOURCE_DIR "/examples/korean-english", {1200, {}});
  EXPECT_THROW(tokenizer->encode(std::string((16 << 20) + 1, 'a')), attnrt::Failure);
}

} // namespace
