//===- ImportFolderTest.cpp - folders that import must refuse ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/huggingface/ImportFolder.h"
#include "tests/spec/SafetensorsImage.h"
#include "tests/spec/SpecTesting.h"

#include <gtest/gtest.h>

#include <map>

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

using Tensors = std::vector<std::pair<std::string, std::vector<int64_t>>>;

/// Every tensor of `config`'s model; `more` stand last.
std::string allTensors(const Tensors &more = {}, const std::string &table = "model.shared.weight") {
  Tensors tensors = {{table, {20, 8}}, {"final_logits_bias", {1, 20}}};
  auto add = [&](const std::string &name, std::vector<int64_t> shape) {
    tensors.emplace_back(name + ".weight", shape);
    tensors.emplace_back(name + ".bias", std::vector<int64_t>{shape.front()});
  };
  for (std::string side : {"encoder", "decoder"}) {
    std::string layer = "model." + side + ".layers.0.";
    tensors.emplace_back("model." + side + ".embed_positions.weight", std::vector<int64_t>{34, 8});
    add("model." + side + ".layernorm_embedding", {8});
    for (std::string attention : {"self_attn", "encoder_attn"})
      if (side == "decoder" || attention == "self_attn") {
        for (std::string projection : {"q_proj", "k_proj", "v_proj", "out_proj"})
          add(layer + attention + "." + projection, {8, 8});
        add(layer + attention + "_layer_norm", {8});
      }
    add(layer + "fc1", {16, 8});
    add(layer + "fc2", {8, 16});
    add(layer + "final_layer_norm", {8});
  }
  tensors.insert(tensors.end(), more.begin(), more.end());
  return zeroTensors(tensors);
}

using Files = std::map<std::string, std::string>;

/// The spec that import writes, empty after an error, and what it says.
struct Imported {
  std::string spec, messages;
};

/// Imports a folder of these files and a config.json.
Imported imported(Files files) {
  TemporaryFolder source, output;
  files.try_emplace("config.json", config);
  for (const auto &[name, content] : files)
    source.write(name, content);
  std::ostringstream messages;
  bool isDone = importFolder({source.path(), output.path(), {}, {}}, messages);
  return {isDone ? readFile(output.path() + "/model.yaml") : std::string(), messages.str()};
}

