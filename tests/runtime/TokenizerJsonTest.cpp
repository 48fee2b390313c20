//===- TokenizerJsonTest.cpp - files of the tokenizers package ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// tokenizers/*.json hold small tokenizers and what the package (0.23) makes of difficult lines;
// tests/huggingface/tokenizers_test.py writes them, and compares more where the package is installed.

#include "runtime/src/Failure.h"
#include "runtime/src/MappedFile.h"
#include "runtime/src/Tokenizer.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <functional>
#include <random>

namespace {

using Json = nlohmann::json;

Json readExpectations(const std::string &name) {
  return Json::parse(
      attnrt::readFile(ATTNC_SOURCE_DIR "/tests/runtime/tokenizers/" + name + ".json", 1u << 20));
}

std::unique_ptr<attnrt::Tokenizer> make(const std::string &text, int32_t size) {
  return attnrt::makeJsonTokenizer("tokenizer.json", text, {size, std::nullopt});
}

/// What is said of the expectations' tokenizer once `change` is done; "" where it loads.
std::string errorAfter(const std::string &name, const std::function<void(Json &)> &change) {
  Json all = readExpectations(name);
  change(all["tokenizer"]);
  try {
    make(all["tokenizer"].dump(), all["size"]);
  } catch (const attnrt::Failure &failure) {
    return failure.what();
  }
  return "";
}

class TokenizerJson : public testing::TestWithParam<const char *> {};

TEST_P(TokenizerJson, GivesTheIdsAndTextsOfThePackage) {
  const Json all = readExpectations(GetParam());
  const auto tokenizer = make(all["tokenizer"].dump(), all["size"]);
  EXPECT_GT(all["cases"].size(), 100u);
  for (const Json &wanted : all["cases"]) {
    const std::vector<int32_t> ids = tokenizer->encode(wanted[0].get<std::string>());
    EXPECT_EQ(wanted[1].get<std::vector<int32_t>>(), ids) << wanted[0];
    EXPECT_EQ(wanted[2].get<std::string>(), tokenizer->decode(ids)) << wanted[0];
  }
}

TEST_P(TokenizerJson, ATruncatedFileIsAnError) {
  const Json all = readExpectations(GetParam());
  const std::string text = all["tokenizer"].dump();
  for (size_t length = 0; length < text.size(); length += 61)
    EXPECT_THROW(make(text.substr(0, length), all["size"]), attnrt::Failure) << length;
}

/// A value somewhere in `json`.
Json *chooseValue(Json &json, std::mt19937 &draw) {
  Json *chosen = &json;
  while (chosen->is_structured() && !chosen->empty() && (chosen == &json || draw() % 5))
    chosen = &*std::next(chosen->begin(), draw() % chosen->size());
  return chosen;
}

TEST_P(TokenizerJson, WrongValuesAreErrorsOrHarmless) {
  const Json all = readExpectations(GetParam());
  const Json wrong[] = {nullptr,
                        true,
                        -1,
                        4000000000,
                        1e308,
                        "",
                        "x",
                        std::string(100, 'x'),
                        Json::array(),
                        Json::array({"a", "b"}),
                        Json::object(),
                        {{"type", "Fuse"}}};
  std::mt19937 draw(11);
  for (int i = 0; i < 100; ++i) {
    Json tokenizer = all["tokenizer"];
    *chooseValue(tokenizer, draw) = wrong[draw() % std::size(wrong)];
    try {
      const auto made = make(tokenizer.dump(), all["size"]);
      for (size_t line = 0; line < all["cases"].size(); line += 9)
        made->decode(made->encode(all["cases"][line][0].get<std::string>()));
    } catch (const attnrt::Failure &failure) {
      EXPECT_NE("", std::string(failure.what()));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, TokenizerJson,
                         testing::Values("bart", "beginnings", "bert", "bert-cased", "byte-fallback", "mbart",
                                         "nllb", "older-spm", "pegasus", "suffixes", "t5", "white-space"),
                         [](const auto &info) {
                           std::string name = info.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST(TokenizerJsonErrors, WhatIsNotSupportedIsNamed) {
  EXPECT_EQ("tokenizer.json.normalizer: the normalizer 'ByteLevel' is not supported",
            errorAfter("t5", [](Json &json) { json["normalizer"] = {{"type", "ByteLevel"}}; }));
  EXPECT_EQ(
      "tokenizer.json.pre_tokenizer.pretokenizers[1]: the pre-tokenizer 'Split' is not supported",
      errorAfter("t5", [](Json &json) { json["pre_tokenizer"]["pretokenizers"][1]["type"] = "Split"; }));
  EXPECT_EQ("tokenizer.json.model: the model 'WordLevel' is not supported",
            errorAfter("bert", [](Json &json) { json["model"]["type"] = "WordLevel"; }));
  EXPECT_EQ("tokenizer.json.decoder: the decoder 'CTC' is not supported",
            errorAfter("bert", [](Json &json) { json["decoder"]["type"] = "CTC"; }));
  EXPECT_EQ("tokenizer.json.model.dropout: random splits are not supported",
            errorAfter("nllb", [](Json &json) { json["model"]["dropout"] = 0.1; }));
  EXPECT_EQ("tokenizer.json.normalizer.normalizers[0].pattern.Regex: the regular expression 'a|b' is not "
            "supported; a character or \\s is, with + or {n,} after it",
            errorAfter("pegasus",
                       [](Json &json) { json["normalizer"]["normalizers"][0]["pattern"]["Regex"] = "a|b"; }));
}

TEST(TokenizerJsonErrors, WhatIsWrongIsSaidWithItsPlace) {
  EXPECT_EQ("tokenizer.json.model.vocab.<unk>: must be a whole number from 0 to 601",
            errorAfter("nllb", [](Json &json) { json["model"]["vocab"]["<unk>"] = 100000; }).substr(0, 70));
  EXPECT_EQ("tokenizer.json.model.merges[2]: 'nowhere' is not in the vocabulary",
            errorAfter("nllb", [](Json &json) { json["model"]["merges"][2] = "nowhere to"; }));
  EXPECT_EQ("tokenizer.json.model.vocab[7]: must be a piece and its score",
            errorAfter("t5", [](Json &json) { json["model"]["vocab"][7] = {"x"}; }));
  EXPECT_EQ("tokenizer.json.normalizer.precompiled_charsmap: is not Base64 text",
            errorAfter("t5", [](Json &json) { json["normalizer"]["precompiled_charsmap"] = "****"; }));
  EXPECT_EQ("tokenizer.json.normalizer.precompiled_charsmap: is not a compiled map of characters",
            errorAfter("t5", [](Json &json) { json["normalizer"]["precompiled_charsmap"] = "////////"; }));
}

TEST(TokenizerJsonErrors, DeepNestingIsAnError) {
  EXPECT_THROW(make(std::string(100000, '['), 10), attnrt::Failure);
}

TEST(TokenizerJsonErrors, ATextThatWouldExplodeIsAnError) {
  Json all = readExpectations("t5");
  const Json step = {{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", std::string(60, 'a')}};
  all["tokenizer"]["normalizer"] = {{"type", "Sequence"}, {"normalizers", Json(10, step)}};
  EXPECT_THROW(make(all["tokenizer"].dump(), all["size"])->encode("aaaa"), attnrt::Failure);
}

TEST(TokenizerJsonErrors, OutputsThatWouldExplodeAreAnError) {
  Json all = readExpectations("t5");
  const auto ids = make(all["tokenizer"].dump(), all["size"])->encode(std::string(200, 'a'));
  const Json step = {{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", std::string(60, 'a')}};
  all["tokenizer"]["decoder"] = {{"type", "Sequence"}, {"decoders", Json(3, step)}}; // each token stays short
  EXPECT_THROW(make(all["tokenizer"].dump(), all["size"])->decode(ids), attnrt::Failure);
}

TEST(TokenizerJsonErrors, BytesThatWouldDoubleAtEachStepAreAnError) {
  Json all = readExpectations("t5");
  const Json step = {
      {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", false}};
  all["tokenizer"]["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", Json(64, step)}};
  EXPECT_THROW(make(all["tokenizer"].dump(), all["size"])->encode("\u00e9"), attnrt::Failure);
}

TEST(TokenizerJsonErrors, AMapOfCharactersMayHoldAnything) {
  Json all = readExpectations("t5");
  const std::string map = all["tokenizer"]["normalizer"]["precompiled_charsmap"];
  std::mt19937 draw(3);
  for (int i = 0; i < 300; ++i) {
    std::string damaged = map;
    for (int byte = 0; byte < 20; ++byte)
      damaged[8 + draw() % (damaged.size() - 16)] = "AQgw/+048z"[draw() % 10];
    all["tokenizer"]["normalizer"]["precompiled_charsmap"] = damaged;
    try {
      make(all["tokenizer"].dump(), all["size"])->encode("ﬁ e\u0301 \u3000Ａ①… \u1100\u1161\u11a8 \ufdfa");
    } catch (const attnrt::Failure &) { // the replacements may be no UTF-8
    }
  }
}

TEST(TokenizerJsonBytes, BrokenUtf8IsReadAsReplacementCharacters) {
  const Json all = readExpectations("bert");
  const auto tokenizer = make(all["tokenizer"].dump(), all["size"]);
  EXPECT_EQ(tokenizer->encode("a\ufffd\ufffdb"), tokenizer->encode("a\xff\xc0"
                                                                   "b"));
}

TEST(TokenizerJsonBytes, AnAddedTokenBeyondTheVocabularyIsNotLookedFor) {
  const Json all = readExpectations("mbart");
  const int32_t mask = 503; // the last but one
  const auto whole = make(all["tokenizer"].dump(), all["size"]);
  ASSERT_EQ("<mask>", whole->tokenText(whole->encode("<mask>").at(0)));
  const auto smaller = make(all["tokenizer"].dump(), whole->encode("<mask>").at(0));
  for (const int32_t id : smaller->encode("a <mask> b"))
    EXPECT_LT(id, mask);
}

} // namespace
