//===- ImportFolderTest.cpp - folders that import must refuse ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "tests/huggingface/ImportTesting.h"

namespace attnc::tests {
namespace {

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

TEST(Import, AFamilyThatIsNotKnownIsToldBeforeWeightsThatLack) {
  TemporaryFolder source, output;
  source.write("config.json", R"({"model_type": "parrot"})");
  std::ostringstream messages;
  EXPECT_FALSE(importFolder({source.path(), output.path(), {}, {}}, messages));
  EXPECT_NE(messages.str().find("config.json:1:16: error: 'model_type' is the text 'parrot'"),
            std::string::npos)
      << messages.str();
  EXPECT_EQ(messages.str().find("safetensors"), std::string::npos) << messages.str();
}

TEST(Import, WhatCannotBeRepresentedIsAnErrorWithKeyAndValue) {
  EXPECT_SAYS(replaced(config, R"("d_model")", R"("activation_function": "tanh", "d_model")"),
              "'activation_function' is the text 'tanh'");
  EXPECT_SAYS(replaced(config, R"("d_model")", R"("normalize_before": true, "d_model")"),
              "'normalize_before' is 'true': only false can be represented");
  EXPECT_SAYS(replaced(config, R"("d_model")", R"("quantization_config": {"bits": 4}, "d_model")"),
              "'quantization_config' is a mapping: weights that are quantized cannot be read");
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
  EXPECT_EQ(file + ": error: this is not a regular file\n", messages());
  std::filesystem::remove(file);
  source.write("config.json", std::string((16 << 20) + 1, ' '));
  EXPECT_EQ(file + ": error: the file is larger than 16777216 bytes\n", messages());
}

TEST(Import, PiecesWithAMapThatLeadsOutOfItselfAreRefused) {
  std::string map("\0\4\0\0\0\0\x10", 7); // 256 units, the first of which leads to unit 1,024
  map.resize(4 + 4 * 256 + 1);
  const std::string size{char(0x80 | (map.size() & 0x7f)), char(map.size() >> 7)},
      field = "\x12" + size + map;
  const std::string rules{'\x1a', char(0x80 | (field.size() & 0x7f)), char(field.size() >> 7)};
  const std::string pieces = readFile(ATTNC_SOURCE_DIR "/examples/korean-english/tokenizer.model");
  auto [spec, messages] = imported({{"model.safetensors", allTensors()},
                                    {"tokenizer_config.json", R"({"tokenizer_class": "MBartTokenizer"})"},
                                    {"sentencepiece.bpe.model", pieces + rules + field}});
  EXPECT_EQ(spec, "");
  expectHolds(messages, "sentencepiece.bpe.model: is not a SentencePiece model, or a damaged one");
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
  expectHolds(messages, "/model.safetensors: error: the weight file lacks 'lm_head.weight'\n");
  EXPECT_EQ(messages.find("model.yaml"), std::string::npos) << messages; // it is gone
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

TEST(Import, TokensThatAFolderDoesNotNameAreThoseOfItsClass) {
  std::string bare = replaced(config, R"("decoder_start_token_id": 2, "eos_token_id": 2, "pad_token_id": 1)",
                              R"("bos_token_id": 0)");
  Imported result = imported({{"config.json", bare}, {"model.safetensors", allTensors()}});
  expectHolds(result.spec, "start: 2 # decoder_start_token_id\n");
  expectHolds(result.spec, "end: 2 # eos_token_id\n    pad: 1 # pad_token_id\n");
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

TEST(Import, ATensorOfSeveralWeightsIsToldOnce) {
  Imported result =
      imported({{"config.json", R"({"model_type": "gpt2", "n_embd": 8, "n_layer": 1, "n_head": 2,
    "vocab_size": 9, "eos_token_id": 1})"},
                {"model.safetensors", zeroTensors({{"wte.weight", {9, 8}}})}});
  EXPECT_EQ(result.spec, "");
  const std::string lack = "the weight file lacks 'h.0.attn.c_attn.weight'\n";
  expectHolds(result.messages, lack);
  EXPECT_EQ(result.messages.find(lack), result.messages.rfind(lack)) << result.messages;
}

TEST(Import, AnotherScaleOfGpt2sScoresIsAnError) {
  EXPECT_SAYS(
      R"({"model_type": "gpt2", "n_embd": 8, "n_layer": 1, "n_head": 2, "vocab_size": 9, "eos_token_id": 1,
                  "scale_attn_by_inverse_layer_idx": true, "tie_word_embeddings": false, "min_length": 5})",
      "'scale_attn_by_inverse_layer_idx' is 'true': only false can be represented");
}

/// A T5 of one layer, its keys of the feed-forward as in `keys`.
Imported importedT5(const std::string &keys, bool isGated, const std::string &generation = "{}") {
  Tensors tensors = {{"shared.weight", {20, 8}}};
  for (std::string side : {"encoder", "decoder"}) {
    int layer = 0;
    auto add = [&](const std::string &name, std::vector<int64_t> shape) {
      tensors.emplace_back(side + ".block.0.layer." + std::to_string(layer) + "." + name + ".weight", shape);
    };
    for (std::string attention : {"SelfAttention", "EncDecAttention"})
      if (side == "decoder" || attention == "SelfAttention") {
        for (const char *projection : {".q", ".k", ".v", ".o"})
          add(attention + projection, {8, 8});
        if (attention == "SelfAttention")
          add("SelfAttention.relative_attention_bias", {32, 2});
        add("layer_norm", {8});
        ++layer;
      }
    for (const char *linear : {"wi_0", "wi_1"})
      if (isGated)
        add("DenseReluDense." + std::string(linear), {16, 8});
    if (!isGated)
      add("DenseReluDense.wi", {16, 8});
    add("DenseReluDense.wo", {8, 16});
    add("layer_norm", {8});
    tensors.emplace_back(side + ".final_layer_norm.weight", std::vector<int64_t>{8});
  }
  return imported(
      {{"config.json", R"({"model_type": "t5", "d_model": 8, "num_layers": 1, "num_heads": 2, "d_kv": 4,
    "d_ff": 16, "vocab_size": 20, "decoder_start_token_id": 0, "eos_token_id": 1, )" +
                           keys + "}"},
       {"generation_config.json", generation},
       {"model.safetensors", zeroTensors(tensors)}});
}

