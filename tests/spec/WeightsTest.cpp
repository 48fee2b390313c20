//===- WeightsTest.cpp - specs against weight files ------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/spec/WeightNames.h"
#include "tests/spec/SafetensorsImage.h"
#include "tests/spec/SpecTesting.h"

#include "gtest/gtest.h"

using namespace attnc;
using attnc::tests::printed;
using attnc::tests::smallModel;

namespace {

using Tensors = std::vector<std::pair<std::string, std::vector<int64_t>>>;

Tensors tensorsOf(const std::string &text) {
  Diagnostics diagnostics;
  std::optional<Spec> spec = parseSpec("a.yaml", text, {"random:1"}, diagnostics);
  EXPECT_TRUE(spec) << printed(diagnostics);
  Tensors tensors;
  for (const WeightUse &use : weightsOf(*spec->model))
    tensors.emplace_back(symbolOf(use), use.shape);
  return tensors;
}

/// A spec beside a file of `tensors`: its errors.
std::string errorsWith(const Tensors &tensors, const std::string &text, const std::string &type = "F32") {
  tests::TemporaryFolder folder;
  folder.write("w.safetensors", tests::zeroTensors(tensors, type));
  Diagnostics diagnostics;
  parseSpec(folder.path() + "/a.yaml", text, {}, diagnostics);
  return printed(diagnostics);
}

const std::string text = smallModel("{file: w.safetensors}");

std::vector<int64_t> &shapeOf(Tensors &tensors, const std::string &name) {
  for (auto &[candidate, shape] : tensors)
    if (candidate == name)
      return shape;
  throw std::runtime_error("no tensor " + name);
}

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST(Weights, AllThereGiveNoError) { EXPECT_EQ(errorsWith(tensorsOf(text), text), ""); }

TEST(Weights, AFileWithMoreLayersIsWarnedOf) {
  Tensors tensors = tensorsOf(text);
  tensors.push_back({"decoder.layers.1.ffn.fc1.weight", {16, 8}});
  std::string messages = errorsWith(tensors, text);
  EXPECT_HAS(messages,
             "warning: 'layers' is 1, but the weight file has more: 'decoder.layers.1.ffn.fc1.weight' "
             "is not used\n");
  EXPECT_EQ(messages.find("error"), std::string::npos);
}

TEST(Weights, AMissingOneIsAnErrorWithANearName) {
  Tensors tensors = tensorsOf(text);
  for (auto &[name, shape] : tensors)
    if (name == "encoder.layers.0.ffn.fc2.bias")
      name = "encoder.layers.0.ffn.fc2.bais";
  std::string errors = errorsWith(tensors, text);
  EXPECT_HAS(errors,
             "a.yaml:1:17: error: the weight file lacks 'encoder.layers.0.ffn.fc2.bias'; did you mean "
             "'encoder.layers.0.ffn.fc2.bais'?\n");
}

TEST(Weights, AMisshapenOneIsAnErrorWithBothShapes) {
  Tensors tensors = tensorsOf(text);
  shapeOf(tensors, "decoder.embed.weight") = {31, 8};
  EXPECT_HAS(errorsWith(tensors, text),
             "'decoder.embed.weight' is [31, 8] in the weight file; the spec makes it [30, 8]\n");
}

TEST(Weights, ATurnedOneIsAnErrorThatNamesTheKey) {
  Tensors tensors = tensorsOf(text);
  shapeOf(tensors, "encoder.layers.0.ffn.fc1.weight") = {8, 16};
  EXPECT_HAS(errorsWith(tensors, text), "'transposed' tells whether the file has it in x out");
}

TEST(Weights, TransposedFilesHaveLinearsInXOut) {
  Tensors tensors = tensorsOf(text);
  shapeOf(tensors, "encoder.layers.0.ffn.fc1.weight") = {8, 16};
  shapeOf(tensors, "encoder.layers.0.ffn.fc2.weight") = {16, 8};
  shapeOf(tensors, "decoder.layers.0.ffn.fc1.weight") = {8, 16};
  shapeOf(tensors, "decoder.layers.0.ffn.fc2.weight") = {16, 8};
  shapeOf(tensors, "decoder.out_proj.weight") = {8, 30};
  EXPECT_EQ(errorsWith(tensors, smallModel("{file: w.safetensors, transposed: true}")), "");
}

TEST(Weights, OtherTypesAreErrors) {
  EXPECT_HAS(errorsWith(tensorsOf(text), text, "I32"), "has type I32; F32, F16 and BF16 can be read");
}

TEST(Weights, ManyMissingOnesAreCounted) {
  EXPECT_HAS(errorsWith({{"something", {1}}}, text), "36 more weights are missing or differ");
}

TEST(Weights, PatternsAreWhereTheErrorStands) {
  std::string errors = errorsWith(
      tensorsOf(text), smallModel("\n  file: w.safetensors\n  names:\n    source_embedding: src.weight"));
  EXPECT_HAS(errors,
             "a.yaml:4:23: error: the weight file lacks 'src.weight'\n    source_embedding: src.weight\n");
}

/// The small model whose decoder's projections stand in one tensor, and its positions in a sum.
std::string withReferences(const std::string &query) {
  return smallModel("\n  file: w.safetensors\n  names:\n"
                    "    decoder_self_attention: \"{layer}.{projection:" +
                    query + ",qkv[1/3],qkv[2/3],o}.{parameter}\"\n" +
                    "    target_embedding: \"decoder.embed.weight + types[1]\"");
}

Tensors tensorsOfReferences() {
  Tensors tensors = tensorsOf(text);
  for (const auto &[name, shape] : Tensors{{"weight", {24, 8}}, {"bias", {24}}})
    tensors.emplace_back("0.qkv." + name, shape);
  tensors.insert(tensors.end(), {{"0.o.weight", {8, 8}}, {"0.o.bias", {8}}, {"types", {2, 8}}});
  return tensors;
}

TEST(Weights, PartsAndSumsOfTensorsGiveNoError) {
  EXPECT_EQ(errorsWith(tensorsOfReferences(), withReferences("qkv[0/3]")), "");
}

TEST(Weights, APartThatDoesNotFitIsAnError) {
  Tensors tensors = tensorsOfReferences();
  shapeOf(tensors, "0.qkv.weight") = {23, 8};
  shapeOf(tensors, "types") = {1, 8};
  std::string errors = errorsWith(tensors, withReferences("qkv[0/3]"));
  EXPECT_HAS(errors, "'0.qkv.weight' is [23, 8] in the weight file; one of its 3 parts should be [8, 8]\n");
  EXPECT_HAS(errors,
             "'types' is [1, 8] in the weight file; its row 1 should be as wide as the rows of [30, 8]\n");
}

TEST(Weights, OtherBracketsBelongToTheName) {
  EXPECT_HAS(errorsWith(tensorsOfReferences(), withReferences("qkv[3/3]")),
             "the weight file lacks '0.qkv[3/3].weight'");
}

TEST(Weights, ADamagedFileIsAnErrorAtItsName) {
  tests::TemporaryFolder folder;
  folder.write("w.safetensors", "short");
  Diagnostics diagnostics;
  EXPECT_FALSE(parseSpec(folder.path() + "/a.yaml", text, {}, diagnostics));
  EXPECT_HAS(printed(diagnostics),
             "a.yaml:1:17: error: " + folder.path() + "/w.safetensors: the file has only 5 bytes");
}

TEST(Weights, AFolderHoldsTheSpecsFiles) {
  tests::TemporaryFolder folder;
  folder.write("w.safetensors", tests::zeroTensors(tensorsOf(text)));
  Diagnostics diagnostics;
  std::optional<Spec> spec = parseSpec("elsewhere/a.yaml", text, {folder.path()}, diagnostics);
  ASSERT_TRUE(spec) << printed(diagnostics);
  EXPECT_EQ(spec->weights.file, folder.path() + "/w.safetensors");
}

TEST(Weights, AFolderWithoutWeightsIsAnErrorThoughTheSpecHasSome) {
  tests::TemporaryFolder folder, empty;
  folder.write("w.safetensors", tests::zeroTensors(tensorsOf(text)));
  Diagnostics diagnostics;
  EXPECT_FALSE(parseSpec(folder.path() + "/a.yaml", text, {empty.path()}, diagnostics));
  EXPECT_HAS(printed(diagnostics),
             "error: " + empty.path() + "/model.safetensors: No such file or directory\n");
}

TEST(Weights, AFolderHasWeightsOfItsOwnName) {
  tests::TemporaryFolder folder, other;
  folder.write("w.safetensors", tests::zeroTensors(tensorsOf(text)));
  other.write("model.safetensors", tests::zeroTensors(tensorsOf(text)));
  Diagnostics diagnostics;
  std::optional<Spec> spec = parseSpec(folder.path() + "/a.yaml", text, {other.path()}, diagnostics);
  ASSERT_TRUE(spec) << printed(diagnostics);
  EXPECT_EQ(spec->weights.file, other.path());
}

TEST(Weights, OfGraphsAreCompared) {
  std::string graph = "weights: {file: w.safetensors}\n"
                      "graph:\n"
                      "  inputs: {x: {shape: [batch, query, width: 4]}}\n"
                      "  weights: {w: {shape: [3, 4], tensor: layer.weight, transposed: true}}\n"
                      "  ops: {y: {linear: [x, w]}}\n"
                      "  outputs: y\n";
  EXPECT_EQ(errorsWith({{"layer.weight", {4, 3}}}, graph), "");
  EXPECT_HAS(errorsWith({{"layer.weight", {3, 4}}}, graph), "a.yaml:4:40: error: 'layer.weight' is [3, 4]");
  EXPECT_HAS(errorsWith({{"other", {3, 4}}}, graph),
             "a.yaml:4:40: error: the weight file lacks 'layer.weight'");
}

TEST(Weights, OfTheExampleFitItsSpec) {
  Diagnostics diagnostics;
  std::filesystem::path spec = tests::sourceFolder() / "examples/korean-english/model.yaml";
  EXPECT_TRUE(loadSpec(spec.string(), {}, diagnostics)) << printed(diagnostics);
}

/// Real models stand beside the project where they are there at all.
TEST(Weights, OfRealModelsFitTheirSpecs) {
  const char *given = std::getenv("ATTNC_MODELS");
  std::filesystem::path models = given ? given : tests::sourceFolder() / "../shared/models";
  if (!std::filesystem::exists(models))
    GTEST_SKIP() << models << " is missing: the real models are not part of the project";
  for (std::string name : {"aren-transliteration", "misaki-bart-g2p-us"}) {
    Diagnostics diagnostics;
    std::filesystem::path spec = tests::sourceFolder() / "tests/end-to-end/specs" / (name + ".yaml");
    EXPECT_TRUE(loadSpec(spec.string(), {(models / name).string()}, diagnostics)) << printed(diagnostics);
  }
}

} // namespace
