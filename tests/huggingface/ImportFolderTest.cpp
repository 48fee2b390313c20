//===- ImportFolderTest.cpp - folders that import must refuse ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/huggingface/ImportFolder.h"
#include "tests/spec/SafetensorsImage.h"
#include "tests/spec/SpecTesting.h"

#include <gtest/gtest.h>

namespace attnc::tests {
namespace {

/// A BART of no layer's weights: enough to come as far as the config.
const std::string config = R"({
  "model_type": "bart",
  "d_model": 8, "encoder_layers": 1, "decoder_layers": 1,
  "encoder_attention_heads": 2, "decoder_attention_heads": 2,
  "encoder_ffn_dim": 16, "decoder_ffn_dim": 16,
  "vocab_size": 20, "max_position_embeddings": 32,
  "decoder_start_token_id": 2, "eos_token_id": 2, "pad_token_id": 1
})";

/// What import says about `text` as config.json; the import must fail and leave nothing behind.
std::string messagesOf(const std::string &text) {
  TemporaryFolder source, output;
  source.write("config.json", text);
  source.write("model.safetensors", zeroTensors({{"some.weight", {2, 2}}}));
  std::ostringstream messages;
  EXPECT_FALSE(importFolder({source.path(), output.path(), {}, {}}, messages));
  EXPECT_TRUE(std::filesystem::is_empty(output.path()));
  return messages.str();
}

std::string replaced(std::string text, const std::string &old, const std::string &by) {
  return text.replace(text.find(old), old.size(), by);
}

#define EXPECT_SAYS(TEXT, WANTED)                                                                            \
  do {                                                                                                       \
    std::string said = messagesOf(TEXT);                                                                     \
    EXPECT_NE(said.find(WANTED), std::string::npos) << said;                                                 \
  } while (false)

TEST(Import, AWrongTypeIsAnErrorAtItsPlace) {
  EXPECT_SAYS(
      replaced(config, R"("d_model": 8)", R"("d_model": "8")"),
      "config.json:3:14: error: 'd_model' must be a whole number from 1 to 1048576, found the text '8'");
}

TEST(Import, AnAbsurdSizeIsAnError) {
  EXPECT_SAYS(replaced(config, R"("d_model": 8)", R"("d_model": 1e300)"), "'d_model' must be a whole number");
  EXPECT_SAYS(replaced(config, R"("vocab_size": 20)", R"("vocab_size": -1)"),
              "'vocab_size' must be a whole number");
}

TEST(Import, AMissingKeyIsAnError) {
  EXPECT_SAYS(replaced(config, R"("d_model": 8, )", ""), "'d_model' is missing");
}

TEST(Import, AKeyThatIsGivenTwiceIsAnError) {
  EXPECT_SAYS(replaced(config, R"("pad_token_id")", R"("d_model": 16, "pad_token_id")"),
              "config.json:7:51: error: 'd_model' is given twice");
}

TEST(Import, AFamilyThatIsNotKnownIsAnError) {
  EXPECT_SAYS(replaced(config, R"("bart")", R"("parrot")"), "'model_type' is the text 'parrot'");
}

TEST(Import, WhatCannotBeRepresentedIsAnErrorWithKeyAndValue) {
  EXPECT_SAYS(replaced(config, R"("d_model")", R"("activation_function": "tanh", "d_model")"),
              "'activation_function' is the text 'tanh'");
  EXPECT_SAYS(replaced(config, R"("d_model")", R"("normalize_before": true, "d_model")"),
              "'normalize_before' is 'true': only false can be represented");
}

TEST(Import, WeightsThatAreMissingAreErrorsOfTheSpec) {
  EXPECT_SAYS(config, "the weight file lacks 'shared.weight'");
}

TEST(Import, EveryTruncatedConfigIsAnError) {
  for (size_t length = 0; length < config.size(); ++length)
    EXPECT_NE(messagesOf(config.substr(0, length)), "") << length;
}

TEST(Import, DeepNestingIsAnError) {
  EXPECT_SAYS("{\"a\": " + std::string(100000, '['), "nested deeper than 32");
  EXPECT_SAYS("[1]", "an object is needed");
}

/// What import says of a BART whose folder has this file, too.
std::string messagesWith(const std::string &name, const std::string &text) {
  TemporaryFolder source, output;
  source.write("config.json", config);
  source.write("model.safetensors", zeroTensors({{"some.weight", {2, 2}}}));
  source.write(name, text);
  std::ostringstream messages;
  EXPECT_FALSE(importFolder({source.path(), output.path(), {}, {}}, messages));
  EXPECT_TRUE(std::filesystem::is_empty(output.path()));
  return messages.str();
}

TEST(Import, ADamagedTokenizerIsAnErrorWithItsPlace) {
  const std::pair<std::string, std::string> cases[] = {
      {R"({"model": {"vocab": {"a": "b"}}})", R"(the id of 'a' is "b", no whole number)"},
      {R"({"model": {"vocab": {"a": 1e300}}})", "no whole number"},
      {R"({"model": {"vocab": [7]}})", "a piece of the vocabulary must be a text"},
      {R"({"model": {"vocab": {}}, "added_tokens": [7]})", "an added token must be a text"},
      {R"({"model": {"vocab": {}}, "post_processor": {"type": "Parrot"}})",
       "the post-processor 'Parrot' is not supported"},
      {R"({"model": {"vocab": {}}, "post_processor": {"type": "BertProcessing", "cls": 7}})",
       "the id of 'cls'"},
      {"{\n \"model\": {,}}", "parse error at line 2, column 12"},
      {"[1]", "must hold a JSON object"},
      {"", "is no JSON"},
      {"{\"a\": " + std::string(100000, '['), "nested more than 16 deep"},
  };
  for (const auto &[text, wanted] : cases) {
    std::string said = messagesWith("tokenizer.json", text);
    EXPECT_NE(said.find("tokenizer.json: "), std::string::npos) << said;
    EXPECT_NE(said.find(wanted), std::string::npos) << said;
  }
  EXPECT_NE(
      messagesWith("tokenizer_config.json", "{\"src_lang\": 7,}").find("tokenizer_config.json:1:16: error"),
      std::string::npos);
}

TEST(Import, AFileThatWouldBeMadeIsNotWrittenOver) {
  TemporaryFolder source, output;
  source.write("config.json", config);
  source.write("model.safetensors", zeroTensors({{"some.weight", {2, 2}}}));
  source.write("vocab.json", R"({"<s>": 0, "</s>": 2})");
  source.write("merges.txt", "");
  std::string kept = output.write("tokenizer.json", "mine");
  std::ostringstream messages;
  EXPECT_FALSE(importFolder({source.path(), output.path(), {}, {}}, messages));
  EXPECT_NE(messages.str().find("it is there already"), std::string::npos) << messages.str();
  EXPECT_EQ("mine", readFile(kept));
}

TEST(Import, ASpecThatIsThereIsNotWrittenOver) {
  TemporaryFolder source;
  source.write("config.json", config);
  source.write("model.safetensors", zeroTensors({{"some.weight", {2, 2}}}));
  std::string spec = source.write("model.yaml", "mine");
  std::ostringstream messages;
  EXPECT_FALSE(importFolder({source.path(), source.path(), {}, {}}, messages));
  EXPECT_EQ("mine", readFile(spec));
  EXPECT_TRUE(std::filesystem::exists(source.path() + "/model.safetensors"));
}

} // namespace
} // namespace attnc::tests