TEST(Import, KeysThatT5DerivesPrevailWhereTheyAreGiven) {
  for (const char *keys :
       {R"("feed_forward_proj": "gated-gelu")",
        R"("feed_forward_proj": "gated-gelu", "dense_act_fn": "gelu_new", "is_gated_act": true)",
        R"("dense_act_fn": "gelu_new", "is_gated_act": true)"})
    expectHolds(importedT5(keys, true).spec, "activation: gelu_tanh\n    gated: true\n");
  expectHolds(importedT5(R"("feed_forward_proj": "gated-gelu", "dense_act_fn": "gelu")", true).spec,
              "activation: gelu\n    gated: true\n");
  expectLacks(importedT5(R"("dense_act_fn": "relu", "is_gated_act": false)", false).spec, "gated");
  expectHolds(importedT5(R"("feed_forward_proj": "gated-tanh")", true).messages,
              "'feed_forward_proj' is the text 'gated-tanh': relu");
  expectHolds(importedT5(R"("dense_act_fn": "tanh")", false).messages,
              "'dense_act_fn' is the text 'tanh': relu");
}

TEST(Import, ALengthOfT5HasNoLimitOfPositions) {
  auto [spec, messages] = importedT5(R"("is_gated_act": false)", false, R"({"max_length": 3000})");
  expectHolds(spec, "max_length: 2999 # without the start token\n");
  expectLacks(messages, "max_length");
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

TEST(Import, WeightsThatAreMissingAreErrorsOfTheFile) {
  EXPECT_SAYS(config, "/model.safetensors: error: the weight file lacks 'shared.weight'");
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
      {"", "is not JSON"},
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

/// A BART with a tokenizer of two files, which import makes one of.
void writeBart(const TemporaryFolder &folder, const std::string &tensors) {
  folder.write("config.json", config);
  folder.write("model.safetensors", tensors);
  folder.write("vocab.json", R"({"<s>": 0, "</s>": 2})");
  folder.write("merges.txt", "");
}

bool isImported(const TemporaryFolder &source, const std::string &output, std::string &messages) {
  std::ostringstream said;
  bool isDone = importFolder({source.path(), output, {}, {}}, said);
  messages = said.str();
  return isDone;
}

size_t countOfFiles(const TemporaryFolder &folder) {
  std::filesystem::directory_iterator files(folder.path());
  return std::distance(begin(files), end(files));
}

TEST(Import, FilesThatAreThereAreNamedAndNotWrittenOver) {
  TemporaryFolder source, output;
  writeBart(source, allTensors());
  std::string messages, wanted;
  for (const char *name : {"model.safetensors", "tokenizer.json", "model.yaml"})
    wanted += output.write(name, "mine") + ": error: it is there already; move it away first\n";
  EXPECT_FALSE(isImported(source, output.path(), messages));
  expectHolds(messages, wanted);
  for (const char *name : {"model.safetensors", "tokenizer.json", "model.yaml"})
    EXPECT_EQ("mine", readFile(output.path() + "/" + name));
}

TEST(Import, OneFileThatIsThereKeepsTheOthersFromBeingMade) {
  TemporaryFolder source, output;
  writeBart(source, zeroTensors({{"some.weight", {2, 2}}}));
  std::string kept = output.write("model.safetensors", "mine"), messages;
  EXPECT_FALSE(isImported(source, output.path(), messages));
  EXPECT_EQ("mine", readFile(kept));
  EXPECT_EQ(1u, countOfFiles(output));
}

TEST(Import, NothingIsWrittenThroughLinks) {
  TemporaryFolder source, output, elsewhere;
  writeBart(source, allTensors());
  std::string blob = elsewhere.write("blob", "mine"), messages, missing = elsewhere.path() + "/missing";
  std::filesystem::create_symlink(blob, output.path() + "/model.safetensors");
  std::filesystem::create_symlink(missing, output.path() + "/tokenizer.json");
  std::filesystem::create_symlink(missing, output.path() + "/model.yaml");
  EXPECT_FALSE(isImported(source, output.path(), messages));
  for (const char *name : {"model.safetensors", "tokenizer.json", "model.yaml"})
    expectHolds(messages, output.path() + "/" + name + ": error: it is there already; move it away first\n");
  EXPECT_EQ("mine", readFile(blob));
  EXPECT_EQ(1u, countOfFiles(elsewhere));
  EXPECT_EQ(3u, countOfFiles(output));
}

TEST(Import, ALinkToTheSourcesOwnFileStays) {
  TemporaryFolder source, output;
  writeBart(source, allTensors());
  std::filesystem::create_symlink(source.path() + "/model.safetensors", output.path() + "/model.safetensors");
  std::string messages;
  EXPECT_TRUE(isImported(source, output.path(), messages)) << messages;
  EXPECT_EQ(allTensors(), readFile(source.path() + "/model.safetensors"));
}

TEST(Import, AFolderIsImportedInPlaceAgain) {
  TemporaryFolder folder;
  writeBart(folder, allTensors());
  std::string messages;
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(isImported(folder, folder.path(), messages)) << messages;
    EXPECT_EQ(6u, countOfFiles(folder)); // model.yaml and tokenizer.json are new
    EXPECT_TRUE(std::filesystem::remove(folder.path() + "/model.yaml"));
  }
  EXPECT_EQ(allTensors(), readFile(folder.path() + "/model.safetensors"));
}

TEST(Import, AFailureInPlaceRemovesWhatItMadeAlone) {
  TemporaryFolder folder;
  writeBart(folder, zeroTensors({{"some.weight", {2, 2}}}));
  std::string messages;
  EXPECT_FALSE(isImported(folder, folder.path(), messages));
  EXPECT_EQ(4u, countOfFiles(folder));
}

TEST(Import, AFailureRemovesTheFoldersThatItMade) {
  TemporaryFolder source, output;
  writeBart(source, zeroTensors({{"some.weight", {2, 2}}}));
  std::string messages;
  EXPECT_FALSE(isImported(source, output.path() + "/new/folder/", messages));
  expectHolds(messages, "the weight file lacks");
  EXPECT_EQ(0u, countOfFiles(output));
}

} // namespace
} // namespace attnc::tests
