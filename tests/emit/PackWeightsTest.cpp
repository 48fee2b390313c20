//===- PackWeightsTest.cpp - layouts, joins and sources of weights ---------===//
// SPDX-License-Identifier: Apache-2.0

#include "Toy.h"

#include "compiler/emit/ConstantWeights.h"
#include "compiler/emit/PackWeights.h"
#include "compiler/spec/Safetensors.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace attnc;

namespace {

/// Gives every tensor numbers that tell where they come from: 1000 * number of the tensor + index.
TensorReader countingTensors() {
  return
      [](const std::string &name, const std::vector<int64_t> &shape) -> llvm::Expected<std::vector<float>> {
        int64_t count = 1;
        for (int64_t extent : shape)
          count *= extent;
        std::vector<float> values(count);
        for (int64_t i = 0; i < count; ++i)
          values[i] = 1000.0f * (name[0] - 'a' + 1) + i;
        return values;
      };
}

/// Packs `recipes` into a file and gives the floats of each.
std::vector<std::vector<float>> pack(const std::vector<WeightRecipe> &recipes,
                                     const ConstantReader &constants = {}) {
  ScratchFolder folder;
  std::string path = folder.path + "/weights.safetensors", error;
  llvm::Expected<PackedWeights> packed = packWeights(recipes, countingTensors(), constants, path);
  EXPECT_TRUE(bool(packed)) << llvm::toString(packed.takeError());
  std::unique_ptr<SafetensorsFile> file = SafetensorsFile::open(path, error);
  EXPECT_TRUE(file) << error;
  std::vector<std::vector<float>> stored;
  for (const WeightRecipe &recipe : recipes) {
    const Tensor *tensor = file->find(recipe.name);
    stored.emplace_back(tensor->bytes / sizeof(float));
    std::memcpy(stored.back().data(), tensor->data, tensor->bytes);
    EXPECT_EQ(int64_t(tensor->bytes), recipe.bytes);
  }
  return stored;
}

WeightRecipe makeRecipe(std::vector<int64_t> shape, int64_t bytes, int64_t panels,
                        std::vector<std::string> tensors, std::vector<int64_t> rows) {
  WeightRecipe recipe;
  recipe.name = "w";
  recipe.shape = std::move(shape);
  recipe.bytes = bytes;
  recipe.panels = panels;
  recipe.tensors = std::move(tensors);
  recipe.rows = std::move(rows);
  return recipe;
}

TEST(PackWeights, PanelsHoldColumnsOfOneInputSideBySide) {
  std::vector<float> stored = pack({makeRecipe({40, 3}, 2 * 3 * 32 * 4, 32, {"a"}, {40})})[0];
  for (int out = 0; out < 64; ++out)
    for (int in = 0; in < 3; ++in)
      EXPECT_EQ(stored[(out / 32 * 3 + in) * 32 + out % 32], out < 40 ? 1000 + out * 3 + in : 0);
}

TEST(PackWeights, JoinsTensorsAndPutsZerosWhereOneIsMissing) {
  std::vector<float> stored = pack({makeRecipe({7}, 128, 0, {"a", "", "b"}, {2, 3, 2})})[0];
  std::vector<float> expected = {1000, 1001, 0, 0, 0, 2000, 2001};
  expected.resize(32);
  EXPECT_EQ(stored, expected);
}

TEST(PackWeights, TurnsTransposedTensors) {
  WeightRecipe recipe = makeRecipe({3, 2}, 64, 0, {"a", "b"}, {2, 1});
  recipe.transposed = true;
  std::vector<float> stored = pack({recipe})[0];
  stored.resize(6);
  EXPECT_EQ(stored, (std::vector<float>{1000, 1002, 1001, 1003, 2000, 2001}));
}

TEST(PackWeights, DataStartsAtAMultipleOf64InTheFile) {
  for (size_t letters = 1; letters < 70; ++letters) {
    ScratchFolder folder;
    WeightRecipe recipe = makeRecipe({32}, 128, 0, {"a"}, {32});
    recipe.name = std::string(letters, 'w');
    llvm::cantFail(packWeights({recipe}, countingTensors(), {}, folder.path + "/w"));
    auto file = llvm::MemoryBuffer::getFile(folder.path + "/w");
    EXPECT_EQ(((*file)->getBufferSize() - 128) % 64, 0u) << letters;
  }
}

/// What a weight of `type` holds, and the scales that belong to it, of the tensor `a` (out x in).
std::pair<std::vector<char>, std::vector<float>> store(const std::string &type, int64_t out, int64_t in,
                                                       const std::vector<float> &values) {
  WeightRecipe recipe = makeRecipe({out, in}, 0, 32, {"a"}, {out});
  recipe.type = type;
  recipe.bytes = (out + 31) / 32 * 32 * recipe.depth() * recipe.elementBytes();
  WeightRecipe scales = makeRecipe({2, (out + 31) / 32 * 32}, (out + 31) / 32 * 256, 0, {"a"}, {out});
  scales.scaledInputs = in;
  OutputScales found = findScales(recipe, values);
  std::vector<char> bytes = storeScales(scales, found);
  std::vector<float> rows(bytes.size() / sizeof(float));
  std::memcpy(rows.data(), bytes.data(), bytes.size());
  return {storeValues(recipe, values, found), rows};
}

TEST(StoredWeights, IntegersLieInGroupsOfFourInputs) {
  std::vector<float> values(40 * 6, 0.0f);
  values[33 * 6 + 5] = -2; // output 33 is column 1 of panel 1, input 5 the second of group 1
  values[33 * 6 + 0] = 1;
  auto [bytes, scales] = store("int8", 40, 6, values);
  ASSERT_EQ(bytes.size(), 2u * 64 * 32);
  float scale = scales[33];
  for (size_t i = 0; i < bytes.size(); ++i) {
    float expected = i == 64 * 32 + (1 * 32 + 1) * 4 + 1 ? -2 : i == 64 * 32 + 1 * 4 ? 1 : 0;
    EXPECT_NEAR(bytes[i] * scale, expected, scale / 2) << i;
  }
  EXPECT_EQ(scales[64 + 33], bytes[64 * 32 + 33 * 4 + 1] + bytes[64 * 32 + 4]);
  EXPECT_EQ(scales[0], 0);
}

TEST(StoredWeights, ScalesLoseLessThanThoseOfTheLargestWeight) {
  constexpr int in = 16384;
  std::vector<float> values(in); // one weight far from all others: cutting it by 8% is worth it for so many
  for (int i = 0; i < in; ++i)
    values[i] = 0.4f * std::sin(float(i));
  values[7] = 1;
  auto [bytes, scales] = store("int8", 1, in, values);
  double lost = 0, plain = 0;
  for (int i = 0; i < in; ++i) {
    lost += std::pow(values[i] - bytes[i / 4 * 32 * 4 + i % 4] * scales[0], 2);
    plain += std::pow(values[i] - std::nearbyint(values[i] * 127) / 127, 2);
  }
  EXPECT_LT(lost, 0.95 * plain);
}

TEST(StoredWeights, BfloatsLieInPairsAndRoundToTheNearest) {
  auto [bytes, scales] = store("bf16", 1, 3, {1.00390625f, -3, 1.01171875f}); // ties: 1 + 1/256, 1 + 3/256
  auto word = [&](int i) { return uint8_t(bytes[2 * i]) | uint8_t(bytes[2 * i + 1]) << 8; };
  EXPECT_EQ(word(0), 0x3f80);
  EXPECT_EQ(word(1), 0xc040);
  EXPECT_EQ(word(64), 0x3f82);
  EXPECT_EQ(word(65), 0);
}

TEST(StoredWeights, ErrorsAreThoseOfEachTensor) {
  WeightRecipe recipe = makeRecipe({3, 2}, 64 * 32, 32, {"a", "b"}, {2, 1});
  recipe.type = "int8";
  const std::vector<float> values = {127, 127, 127, 63.5f, 0, 0};
  std::vector<WeightError> errors = findErrors(recipe, values, findScales(recipe, values));
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_EQ(errors[0].tensor, "a");
  EXPECT_EQ(errors[0].worstOutput, 1);
  EXPECT_GT(errors[0].worstError, errors[0].error);
  EXPECT_EQ(errors[1].error, 0);
}

TEST(StoredWeights, WhatIsNotFiniteStaysSoInBfloat16AndIsNoError) {
  WeightRecipe recipe = makeRecipe({2, 2}, 64 * 32, 32, {"a"}, {2});
  recipe.type = "bf16";
  std::vector<WeightError> errors = findErrors(recipe, {INFINITY, 1, NAN, -INFINITY}, {});
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].error, 0);
}

