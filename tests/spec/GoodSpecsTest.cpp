//===- GoodSpecsTest.cpp - specs that are read as they mean ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/spec/PrintSpec.h"
#include "tests/spec/SpecTesting.h"

#include "gtest/gtest.h"

#include <cmath>
#include <regex>

using namespace attnc;
using attnc::tests::printed;
using attnc::tests::smallModel;

namespace {

Spec readGood(const std::string &text, const SpecOptions &options = {}) {
  Diagnostics diagnostics;
  std::optional<Spec> spec = parseSpec("good.yaml", text, options, diagnostics);
  EXPECT_TRUE(spec) << printed(diagnostics);
  return spec.value_or(Spec());
}

std::string print(const Spec &spec) {
  std::ostringstream out;
  printSpec(spec, out);
  return out.str();
}

/// The printed spec without the lines that say where each value was given.
std::string printWithoutLines(const Spec &spec) {
  return std::regex_replace(print(spec), std::regex(" # line [0-9]+"), "");
}

TEST(GoodSpecs, HaveTheDefaultsOfTheReference) {
  ModelSpec model = *readGood(smallModel()).model;
  EXPECT_EQ(*model.norm.kind, NormKind::Layer);
  EXPECT_EQ(*model.norm.place, NormPlace::Post);
  EXPECT_FALSE(*model.norm.final);
  EXPECT_EQ(*model.norm.epsilon, 1e-5);
  EXPECT_EQ(*model.positions.kind, PositionKind::Sinusoidal);
  EXPECT_EQ(*model.positions.layout, SinusoidLayout::Interleaved);
  EXPECT_EQ(*model.positions.maxLength, 1024);
  EXPECT_EQ(*model.embedding.scale, 1.0);
  EXPECT_TRUE(*model.biases.attention);
  EXPECT_FALSE(model.tokens.unknown->has_value());
  EXPECT_EQ(*model.decoding.earlyStopping, EarlyStopping::False);
  EXPECT_EQ(*model.decoding.topK, 50);
}

TEST(GoodSpecs, PreNormEndsWithANormUnlessTheySayOtherwise) {
  EXPECT_TRUE(*readGood(smallModel("{random: 1}", "  norm: {place: pre}\n")).model->norm.final);
  EXPECT_FALSE(
      *readGood(smallModel("{random: 1}", "  norm: {place: pre, final: false}\n")).model->norm.final);
}

TEST(GoodSpecs, MayHaveSeveralEndTokensAndLanguages) {
  std::string text = smallModel();
  text.replace(text.find("end: 2"), 6, "end: [2, 5], languages: {en: 3, no: 4}");
  const TokensSpec tokens = readGood(text).model->tokens;
  EXPECT_EQ(*tokens.ends, (std::vector<int64_t>{2, 5}));
  ASSERT_EQ(tokens.languages.size(), 2u);
  EXPECT_EQ(*tokens.languages[1].code, "no");
  EXPECT_EQ(*tokens.languages[1].id, 4);
  EXPECT_NE(print(readGood(text)).find("\"no\": 4"), std::string::npos) << print(readGood(text));
}

TEST(GoodSpecs, RmsNormHasNoBias) {
  EXPECT_FALSE(*readGood(smallModel("{random: 1}", "  norm: {kind: rms}\n")).model->biases.norm);
}

TEST(GoodSpecs, ScaleEmbeddingsByTheRootOfTheWidth) {
  EXPECT_DOUBLE_EQ(
      *readGood(smallModel("{random: 1}", "  embedding: {scale: sqrt_width}\n")).model->embedding.scale,
      std::sqrt(8.0));
}

TEST(GoodSpecs, SidesHaveTheModelsSizesUnlessTheySayOtherwise) {
  std::string text = smallModel("{random: 1}", "  output: {scale: inverse_sqrt_width}\n");
  text.replace(text.find("decoder: {layers: 1}"), 20,
               "decoder: {layers: 1, heads: 4, feed_forward_width: 24}");
  ModelSpec model = *readGood(text).model;
  EXPECT_EQ(*model.encoder.heads, 2);
  EXPECT_EQ(*model.encoder.headWidth, 4);
  EXPECT_EQ(*model.encoder.feedForwardWidth, 16);
  EXPECT_EQ(*model.decoder.heads, 4);
  EXPECT_EQ(*model.decoder.headWidth, 2);
  EXPECT_EQ(*model.decoder.feedForwardWidth, 24);
  EXPECT_DOUBLE_EQ(*model.output.scale, 1 / std::sqrt(8.0));
}

TEST(GoodSpecs, GatedFeedForwardsHaveThreeLinears) {
  std::string text = smallModel("{random: 1, names: {encoder_feed_forward: "
                                "'block.{layer}.{linear:wi_0,wo,wi_1}.{parameter}'}}");
  text.replace(text.find("{width: 16}"), 11, "{width: 16, activation: gelu_tanh, gated: true}");
  EXPECT_TRUE(*readGood(text).model->feedForward.gated);
}

TEST(GoodSpecs, SourceUnknownIsTheTargetsUnlessGiven) {
  std::string text = smallModel();
  size_t end = text.find("end: 2}") + 6;
  EXPECT_EQ(**readGood(std::string(text).insert(end, ", unknown: 5")).model->tokens.sourceUnknown, 5);
  EXPECT_EQ(**readGood(std::string(text).insert(end, ", unknown: 5, source_unknown: 6"))
                  .model->tokens.sourceUnknown,
            6);
  EXPECT_FALSE(readGood(std::string(text).insert(end, ", unknown: 5, source_unknown: null"))
                   .model->tokens.sourceUnknown->has_value());
}

TEST(GoodSpecs, MaxLengthFollowsTheTableOfPositions) {
  EXPECT_EQ(*readGood(smallModel("{random: 1}", "  positions: {max_length: 40}\n")).model->decoding.maxLength,
            40);
}

TEST(GoodSpecs, ReadRulesOfDecoding) {
  DecodingSpec decoding =
      readGood(smallModel("{random: 1}", "  decoding: {beam: 4, num_beam_groups: 2, "
                                         "suppress_tokens: [3, 4], bad_words_ids: [[5], [3, 4]], "
                                         "forced_bos_token_id: 3, renormalize_logits: true, n_best: 4, "
                                         "shortlist: [5, 6]}\n"))
          .model->decoding;
  EXPECT_EQ(*decoding.beamGroups, 2);
  EXPECT_EQ(*decoding.suppressed, (std::vector<int64_t>{3, 4}));
  EXPECT_EQ(*decoding.badWords, (std::vector<std::vector<int64_t>>{{5}, {3, 4}}));
  EXPECT_EQ(**decoding.forcedFirst, 3);
  EXPECT_FALSE(decoding.forcedLast->has_value());
  EXPECT_TRUE(*decoding.renormalizes);
  EXPECT_TRUE(decoding.beginSuppressed->empty());
  EXPECT_EQ(*decoding.nBest, 4);
  EXPECT_EQ(*decoding.shortlist, (std::vector<int64_t>{5, 6}));
  EXPECT_FALSE(*decoding.samples);
}

TEST(GoodSpecs, ReadHowToSample) {
  DecodingSpec decoding =
      readGood(smallModel("{random: 1}",
                          "  decoding: {do_sample: true, n_best: 9, temperature: 0.7, top_k: 40, "
                          "top_p: 0.9, min_p: 0.01, typical_p: 0.95}\n"))
          .model->decoding;
  EXPECT_TRUE(*decoding.samples);
  EXPECT_EQ(*decoding.nBest, 9);
  EXPECT_EQ(*decoding.topK, 40);
  EXPECT_DOUBLE_EQ(*decoding.temperature, 0.7);
  EXPECT_DOUBLE_EQ(*decoding.topP, 0.9);
  EXPECT_DOUBLE_EQ(*decoding.minP, 0.01);
  EXPECT_DOUBLE_EQ(*decoding.typicalP, 0.95);
}

TEST(GoodSpecs, KeepLinesAndColumns) {
  ModelSpec model = *readGood(smallModel()).model;
  EXPECT_EQ(model.width.where.line, 4u);
  EXPECT_EQ(model.width.where.column, 10u);
  EXPECT_EQ(model.norm.epsilon.where.line, 2u); // a default stands where its mapping does
}

TEST(GoodSpecs, TakeRandomWeightsFromTheCaller) {
  Spec spec = readGood(smallModel("{file: no-such.safetensors}"), {"random:42"});
  EXPECT_EQ(spec.weights.kind, WeightSourceKind::Random);
  EXPECT_EQ(spec.weights.seed, 42u);
}

TEST(GoodSpecs, RefuseASeedThatIsNoNumber) {
  for (const char *weights : {"random:", "random:x", "random:-1", "random:99999999999999999999999"}) {
    Diagnostics diagnostics;
    EXPECT_FALSE(parseSpec("good.yaml", smallModel(), {weights}, diagnostics)) << weights;
  }
}

TEST(GoodSpecs, SortTheOpsOfAGraph) {
  Spec spec = readGood("graph:\n"
                       "  inputs: {x: {shape: [batch, query, width: 4]}}\n"
                       "  ops:\n"
                       "    c: {add: [b, a]}\n"
                       "    b: {scale: a, by: 3}\n"
                       "    a: {scale: x, by: 2}\n"
                       "  outputs: c\n");
  ASSERT_EQ(spec.graphs.size(), 1u);
  std::string order;
  for (const GraphOp &op : spec.graphs[0].ops)
    order += *op.name;
  EXPECT_EQ(order, "abc");
}

TEST(GoodSpecs, TurnLiteralWeightsThatAreTransposed) {
  Spec spec = readGood("graph:\n"
                       "  inputs: {x: {shape: [batch, query, width: 2]}}\n"
                       "  weights: {w: {transposed: true, value: [[1, 2, 3], [4, 5, 6]]}}\n"
                       "  ops: {y: {linear: [x, w]}}\n"
                       "  outputs: y\n");
  const GraphWeight &weight = spec.graphs[0].weights[0];
  EXPECT_EQ(weight.shape, (std::vector<int64_t>{3, 2}));
  EXPECT_EQ(weight.value, (std::vector<float>{1, 4, 2, 5, 3, 6}));
}

TEST(GoodSpecs, PrintAsSpecsThatReadBackTheSame) {
  tests::TemporaryFolder folder;
  for (const char *name : {"source_vocab.json", "target_vocab.json"})
    folder.write(name, "[\"a\"]");
  unsigned count = 0;
  for (const std::filesystem::path &path : tests::ownSpecs()) {
    std::string text = tests::readFile(path);
    // Tokenizer files stand beside the spec's text, weights are random.
    Diagnostics diagnostics;
    std::optional<Spec> first = parseSpec(folder.path() + "/spec.yaml", text, {"random:1"}, diagnostics);
    ASSERT_TRUE(first) << printed(diagnostics);
    std::optional<Spec> second = parseSpec(folder.path() + "/spec.yaml", print(*first), {}, diagnostics);
    ASSERT_TRUE(second) << printed(diagnostics) << print(*first);
    EXPECT_EQ(printWithoutLines(*first), printWithoutLines(*second));
    ++count;
  }
  EXPECT_GE(count, 5u);
}

TEST(GoodSpecs, PrintWithTheLineOfWhatTheFileGives) {
  std::string text = print(readGood(smallModel()));
  EXPECT_NE(text.find("  width: 8 # line 4\n"), std::string::npos) << text;
  EXPECT_NE(text.find("    epsilon: 1e-05\n"), std::string::npos) << text;
}

TEST(GoodSpecs, TheLastTypeThatFitsCounts) {
  Spec spec = readGood("types: {default: int8, layers: {decoder.*: f32, \"*.ffn.fc1.weight\": bf16}}\n" +
                       smallModel());
  EXPECT_EQ(spec.types.typeOf("encoder.layers.0.self_attn.q_proj.weight"), WeightType::Int8);
  EXPECT_EQ(spec.types.typeOf("decoder.layers.0.self_attn.q_proj.weight"), WeightType::F32);
  EXPECT_EQ(spec.types.typeOf("decoder.layers.0.ffn.fc1.weight"), WeightType::Bf16);
  EXPECT_EQ(print(spec).find("types:\n  default: int8"), 0u) << print(spec);
  EXPECT_EQ(readGood(smallModel(), {"", "bf16"}).types.typeOf("a"), WeightType::Bf16);
}

TEST(GoodSpecs, AttentionFollowsTheDefaultUnlessTold) {
  struct Rounded {
    std::string types;
    bool caches, products;
  };
  for (const Rounded &wanted : {Rounded{"{default: f32}", false, false},
                                {"{layers: {\"*\": int8}}", false, false},
                                {"{default: int8}", true, false},
                                {"{default: int8, attention: f32}", false, false},
                                {"{default: int8, attention: bf16}", true, true},
                                {"{default: bf16}", true, true},
                                {"{default: bf16, attention: f32}", false, false},
                                {"{attention: bf16}", true, true}}) {
    TypesSpec types = readGood("types: " + wanted.types + "\n" + smallModel()).types;
    EXPECT_EQ(types.roundsCaches(), wanted.caches) << wanted.types;
    EXPECT_EQ(types.roundsProducts(), wanted.products) << wanted.types;
  }
  std::string text = print(readGood("types: {attention: bf16}\n" + smallModel()));
  EXPECT_EQ(text.find("types:\n  default: f32\n  attention: bf16"), 0u) << text;
}

TEST(GoodSpecs, NamesFitPatternsWithStars) {
  EXPECT_TRUE(fits("a.b", "a.b"));
  EXPECT_TRUE(fits("*", ""));
  EXPECT_TRUE(fits("a*c", "abbc"));
  EXPECT_TRUE(fits("*b*", "abc"));
  EXPECT_TRUE(fits("a*b*c", "abcbbc"));
  EXPECT_TRUE(fits("a**", "a"));
  EXPECT_FALSE(fits("a*c", "abcd"));
  EXPECT_FALSE(fits("ab*ba", "aba"));
  EXPECT_FALSE(fits("a", "ab"));
}

TEST(GoodSpecs, BaseTransformerTakesFortyLines) {
  std::string text = tests::readFile(tests::sourceFolder() / "tests/end-to-end/specs/transformer-base.yaml");
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 40);
  ModelSpec model = *readGood(text).model;
  EXPECT_EQ(*model.width, 512);
  EXPECT_EQ(*model.encoder.layers + *model.decoder.layers, 12);
  EXPECT_EQ(*model.vocabulary.target, 32000);
}

} // namespace
