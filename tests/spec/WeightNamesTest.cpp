//===- WeightNamesTest.cpp - patterns of weight names ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/spec/WeightNames.h"
#include "tests/spec/SpecTesting.h"

#include "gtest/gtest.h"

#include <map>
#include <set>

using namespace attnc;

namespace {

constexpr WeightUse valueBias{WeightRole::DecoderCrossAttention, 3, 2, true};

TEST(WeightNames, ExpandPlaceholders) {
  EXPECT_EQ(expandPattern("decoder.layers.{layer}.cross_attn.{projection}_proj.{parameter}", valueBias),
            "decoder.layers.3.cross_attn.v_proj.bias");
  EXPECT_EQ(expandPattern("decoder_l{layer+1}_context_{parameter:W,b}{projection}", valueBias),
            "decoder_l4_context_bv");
  EXPECT_EQ(expandPattern("{layer}.{projection:query,key,value,out}.{parameter}", valueBias), "3.value.bias");
  EXPECT_EQ(expandPattern("h.{layer}.{linear:wi,wo}.{parameter}", {WeightRole::EncoderFeedForward, 0, 1}),
            "h.0.wo.weight");
}

TEST(WeightNames, ExpandPlaceholdersOfCells) {
  const WeightUse reverseState{WeightRole::EncoderCell, 1, 3, true};
  EXPECT_EQ(symbolOf(reverseState), "encoder.rnn.bias_hh_l1_reverse");
  EXPECT_EQ(symbolOf({WeightRole::EncoderCell, 1, 0}), "encoder.rnn.weight_ih_l1");
  EXPECT_EQ(expandPattern("{direction:fw,bw}/{operand:kernel,recurrent}{layer+1}", reverseState),
            "bw/recurrent2");
  EXPECT_EQ(symbolOf({WeightRole::Bridge, 0, 1}), "bridge.c_l0.weight");
}

TEST(WeightNames, AreTheSymbolsByDefault) {
  EXPECT_EQ(symbolOf({WeightRole::EncoderFeedForward, 2, 0, true}), "encoder.layers.2.ffn.fc1.bias");
  EXPECT_EQ(symbolOf({WeightRole::SharedEmbedding}), "shared.embed.weight");
}

/// The symbols of a small model with `more` keys.
std::vector<std::string> symbolsOf(const std::string &more) {
  Diagnostics diagnostics;
  std::optional<Spec> spec = parseSpec("a.yaml", tests::smallModel("{random: 1}", more), {}, diagnostics);
  EXPECT_TRUE(spec) << tests::printed(diagnostics);
  std::vector<std::string> symbols;
  for (const WeightUse &use : weightsOf(*spec->model))
    symbols.push_back(symbolOf(use));
  return symbols;
}

TEST(WeightNames, AreListedOnce) {
  for (const char *more : {"", "  positions: {kind: learned}\n", "  norm: {embedding: true, final: true}\n",
                           "  embedding: {tied: target_output}\n", "  norm: {kind: rms}\n"}) {
    std::vector<std::string> symbols = symbolsOf(more);
    EXPECT_EQ(std::set<std::string>(symbols.begin(), symbols.end()).size(), symbols.size()) << more;
  }
}

TEST(WeightNames, FollowTheModel) {
  // 2 tables; 3 attentions of 4 x 2 and 2 feed-forwards of 2 x 2; 5 norms of 2; output 2.
  EXPECT_EQ(symbolsOf("").size(), 2u + 24 + 8 + 10 + 2);
  EXPECT_EQ(
      symbolsOf("  biases: {attention: false, feed_forward: false, norm: false, output: false}\n").size(),
      2u + 12 + 4 + 5 + 1);
  EXPECT_EQ(symbolsOf("  embedding: {tied: target_output}\n").size(), 45u);
  EXPECT_EQ(symbolsOf("  norm: {place: pre}\n").size(), 46u + 4);
  EXPECT_EQ(symbolsOf("  positions: {kind: learned}\n").size(), 46u + 2);
}

TEST(WeightNames, HaveShapesThatFollowTheSides) {
  std::string text = tests::smallModel("{random: 1}", "  head_width: 5\n");
  text.replace(text.find("{width: 16}"), 11, "{width: 16, gated: true}");
  text.replace(text.find("decoder: {layers: 1}"), 20,
               "decoder: {layers: 1, heads: 3, feed_forward_width: 24}");
  Diagnostics diagnostics;
  std::optional<Spec> spec = parseSpec("a.yaml", text, {}, diagnostics);
  ASSERT_TRUE(spec) << tests::printed(diagnostics);
  std::map<std::string, std::vector<int64_t>> shapes;
  for (const WeightUse &use : weightsOf(*spec->model))
    shapes[symbolOf(use)] = use.shape;
  using Shape = std::vector<int64_t>;
  EXPECT_EQ(shapes["encoder.layers.0.self_attn.q_proj.weight"], (Shape{10, 8}));
  EXPECT_EQ(shapes["encoder.layers.0.self_attn.o_proj.weight"], (Shape{8, 10}));
  EXPECT_EQ(shapes["decoder.layers.0.cross_attn.k_proj.weight"], (Shape{15, 8}));
  EXPECT_EQ(shapes["encoder.layers.0.ffn.fc3.weight"], (Shape{16, 8}));
  EXPECT_EQ(shapes["decoder.layers.0.ffn.fc2.weight"], (Shape{8, 24}));
}

} // namespace