/// The error of a matrix of `a` and `b`, both 2 x 3 in the source, that have `number` as their fourth.
std::string errorOfMatrix(const std::string &type, float number, bool isTransposed = false) {
  constexpr int64_t bytes = 4 * 32 * 4; // four groups of inputs and 32 outputs are the most of all types
  WeightRecipe recipe = isTransposed ? makeRecipe({6, 2}, bytes, 32, {"a", "b"}, {3, 3})
                                     : makeRecipe({4, 3}, bytes, 32, {"a", "b"}, {2, 2});
  recipe.type = type;
  recipe.transposed = isTransposed;
  auto tensors = [&](const std::string &, const std::vector<int64_t> &shape) {
    EXPECT_EQ(shape, (std::vector<int64_t>{2, 3}));
    return llvm::Expected<std::vector<float>>(std::vector<float>{1, 2, 3, number, 5, 6});
  };
  ScratchFolder folder;
  llvm::Expected<PackedWeights> packed = packWeights({recipe}, tensors, {}, folder.path + "/w");
  return packed ? "" : llvm::toString(packed.takeError());
}

TEST(StoredWeights, NanIsAnErrorWithItsPlace) {
  for (const char *type : {"f32", "bf16", "int8"}) {
    EXPECT_EQ(errorOfMatrix(type, 4), "");
    for (bool isTransposed : {false, true})
      EXPECT_EQ(errorOfMatrix(type, NAN, isTransposed), "tensor 'a' has a NaN at [1, 0], which is no number\n"
                                                        "tensor 'b' has a NaN at [1, 0], which is no number");
  }
}

