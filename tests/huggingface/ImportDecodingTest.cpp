//===- ImportDecodingTest.cpp - settings of generate in a spec ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "tests/huggingface/ImportTesting.h"

namespace attnc::tests {
namespace {

/// What import makes of `generation` as generation_config.json: the part `decoding` of the spec.
std::string decodingOf(const std::string &generation, const std::string &text = config) {
  Imported result = imported(
      {{"config.json", text}, {"generation_config.json", generation}, {"model.safetensors", allTensors()}});
  EXPECT_NE(result.spec, "") << result.messages;
  size_t begin = result.spec.find("  decoding:\n"), end = result.spec.find("weights:\n");
  return begin == std::string::npos ? result.spec : result.spec.substr(begin, end - begin);
}

/// What import says of `generation` as generation_config.json, besides the tokenizer.
std::string saidOf(const std::string &generation) {
  Imported result = imported({{"generation_config.json", generation}, {"model.safetensors", allTensors()}});
  EXPECT_NE(result.spec, "") << result.messages;
  const std::string tokenizer = "warning: no tokenizer was found: the spec takes token ids\n";
  expectHolds(result.messages, tokenizer);
  return replaced(result.messages, tokenizer, "");
}

void expectSays(const std::string &generation, const std::string &wanted) {
  EXPECT_EQ(wanted, saidOf(generation));
}

TEST(ImportDecoding, RulesOfGenerationBecomeTheSpecs) {
  EXPECT_EQ("  decoding:\n"
            "    beam: 4 # num_beams\n"
            "    n_best: 2 # num_return_sequences\n"
            "    length_penalty: 0.5\n"
            "    max_length: 9 # without the start token\n"
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

TEST(ImportDecoding, SamplingHasTheLibrarysDefaults) {
  EXPECT_EQ("  decoding:\n"
            "    max_length: 32\n"
            "    do_sample: true\n"
            "    temperature: 0.7\n"
            "    top_p: 0.9\n",
            decodingOf(R"({"do_sample": true, "temperature": 0.7, "top_p": 0.9})"));
  // What the folder says is kept, drawn from or not; what it says as the library would is a spec's default.
  EXPECT_EQ("  decoding:\n"
            "    max_length: 32\n"
            "    early_stopping: true\n"
            "    top_k: 0\n",
            decodingOf(R"({"early_stopping": true, "top_k": 0})"));
  EXPECT_EQ("  decoding:\n"
            "    max_length: 32\n",
            decodingOf(R"({"early_stopping": false, "top_k": 50})"));
}

TEST(ImportDecoding, SettingsOfConfigCountOnlyWithoutAGenerationConfig) {
  std::string old =
      replaced(config, R"("d_model")", R"("forced_eos_token_id": 2, "num_beams": 5, "d_model")");
  expectLacks(decodingOf("{}", old), "forced_eos_token_id");
  expectLacks(decodingOf("{}", old), "beam");
  Imported alone = imported({{"config.json", old}, {"model.safetensors", allTensors()}});
  expectHolds(alone.spec, "forced_eos_token_id: 2\n");
  expectHolds(alone.spec, "beam: 5 # num_beams\n");
}

TEST(ImportDecoding, LengthsOfNewTokensPrevail) {
  expectHolds(decodingOf(R"({"min_length": 5})"), "min_length: 4 # without the start token\n");
  std::string both =
      decodingOf(R"({"min_length": 9, "min_new_tokens": 5, "max_length": 30, "max_new_tokens": 20})");
  expectHolds(both, "min_length: 5 # min_new_tokens\n");
  expectHolds(both, "max_length: 20 # max_new_tokens\n");
}

TEST(ImportDecoding, SeveralEndTokensAreAListAndNoneIsAnErrorOfTheirFile) {
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

TEST(ImportDecoding, NumbersForSamplingMayBeAnythingWhereNothingIsDrawn) {
  expectLacks(decodingOf(R"({"temperature": 0.0, "top_p": 0.0})"), "temperature");
  Imported drawn = imported({{"generation_config.json", R"({"temperature": 0.0, "do_sample": true})"},
                             {"model.safetensors", allTensors()}});
  EXPECT_EQ(drawn.spec, "");
  expectHolds(drawn.messages,
              "generation_config.json:1:17: error: 'temperature' is '0.0': with 'do_sample' it must "
              "be in 1e-06 to 1000000");
}

TEST(ImportDecoding, RulesOfGenerationAreChecked) {
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

TEST(ImportDecoding, LengthsThatDoNotFitAreTold) {
  expectSays(
      R"({"max_new_tokens": 100, "min_new_tokens": 50})",
      "warning: 'max_new_tokens' asks for 100 new tokens: the spec gets 32, for which the network has "
      "positions\nwarning: 'min_new_tokens' asks for 50 new tokens: the spec gets 32, its longest output\n");
  expectSays(R"({"max_length": 1})",
             "warning: 'max_length' asks for 0 new tokens: the spec gets 1, the fewest there can be\n");
  expectSays(R"({"max_new_tokens": 32, "min_new_tokens": 32})", "");
}

TEST(ImportDecoding, RulesThatASpecLacksAreToldUnlessTheyAskForNothing) {
  for (const char *rule : {R"("encoder_no_repeat_ngram_size": 3)", R"("sequence_bias": [[[5], 1.0]])",
                           R"("guidance_scale": 2.0)", R"("force_words_ids": [[5]])",
                           R"("penalty_alpha": 0.6)", R"("stop_strings": ["a"])"}) {
    std::string key(rule, std::string_view(rule).find(':'));
    std::string said = saidOf("{" + std::string(rule) + "}");
    expectHolds(said, "warning: '" + key.substr(1, key.size() - 2) + "' is ");
    expectHolds(said, ": it cannot be represented, so outputs will differ\n");
  }
  expectSays(R"({"encoder_no_repeat_ngram_size": 0, "encoder_repetition_penalty": 1.0, "guidance_scale": 1,
      "epsilon_cutoff": 0.1, "penalty_alpha": null, "prompt_lookup_num_tokens": 4, "low_memory": true})",
             "");
  expectHolds(saidOf(R"({"epsilon_cutoff": 0.1, "do_sample": true})"),
              "'epsilon_cutoff' is '0.1': it cannot");
  expectHolds(saidOf(R"({"parrot": 1})"), "'parrot' is '1': not known here");
}

TEST(ImportDecoding, BeamSearchThatSamplesIsTold) {
  expectSays(
      R"({"do_sample": true, "num_beams": 4})",
      "warning: 'do_sample' with 'num_beams' 4: beam search that samples cannot be represented; outputs are "
      "drawn one by one\n");
}

TEST(ImportDecoding, ErrorsOfTheSpecNameWhereTheyComeFrom) {
  Imported result = imported({{"generation_config.json", R"({"length_penalty": 50, "eos_token_id": 70})"},
                              {"model.safetensors", allTensors()}});
  EXPECT_EQ(result.spec, "");
  expectHolds(result.messages, "'length_penalty' is '50', which is not in -10 to 10\n");
  expectHolds(result.messages, "generation_config.json:1:20: note: it comes from 'length_penalty'\n");
  expectHolds(result.messages, "model.yaml: note: after these errors it is not kept\n");
  Imported others = imported({{"config.json", replaced(config, R"("d_model": 8)", R"("d_model": 7)")},
                              {"model.safetensors", allTensors()}});
  EXPECT_EQ(others.spec, "");
  expectHolds(others.messages, "config.json:3:14: note: it comes from 'd_model'\n");
}

} // namespace
} // namespace attnc::tests
