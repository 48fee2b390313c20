//===- ImportTesting.h - folders for tests of import -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ATTNC_TESTS_HUGGINGFACE_IMPORTTESTING_H
#define ATTNC_TESTS_HUGGINGFACE_IMPORTTESTING_H

#include "compiler/huggingface/ImportFolder.h"
#include "tests/spec/SafetensorsImage.h"
#include "tests/spec/SpecTesting.h"

#include <gtest/gtest.h>

#include <map>

namespace attnc::tests {

/// A BART of no layer's weights: enough to come as far as the config.
inline const std::string config = R"({
  "model_type": "bart",
  "d_model": 8, "encoder_layers": 1, "decoder_layers": 1,
  "encoder_attention_heads": 2, "decoder_attention_heads": 2,
  "encoder_ffn_dim": 16, "decoder_ffn_dim": 16,
  "vocab_size": 20, "max_position_embeddings": 32,
  "decoder_start_token_id": 2, "eos_token_id": 2, "pad_token_id": 1
})";

/// What import says about `text` as config.json; the import must fail and leave nothing behind.
inline std::string messagesOf(const std::string &text) {
  TemporaryFolder source, output;
  source.write("config.json", text);
  source.write("model.safetensors", zeroTensors({{"some.weight", {2, 2}}}));
  std::ostringstream messages;
  EXPECT_FALSE(importFolder({source.path(), output.path(), {}, {}}, messages));
  EXPECT_TRUE(std::filesystem::is_empty(output.path()));
  return messages.str();
}

inline std::string replaced(std::string text, const std::string &old, const std::string &by) {
  return text.replace(text.find(old), old.size(), by);
}

#define EXPECT_SAYS(TEXT, WANTED)                                                                            \
  do {                                                                                                       \
    std::string said = messagesOf(TEXT);                                                                     \
    EXPECT_NE(said.find(WANTED), std::string::npos) << said;                                                 \
  } while (false)

using Tensors = std::vector<std::pair<std::string, std::vector<int64_t>>>;

/// Every tensor of `config`'s model; `more` stand last.
inline std::string allTensors(const Tensors &more = {}, const std::string &table = "model.shared.weight") {
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
inline Imported imported(Files files) {
  TemporaryFolder source, output;
  files.try_emplace("config.json", config);
  for (const auto &[name, content] : files)
    source.write(name, content);
  std::ostringstream messages;
  bool isDone = importFolder({source.path(), output.path(), {}, {}}, messages);
  return {isDone ? readFile(output.path() + "/model.yaml") : std::string(), messages.str()};
}

inline void expectHolds(const std::string &text, const std::string &part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

inline void expectLacks(const std::string &text, const std::string &part) {
  EXPECT_EQ(text.find(part), std::string::npos) << text;
}

} // namespace attnc::tests

#endif // ATTNC_TESTS_HUGGINGFACE_IMPORTTESTING_H