/// Two int8 matrices (2 x 4) of the tensors `a` and `b`, and their scales behind them, `b`'s first.
std::vector<WeightRecipe> twoMatrices() {
  constexpr int64_t matrixBytes = 16 * 4 * 32, scaleBytes = 256;
  std::vector<WeightRecipe> recipes;
  for (const char *tensor : {"a", "b"}) {
    recipes.push_back(makeRecipe({2, 4}, matrixBytes, 32, {tensor}, {2}));
    recipes.back().type = "int8";
  }
  for (const char *tensor : {"b", "a"}) {
    recipes.push_back(makeRecipe({2, 32}, scaleBytes, 0, {tensor}, {2}));
    recipes.back().scaledInputs = 4;
  }
  int64_t offset = 0;
  for (WeightRecipe &recipe : recipes) {
    recipe.offset = offset;
    offset += recipe.bytes;
  }
  return recipes;
}

TEST(StoredWeights, ScalesAreThoseOfTheirOwnMatrix) {
  auto tensors = [](const std::string &name, const std::vector<int64_t> &) {
    return llvm::Expected<std::vector<float>>(name == "a" ? std::vector<float>{127, 1, 2, 3, 254, 0, 0, -2}
                                                          : std::vector<float>{381, 0, 0, 0, 508, 4, 0, 0});
  };
  std::vector<WeightRecipe> recipes = twoMatrices();
  ScratchFolder folder;
  llvm::cantFail(packWeights(recipes, tensors, {}, folder.path + "/w"));
  auto file = llvm::MemoryBuffer::getFile(folder.path + "/w");
  const char *data = (*file)->getBufferEnd() - 2 * 256;
  auto row = [&](int of, int number) {
    float values[2];
    std::memcpy(values, data + of * 256 + number * 128, sizeof values);
    return std::vector<float>{values[0], values[1]};
  };
  EXPECT_EQ(row(0, 0), (std::vector<float>{3, 4}));     // of b
  EXPECT_EQ(row(0, 1), (std::vector<float>{127, 128})); // sums of integers
  EXPECT_EQ(row(1, 0), (std::vector<float>{1, 2}));     // of a
  EXPECT_EQ(row(1, 1), (std::vector<float>{133, 126}));
}