void expectHolds(const std::string &text, const std::string &part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

void expectLacks(const std::string &text, const std::string &part) {
  EXPECT_EQ(text.find(part), std::string::npos) << text;
}

TEST(Import, AConfigThatIsNotReadIsToldWhy) {
  TemporaryFolder source, output;
  const auto messages = [&] {
    std::ostringstream messages;
    EXPECT_FALSE(importFolder({source.path(), output.path(), {}, {}}, messages));
    return messages.str();
  };
  const std::string file = source.path() + "/config.json";
  EXPECT_EQ(file + ": error: there is no such file\n", messages());
  std::filesystem::create_directory(file);
  EXPECT_EQ(file + ": error: this is no regular file\n", messages());
  std::filesystem::remove(file);
  source.write("config.json", std::string((16 << 20) + 1, ' '));
  EXPECT_EQ(file + ": error: the file is larger than 16777216 bytes\n", messages());
}

TEST(Import, EqualTablesBecomeOne) {
  auto [spec, messages] =
      imported({{"model.safetensors", allTensors({{"model.encoder.embed_tokens.weight", {20, 8}},
                                                  {"model.decoder.embed_tokens.weight", {20, 8}},
                                                  {"lm_head.weight", {20, 8}}})}});
  expectHolds(spec, "tied: all\n");
  EXPECT_EQ(messages, "warning: no tokenizer was found: the spec takes token ids\n");
}

TEST(Import, TablesThatDifferAreEachUsed) {
  std::string tensors = allTensors({{"lm_head.weight", {20, 8}}});
  tensors.back() = 1;
  auto [spec, messages] = imported({{"model.safetensors", tensors}});
  expectHolds(spec, "tied: source_target\n");
  expectHolds(spec, R"(shared_embedding: "model.shared.weight")");
  expectHolds(spec, R"(output: "{parameter:lm_head.weight,final_logits_bias}")");
  expectHolds(messages,
              "warning: the config ties the tables of tokens, but these differ, and each is used as it is: "
              "'lm_head.weight', 'model.shared.weight'\n");
}

TEST(Import, AnUntiedFolderNeedsItsOutputsTable) {
  std::string untied = replaced(config, R"("d_model")", R"("tie_word_embeddings": false, "d_model")");
  auto [spec, messages] = imported({{"config.json", untied}, {"model.safetensors", allTensors()}});
  EXPECT_EQ(spec, "");
  expectHolds(messages, "the weight file lacks 'lm_head.weight'");
}

TEST(Import, ATableThatIsMissingIsNotChosenFromTwoThatDiffer) {
  std::string tensors =
      allTensors({{"model.encoder.embed_tokens.weight", {20, 8}}}, "model.decoder.embed_tokens.weight");
  tensors.back() = 1;
  auto [spec, messages] = imported({{"model.safetensors", tensors}});
  EXPECT_EQ(spec, "");
  expectHolds(messages,
              "error: the weight file lacks 'lm_head.weight', and 'model.decoder.embed_tokens.weight' and "
              "'model.encoder.embed_tokens.weight', which it could be tied to, differ");
}

/// As older releases of the library save one name of those that are one table.
TEST(Import, OneTableMayHaveAnyOfItsNames) {
  for (const char *name :
       {"model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight", "lm_head.weight"}) {
    auto [spec, messages] = imported({{"model.safetensors", allTensors({}, name)}});
    expectHolds(spec, "tied: all\n");
    expectHolds(spec, "shared_embedding: \"" + std::string(name) + "\"");
  }
}

TEST(Import, TensorsThatNothingReadsAreNamed) {
  auto [spec, messages] =
      imported({{"model.safetensors", allTensors({{"model.decoder.layers.0.adapter.weight", {3, 3}}})}});
  EXPECT_NE(spec, "");
  expectHolds(messages, "warning: nothing reads these tensors of the weights: "
                        "'model.decoder.layers.0.adapter.weight'\n");
}

/// A BERT without heads.
std::string bertTensors() {
  Tensors tensors = {{"embeddings.position_ids", {1, 32}},
                     {"embeddings.word_embeddings.weight", {20, 8}},
                     {"embeddings.position_embeddings.weight", {32, 8}},
                     {"embeddings.token_type_embeddings.weight", {2, 8}}};
  auto add = [&](const std::string &name, std::vector<int64_t> shape) {
    tensors.emplace_back(name + ".weight", shape);
    tensors.emplace_back(name + ".bias", std::vector<int64_t>{shape.front()});
  };
  add("embeddings.LayerNorm", {8});
  std::string layer = "encoder.layer.0.";
  for (const char *name :
       {"attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"})
    add(layer + name, {8, 8});
  add(layer + "attention.output.LayerNorm", {8});
  add(layer + "intermediate.dense", {16, 8});
  add(layer + "output.dense", {8, 16});
  add(layer + "output.LayerNorm", {8});
  return zeroTensors(tensors);
}

TEST(Import, ABertWithoutATokenizerTakesIds) {
  auto [spec, messages] = imported({{"config.json", R"({"model_type": "bert", "hidden_size": 8,
    "num_attention_heads": 2, "num_hidden_layers": 1, "intermediate_size": 16, "vocab_size": 20,
    "max_position_embeddings": 32})"},
                                    {"model.safetensors", bertTensors()}});
  expectHolds(spec, "tokens:\n    pad: 0");
  EXPECT_EQ(messages, "warning: no tokenizer was found: the spec takes token ids\n");
}

/// What import makes of `generation` as generation_config.json: the part `decoding` of the spec.
std::string decodingOf(const std::string &generation, const std::string &text = config) {
  Imported result = imported(
      {{"config.json", text}, {"generation_config.json", generation}, {"model.safetensors", allTensors()}});
  EXPECT_NE(result.spec, "") << result.messages;
  size_t begin = result.spec.find("  decoding:\n"), end = result.spec.find("weights:\n");
  return begin == std::string::npos ? result.spec : result.spec.substr(begin, end - begin);
}

