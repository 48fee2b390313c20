//===- ImportPositionsTest.cpp - tables of positions that may be computed ----===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/huggingface/ImportJob.h"
#include "tests/huggingface/ImportTesting.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace attnc::tests {
namespace {

constexpr int64_t positions = 34, width = 8; // as allTensors() has them
const std::string marian = replaced(replaced(config, R"("bart")", R"("marian")"),
                                    R"("max_position_embeddings": 32)", R"("max_position_embeddings": 34)");

/// The bytes of Marian's table in float32 or bfloat16, `error` added to its last number.
std::string sinusoids(const std::string &type, float error = 0) {
  std::string bytes;
  for (int64_t position = 0; position < positions; ++position)
    for (int64_t j = 0; j < width; ++j) {
      double angle = double(position) * std::pow(10000.0, -double(j % (width / 2)) / double(width / 2));
      auto value = float(j < width / 2 ? std::sin(angle) : std::cos(angle));
      if (position == positions - 1 && j == width - 1)
        value += error;
      auto bits = std::bit_cast<uint32_t>(value);
      uint32_t stored = type == "BF16" ? (bits + 0x8000) >> 16 : bits; // to the nearest
      bytes.append(reinterpret_cast<const char *>(&stored), type == "BF16" ? 2 : 4);
    }
  return bytes;
}

bool areSinusoids(const std::string &type, float error) {
  std::string bytes = sinusoids(type, error);
  return isSinusoid(
      {type, {positions, width}, reinterpret_cast<const std::byte *>(bytes.data()), bytes.size()});
}

TEST(ImportPositions, SinusoidsAreKnownWhereTheyAreThoseOfFloat32) {
  EXPECT_TRUE(areSinusoids("F32", 0));
  EXPECT_FALSE(areSinusoids("BF16", 0)); // the library computes with the rounded ones
  EXPECT_FALSE(areSinusoids("F32", 1e-4f));
  EXPECT_FALSE(areSinusoids("F32", NAN));
  EXPECT_FALSE(areSinusoids("I32", 0));
}

TEST(ImportPositions, SinusoidsOfAFolderAreComputedWithoutAWord) {
  std::string weights = allTensors(), error;
  auto file = SafetensorsFile::parse(weights, error);
  ASSERT_TRUE(file) << error;
  for (const char *side : {"encoder", "decoder"}) {
    const Tensor *table = file->find("model." + std::string(side) + ".embed_positions.weight");
    std::string bytes = sinusoids("F32");
    ASSERT_EQ(bytes.size(), table->bytes);
    bytes.copy(weights.data() + (reinterpret_cast<const char *>(table->data) - weights.data()), bytes.size());
  }
  auto [spec, messages] = imported({{"config.json", marian}, {"model.safetensors", weights}});
  expectHolds(spec, "layout: concatenated\n");
  expectLacks(messages, "embed_positions");
}

TEST(ImportPositions, AnotherTableIsReadAsALearnedOne) {
  auto [spec, messages] = imported({{"config.json", marian}, {"model.safetensors", allTensors()}});
  expectHolds(spec, "kind: learned\n    max_length: 34 # max_position_embeddings\n");
  expectHolds(spec, R"(encoder_positions: "model.encoder.embed_positions.weight")");
  expectHolds(
      messages,
      "warning: 'model.encoder.embed_positions.weight' does not hold the sinusoids to float32: positions are "
      "read from the files' tables\n");
}

} // namespace
} // namespace attnc::tests