TEST(StoredWeights, AMatrixThatIsRefusedIsOneErrorWithItsScales) {
  auto tensors = [](const std::string &name, const std::vector<int64_t> &) {
    return llvm::Expected<std::vector<float>>(std::vector<float>{1, 2, 3, 4, 5, name == "a" ? NAN : 6, 7, 8});
  };
  ScratchFolder folder;
  llvm::Expected<PackedWeights> packed = packWeights(twoMatrices(), tensors, {}, folder.path + "/w");
  ASSERT_FALSE(bool(packed));
  EXPECT_EQ(llvm::toString(packed.takeError()), "tensor 'a' has a NaN at [1, 1], which is no number");
}

TEST(StoredWeights, NanInABiasIsAnErrorWithItsPlace) {
  auto tensors = [](const std::string &, const std::vector<int64_t> &) {
    return llvm::Expected<std::vector<float>>(std::vector<float>{1, 2, NAN});
  };
  ScratchFolder folder;
  llvm::Expected<PackedWeights> packed =
      packWeights({makeRecipe({3}, 64, 0, {"bias"}, {3})}, tensors, {}, folder.path + "/w");
  EXPECT_EQ(llvm::toString(packed.takeError()), "tensor 'bias' has a NaN at [2], which is no number");
}

TEST(StoredWeights, AnInfinityIsAnErrorInIntegersAlone) {
  EXPECT_EQ(errorOfMatrix("f32", INFINITY), "");
  EXPECT_EQ(errorOfMatrix("bf16", -INFINITY), "");
  EXPECT_NE(errorOfMatrix("int8", -INFINITY)
                .find("'a' has an infinity at [1, 0], which int8 cannot hold; f32 and bf16 can"),
            std::string::npos);
}

TEST(StoredWeights, ANumberThatIsAnInfinityInBfloat16IsAnError) {
  const float first = 0x1.ffp127f, last = std::nextafter(first, 0.f);
  for (float number : {first, -first})
    EXPECT_NE(errorOfMatrix("bf16", number)
                  .find("'a' has a number at [1, 0] that is an infinity in bf16; f32 and int8 can hold it"),
              std::string::npos);
  EXPECT_EQ(errorOfMatrix("bf16", -last), "");
  EXPECT_EQ(errorOfMatrix("f32", first), "");
  EXPECT_EQ(errorOfMatrix("int8", first), "");
}

/// The values of a constant of the given type, declared by `text`.
std::vector<float> computeConstant(const std::string &text, const std::string &type,
                                   std::vector<int64_t> shape, int64_t bytes) {
  ParsedModule parsed("attn.weight @w " + text + " at 0 : " + type);
  return pack({makeRecipe(std::move(shape), bytes, 0, {}, {})}, computeConstants(*parsed.module))[0];
}

TEST(ConstantWeights, InterleavedSinusoidsAlternate) {
  std::vector<float> table = computeConstant("sinusoid <interleaved = true, inclusive = false, start = 0>",
                                             "tensor<3x8xf32>", {3, 8}, 128);
  for (int p = 0; p < 3; ++p)
    for (int j = 0; j < 4; ++j) {
      double angle = p / std::pow(10000.0, 2 * j / 8.0);
      EXPECT_FLOAT_EQ(table[p * 8 + 2 * j], std::sin(angle));
      EXPECT_FLOAT_EQ(table[p * 8 + 2 * j + 1], std::cos(angle));
    }
}

TEST(ConstantWeights, InclusiveConcatenatedSinusoidsEndAtTheLastRate) {
  std::vector<float> table = computeConstant("sinusoid <interleaved = false, inclusive = true, start = 1>",
                                             "tensor<2x8xf32>", {2, 8}, 64);
  for (int p = 0; p < 2; ++p) {
    EXPECT_FLOAT_EQ(table[p * 8], std::sin(p + 1.0));
    EXPECT_FLOAT_EQ(table[p * 8 + 3], std::sin((p + 1) / 10000.0));
    EXPECT_FLOAT_EQ(table[p * 8 + 7], std::cos((p + 1) / 10000.0));
  }
}