TEST(Import, RulesOfGenerationBecomeTheSpecs) {
  EXPECT_EQ("  decoding:\n"
            "    beam: 4 # num_beams\n"
            "    n_best: 2 # num_return_sequences\n"
            "    length_penalty: 0.5\n"
            "    max_length: 9 # without the start token\n"
            "    early_stopping: false\n"
            "    repetition_penalty: 1.5\n"
            "    no_repeat_ngram_size: 3\n"
            "    suppress_tokens: [3, 4]\n"
            "    begin_suppress_tokens: [5]\n"
            "    bad_words_ids: [[1], [3, 4]]\n"
            "    forced_bos_token_id: 6\n"
            "    forced_eos_token_id: 2\n"
            "    renormalize_logits: true\n",
            decodingOf(R"({"num_beams": 4, "num_return_sequences": 2, "length_penalty": 0.5, "max_length": 10,
      "repetition_penalty": 1.5, "no_repeat_ngram_size": 3, "suppress_tokens": [3, 4], "forced_bos_token_id": 6,
      "begin_suppress_tokens": [5], "bad_words_ids": [[1], [3, 4]], "forced_eos_token_id": 2,
      "renormalize_logits": true, "diversity_penalty": 0.0, "min_length": 0, "transformers_version": "5.0"})"));
}

TEST(Import, SamplingHasTheLibrarysDefaults) {
  EXPECT_EQ("  decoding:\n"
            "    max_length: 32\n"
            "    early_stopping: false\n"
            "    do_sample: true\n"
            "    temperature: 0.7\n"
            "    top_k: 50\n"
            "    top_p: 0.9\n",
            decodingOf(R"({"do_sample": true, "temperature": 0.7, "top_p": 0.9})"));
}

TEST(Import, SettingsOfConfigCountOnlyWithoutAGenerationConfig) {
  std::string old =
      replaced(config, R"("d_model")", R"("forced_eos_token_id": 2, "num_beams": 5, "d_model")");
  expectLacks(decodingOf("{}", old), "forced_eos_token_id");
  expectLacks(decodingOf("{}", old), "beam");
  Imported alone = imported({{"config.json", old}, {"model.safetensors", allTensors()}});
  expectHolds(alone.spec, "forced_eos_token_id: 2\n");
  expectHolds(alone.spec, "beam: 5 # num_beams\n");
}

TEST(Import, LengthsOfNewTokensPrevail) {
  expectHolds(decodingOf(R"({"min_length": 5})"), "min_length: 4 # without the start token\n");
  std::string both =
      decodingOf(R"({"min_length": 9, "min_new_tokens": 5, "max_length": 30, "max_new_tokens": 20})");
  expectHolds(both, "min_length: 5 # min_new_tokens\n");
  expectHolds(both, "max_length: 20 # max_new_tokens\n");
}

TEST(Import, SeveralEndTokensAreAListAndNoneIsAnErrorOfTheirFile) {
  Imported several = imported(
      {{"generation_config.json", R"({"eos_token_id": [2, 7]})"}, {"model.safetensors", allTensors()}});
  expectHolds(several.spec, "end: [2, 7] # eos_token_id\n");
  Imported none =
      imported({{"generation_config.json", R"({"eos_token_id": []})"}, {"model.safetensors", allTensors()}});
  EXPECT_EQ(none.spec, "");
  expectHolds(none.messages,
              "generation_config.json:1:18: error: 'eos_token_id' is an empty list: a token that ends "
              "outputs is needed");
}

TEST(Import, NumbersForSamplingMayBeAnythingWhereNothingIsDrawn) {
  expectLacks(decodingOf(R"({"temperature": 0.0, "top_p": 0.0})"), "temperature");
  Imported drawn = imported({{"generation_config.json", R"({"temperature": 0.0, "do_sample": true})"},
                             {"model.safetensors", allTensors()}});
  EXPECT_EQ(drawn.spec, "");
  expectHolds(drawn.messages,
              "generation_config.json:1:17: error: 'temperature' is '0.0': with 'do_sample' it must "
              "be in 1e-06 to 1000000");
}