TEST(ConstantWeights, LiteralsAreKept) {
  std::vector<float> stored =
      computeConstant("value dense<[1.0, -2.5]> : tensor<2xf32>", "tensor<2xf32>", {2}, 128);
  EXPECT_EQ(stored[0], 1.0f);
  EXPECT_EQ(stored[1], -2.5f);
}

TEST(WeightSource, RandomTensorsDependOnSeedAndNameAlone) {
  auto draw = [](uint64_t seed, const std::string &name) {
    return llvm::cantFail(drawTensors(seed, {"scale"})(name, {8, 16}));
  };
  EXPECT_EQ(draw(1, "a"), draw(1, "a"));
  EXPECT_NE(draw(1, "a"), draw(2, "a"));
  EXPECT_NE(draw(1, "a"), draw(1, "b"));
}

TEST(WeightSource, RandomTensorsKeepTheirBounds) {
  TensorReader draw = drawTensors(3, {"scale"});
  for (float value : llvm::cantFail(draw("matrix", {8, 16})))
    EXPECT_LE(std::abs(value), 0.5f); // sqrt(6 / 24)
  for (float value : llvm::cantFail(draw("scale", {16})))
    EXPECT_LE(std::abs(value - 1), 0.02f);
  for (float value : llvm::cantFail(draw("bias", {16})))
    EXPECT_LE(std::abs(value), 0.02f);
}

TEST(WeightSource, ReadsHalfAndBrainFloats) {
  // 1, -2, the smallest subnormal half, infinity; and 1, -2 as bfloat16.
  std::string header = R"({"h":{"dtype":"F16","shape":[4],"data_offsets":[0,8]},)"
                       R"("b":{"dtype":"BF16","shape":[2],"data_offsets":[8,12]}})";
  const uint16_t values[] = {0x3c00, 0xc000, 0x0001, 0x7c00, 0x3f80, 0xc000};
  uint64_t length = header.size();
  ScratchFolder folder;
  std::string path = folder.path + "/w.safetensors";
  std::error_code failed;
  {
    llvm::raw_fd_ostream file(path, failed);
    file << llvm::StringRef(reinterpret_cast<const char *>(&length), 8) << header
         << llvm::StringRef(reinterpret_cast<const char *>(values), sizeof values);
  }
  TensorReader read = llvm::cantFail(readTensorsFromFile(path));
  EXPECT_EQ(llvm::cantFail(read("h", {4})), (std::vector<float>{1, -2, 0x1p-24f, INFINITY}));
  EXPECT_EQ(llvm::cantFail(read("b", {2})), (std::vector<float>{1, -2}));
}

TEST(WeightSource, ReadsPartsAndSums) {
  std::string header = R"({"qk.w":{"dtype":"F32","shape":[2,4],"data_offsets":[0,32]},)"
                       R"("t[0]":{"dtype":"F32","shape":[2,2],"data_offsets":[32,48]}})";
  const float values[] = {1, 2, 3, 4, 5, 6, 7, 8, 10, 20, 30, 40};
  uint64_t length = header.size();
  ScratchFolder folder;
  std::string path = folder.path + "/w.safetensors";
  std::error_code failed;
  {
    llvm::raw_fd_ostream file(path, failed);
    file << llvm::StringRef(reinterpret_cast<const char *>(&length), 8) << header
         << llvm::StringRef(reinterpret_cast<const char *>(values), sizeof values);
  }
  TensorReader read = llvm::cantFail(readTensorsFromFile(path));
  using Floats = std::vector<float>;
  EXPECT_EQ(llvm::cantFail(read("qk[0/2].w", {1, 4})), (Floats{1, 2, 3, 4}));
  EXPECT_EQ(llvm::cantFail(read("qk[1/2].w", {2, 2})), (Floats{3, 4, 7, 8}));
  EXPECT_EQ(llvm::cantFail(read("t[0]", {2, 2})), (Floats{10, 20, 30, 40}));
  EXPECT_EQ(llvm::cantFail(read("qk[1/2].w + t[0][1]", {2, 2})), (Floats{33, 44, 37, 48}));
  EXPECT_EQ(llvm::toString(read("qk[1/3].w", {2, 2}).takeError()),
            path + ": tensor 'qk.w' has shape [2, 4], but [2, 2] is needed of a part");
}

TEST(WeightRecipes, ARecordThatContradictsItselfIsAnError) {
  nlohmann::json record = {{"name", "w"},  {"shape", {32}},       {"offset", 0},
                           {"bytes", 128}, {"panels", 0},         {"tensors", {"a"}},
                           {"rows", {32}}, {"transposed", false}, {"scaling", false}};
  EXPECT_TRUE(bool(readWeightRecipes(nlohmann::json::array({record}))));
  record["offset"] = 64;
  llvm::Expected<std::vector<WeightRecipe>> recipes = readWeightRecipes(nlohmann::json::array({record}));
  ASSERT_FALSE(bool(recipes));
  EXPECT_EQ(llvm::toString(recipes.takeError()), "the manifest's record of weight 'w' contradicts itself");
}

TEST(WeightRecipes, TypesAndScalesThatLieAreErrors) {
  const nlohmann::json matrix = {{"name", "w"},      {"shape", {5, 20}}, {"offset", 0}, {"bytes", 2048},
                                 {"panels", 32},     {"tensors", {"a"}}, {"rows", {5}}, {"transposed", false},
                                 {"scaling", false}, {"type", "int8"}};
  const nlohmann::json scales = {
      {"name", "s"},      {"shape", {2, 32}}, {"offset", 2048},      {"bytes", 256},     {"panels", 0},
      {"tensors", {"a"}}, {"rows", {5}},      {"transposed", false}, {"scaling", false}, {"scales", 20}};
  auto isRefused = [](const nlohmann::json &first, const nlohmann::json &second) {
    llvm::Expected<std::vector<WeightRecipe>> recipes =
        readWeightRecipes(nlohmann::json::array({first, second}));
    bool refused = !recipes;
    llvm::consumeError(recipes.takeError());
    return refused;
  };
  auto with = [](nlohmann::json record, const char *key, const nlohmann::json &value) {
    record[key] = value;
    return record;
  };
  EXPECT_FALSE(isRefused(matrix, scales));
  for (const nlohmann::json type : {"int4", "bf16", "f32", "", "I8"})
    EXPECT_TRUE(isRefused(with(matrix, "type", type), scales)) << type;
  EXPECT_TRUE(isRefused(with(matrix, "type", 8), scales));
  EXPECT_TRUE(isRefused(with(matrix, "panels", 0), scales));
  EXPECT_TRUE(isRefused(matrix, with(scales, "type", "int8")));
  for (const nlohmann::json inputs : {int64_t(-20), int64_t(21), int64_t(1) << 36, INT64_MAX})
    EXPECT_TRUE(isRefused(matrix, with(scales, "scales", inputs))) << inputs;
  EXPECT_TRUE(isRefused(matrix, with(scales, "tensors", {""})));
  EXPECT_TRUE(isRefused(matrix, with(scales, "shape", {32, 2})));
  EXPECT_TRUE(isRefused(with(scales, "offset", 0), with(matrix, "offset", 256))); // scales stand behind
}

TEST(WeightRecipes, RowsWhoseSumIsTooLargeToCountAreAnError) {
  nlohmann::json record = {{"name", "w"},  {"shape", {32}},       {"offset", 0},
                           {"bytes", 128}, {"panels", 0},         {"tensors", {"", "", "", ""}},
                           {"rows", {}},   {"transposed", false}, {"scaling", false}};
  record["rows"] = {2, INT64_MAX, INT64_MAX, 32}; // which is 32 modulo 2^64
  llvm::Expected<std::vector<WeightRecipe>> recipes = readWeightRecipes(nlohmann::json::array({record}));
  ASSERT_FALSE(bool(recipes));
  llvm::consumeError(recipes.takeError());
}

} // namespace