TEST(Import, TokensThatAFolderDoesNotNameAreThoseOfItsClass) {
  std::string bare = replaced(config, R"("decoder_start_token_id": 2, "eos_token_id": 2, "pad_token_id": 1)",
                              R"("bos_token_id": 0)");
  Imported result = imported({{"config.json", bare}, {"model.safetensors", allTensors()}});
  expectHolds(result.spec, "start: 2 # decoder_start_token_id\n");
  expectHolds(result.spec, "end: 2 # eos_token_id\n    pad: 1 # pad_token_id\n");
}

TEST(Import, RulesOfGenerationAreChecked) {
  TemporaryFolder source, output;
  source.write("config.json", config);
  source.write("model.safetensors", allTensors());
  source.write("generation_config.json",
               R"({"bad_words_ids": [3], "suppress_tokens": ["x"], "do_sample": 1})");
  std::ostringstream messages;
  EXPECT_FALSE(importFolder({source.path(), output.path(), {}, {}}, messages));
  for (const char *part : {"'bad_words_ids' must be a list of token ids, found '3'",
                           "'suppress_tokens' must be a list of token ids, found the text 'x'",
                           "'do_sample' must be true or false, found '1'"})
    EXPECT_NE(messages.str().find(part), std::string::npos) << messages.str();
}

TEST(Import, AnotherTableOfGpt2sOutputIsAnError) {
  std::string tensors = zeroTensors({{"wte.weight", {9, 8}}, {"lm_head.weight", {9, 8}}});
  tensors.back() = 1;
  Imported result =
      imported({{"config.json", R"({"model_type": "gpt2", "n_embd": 8, "n_layer": 1, "n_head": 2,
    "vocab_size": 9, "eos_token_id": 1})"},
                {"model.safetensors", tensors}});
  EXPECT_EQ(result.spec, "");
  expectHolds(result.messages, "error: 'wte.weight' and 'lm_head.weight' differ");
}

TEST(Import, AnotherScaleOfGpt2sScoresIsAnError) {
  EXPECT_SAYS(
      R"({"model_type": "gpt2", "n_embd": 8, "n_layer": 1, "n_head": 2, "vocab_size": 9, "eos_token_id": 1,
                  "scale_attn_by_inverse_layer_idx": true, "tie_word_embeddings": false, "min_length": 5})",
      "'scale_attn_by_inverse_layer_idx' is 'true': only false can be represented");
}

/// A pair whose members lack what is replaced.
std::string pairWith(const std::string &old, const std::string &by) {
  std::string shape =
      R"("model_type": "bert", "hidden_size": 8, "num_attention_heads": 2, "num_hidden_layers": 1,
    "intermediate_size": 16, "vocab_size": 20, "max_position_embeddings": 32)";
  return replaced(R"({"model_type": "encoder-decoder", "decoder_start_token_id": 2, "eos_token_id": 3,
  "encoder": {)" + shape +
                      R"(},
  "decoder": {"is_decoder": true, "add_cross_attention": true, )" +
                      shape + "}}",
                  old, by);
}

TEST(Import, APairOfUnlikeNetworksIsAnError) {
  EXPECT_SAYS(pairWith(R"("model_type": "bert")", R"("model_type": "gpt2")"),
              "'model_type' is the text 'gpt2': pairs of two networks of type bert can be imported");
  EXPECT_SAYS(pairWith(R"("hidden_size": 8)", R"("hidden_size": 16)"),
              "'hidden_size' is '8': the encoder's differs, and a spec has one for both sides");
  EXPECT_SAYS(pairWith(R"("add_cross_attention": true, )", ""),
              "'add_cross_attention' is missing: a decoder has it");
  EXPECT_SAYS(pairWith(R"("decoder": {)", R"("decoder": 7, "x": {)"),
              "'decoder' must be an object, found '7'");
  EXPECT_SAYS(pairWith(R"("eos_token_id")", R"("tie_encoder_decoder": true, "eos_token_id")"),
              "'tie_encoder_decoder' is 'true': only false can be represented");
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
