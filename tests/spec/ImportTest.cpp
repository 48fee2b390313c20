//===- ImportTest.cpp - specs as attn modules ------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/import/ForwardDiagnostics.h"
#include "compiler/import/ImportSpec.h"
#include "dialect/IR/Attn.h"
#include "tests/spec/SpecTesting.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

#include "gtest/gtest.h"

#include <random>
#include <regex>

using namespace attnc;
using attnc::tests::printed;
using attnc::tests::smallModel;

namespace {

class Import : public ::testing::Test {
protected:
  /// The module of a text; null with errors in `diagnostics`.
  mlir::OwningOpRef<mlir::ModuleOp> import(const std::string &text) {
    std::optional<Spec> spec = parseSpec("a.yaml", text, {"random:1"}, diagnostics);
    if (!spec)
      return nullptr;
    ForwardDiagnostics forward(context, diagnostics);
    return importSpec(*spec, context);
  }

  /// The names of the ops in the function, in order, without `attn.` and without those that read weights.
  std::string opsOf(mlir::ModuleOp module, const std::string &function) {
    std::string names;
    auto entry = module.lookupSymbol<mlir::func::FuncOp>(function);
    for (mlir::Operation &op : entry.getBody().front())
      if (!mlir::isa<attn::GetWeightOp>(op))
        names += (names.empty() ? "" : " ") + op.getName().stripDialect().str();
    return names;
  }

  template <typename Op> unsigned count(mlir::ModuleOp module) {
    unsigned number = 0;
    module.walk([&](Op) { ++number; });
    return number;
  }

  mlir::MLIRContext context;
  Diagnostics diagnostics;
};

const std::string chain = "matmul scale padding_mask softmax matmul merge_heads linear";

TEST_F(Import, WritesTheUnfusedChainOfThePostNormEncoder) {
  auto module = import(smallModel());
  ASSERT_TRUE(module) << printed(diagnostics);
  EXPECT_EQ(opsOf(*module, "encode"),
            "embed add_positions linear split_heads linear split_heads linear split_heads " + chain +
                " add layer_norm linear activation linear add layer_norm return");
}

TEST_F(Import, PutsNormsBeforeTheWorkOfThePreNormEncoder) {
  auto module =
      import(smallModel("{random: 1}", "  norm: {place: pre, kind: rms}\n  embedding: {scale: 2}\n"));
  ASSERT_TRUE(module) << printed(diagnostics);
  EXPECT_EQ(opsOf(*module, "encode"),
            "embed scale add_positions rms_norm linear split_heads linear split_heads linear split_heads " +
                chain + " add rms_norm linear activation linear add rms_norm return");
}

TEST_F(Import, MultipliesWhatAGateLetsThrough) {
  std::string text = smallModel("{random: 1}", "  output: {scale: 0.5}\n");
  text.replace(text.find("{width: 16}"), 11, "{width: 16, activation: silu, gated: true}");
  auto module = import(text);
  ASSERT_TRUE(module) << printed(diagnostics);
  EXPECT_EQ(opsOf(*module, "encode"),
            "embed add_positions linear split_heads linear split_heads linear split_heads " + chain +
                " add layer_norm linear activation linear mul linear add layer_norm return");
  EXPECT_TRUE(opsOf(*module, "decode").ends_with("layer_norm scale linear return"));
}

TEST_F(Import, WritesATransformBeforeTheLogits) {
  auto module = import(smallModel("{random: 1}", "  output: {transform: gelu, scale: 0.5}\n"));
  ASSERT_TRUE(module) << printed(diagnostics);
  EXPECT_TRUE(
      opsOf(*module, "decode").ends_with("layer_norm linear activation layer_norm scale linear return"));
}

TEST_F(Import, WritesAnEncoderWithItsHeads) {
  auto module = import("model:\n"
                       "  kind: encoder\n"
                       "  width: 8\n"
                       "  heads: 2\n"
                       "  encoder: {layers: 1, token_types: 2, pooler: true, masked_token_head: gelu}\n"
                       "  feed_forward: {width: 16}\n"
                       "  positions: {kind: learned}\n"
                       "  norm: {embedding: true}\n"
                       "  embedding: {tied: all}\n"
                       "  vocabulary: {source: 20}\n"
                       "  tokens: {source_start: 1, source_end: 2, mask: 3}\n");
  ASSERT_TRUE(module) << printed(diagnostics);
  std::string layer = "embed embed add add_positions layer_norm linear split_heads linear split_heads "
                      "linear split_heads " +
                      chain + " add layer_norm linear activation linear add layer_norm ";
  EXPECT_EQ(opsOf(*module, "encode"), layer + "select linear activation return");
  EXPECT_EQ(opsOf(*module, "predict"), layer + "collapse take linear activation layer_norm linear return");
  EXPECT_EQ(module->lookupSymbol("decode"), nullptr);
  unsigned readers = 0; // the table embeds in both functions, and gives the logits
  module->walk([&](attn::GetWeightOp reader) { readers += reader.getWeight() == "encoder.embed.weight"; });
  EXPECT_EQ(readers, 3u);
}

TEST_F(Import, WritesADecoderWithoutASource) {
  auto module = import("model:\n"
                       "  kind: decoder\n"
                       "  width: 8\n"
                       "  heads: 2\n"
                       "  decoder: {layers: 1}\n"
                       "  feed_forward: {width: 16}\n"
                       "  embedding: {tied: all}\n"
                       "  vocabulary: {target: 20}\n"
                       "  tokens: {end: 2}\n");
  ASSERT_TRUE(module) << printed(diagnostics);
  EXPECT_EQ(opsOf(*module, "decode"),
            "embed add_positions linear split_heads linear split_heads linear split_heads matmul scale "
            "causal_mask softmax matmul merge_heads linear add layer_norm linear activation linear add "
            "layer_norm linear return");
  EXPECT_EQ(module->lookupSymbol<mlir::func::FuncOp>("decode").getNumArguments(), 1u);
  EXPECT_EQ(module->lookupSymbol("encode"), nullptr);
}

TEST_F(Import, MasksTheDecoderCausallyAndTheSourceByLength) {
  auto module = import(smallModel());
  ASSERT_TRUE(module) << printed(diagnostics);
  EXPECT_EQ(opsOf(*module, "decode"),
            "embed add_positions linear split_heads linear split_heads linear split_heads "
            "matmul scale causal_mask softmax matmul merge_heads linear add layer_norm "
            "linear split_heads linear split_heads linear split_heads " +
                chain + " add layer_norm linear activation linear add layer_norm linear return");
}

TEST_F(Import, NamesArgumentsAndResults) {
  auto module = import(smallModel());
  ASSERT_TRUE(module) << printed(diagnostics);
  auto decode = module->lookupSymbol<mlir::func::FuncOp>("decode");
  auto name = [&](mlir::Attribute attribute) { return mlir::cast<mlir::StringAttr>(attribute).str(); };
  EXPECT_EQ(name(decode.getArgAttr(0, "attn.name")), "target_ids");
  EXPECT_EQ(name(decode.getArgAttr(1, "attn.name")), "memory");
  EXPECT_EQ(name(decode.getArgAttr(2, "attn.name")), "source_lengths");
  EXPECT_EQ(name(decode.getResultAttr(0, "attn.name")), "logits");
}

TEST_F(Import, LocatesEveryOpInTheYaml) {
  auto module = import(smallModel());
  ASSERT_TRUE(module) << printed(diagnostics);
  unsigned lines = smallModel().size();
  module->walk([&](mlir::Operation *op) {
    auto where = mlir::dyn_cast<mlir::FileLineColLoc>(op->getLoc());
    ASSERT_TRUE(where);
    EXPECT_EQ(where.getFilename(), "a.yaml");
    EXPECT_GT(where.getLine(), 0u);
    EXPECT_LE(where.getLine(), lines);
  });
  auto heads = *module->getOps<mlir::func::FuncOp>().begin();
  heads.walk([&](attn::SoftmaxOp op) { // attention is located at `heads`
    EXPECT_EQ(mlir::cast<mlir::FileLineColLoc>(op.getLoc()).getLine(), 5u);
  });
}

TEST_F(Import, SharesTiedTables) {
  std::string text = smallModel("{random: 1}", "  embedding: {tied: all}\n");
  text.replace(text.find("source: 20"), 10, "source: 30");
  auto module = import(text);
  ASSERT_TRUE(module) << printed(diagnostics);
  unsigned tables = 0, readers = 0;
  module->walk([&](attn::WeightOp weight) { tables += weight.getSymName() == "shared.embed.weight"; });
  module->walk([&](attn::GetWeightOp reader) { readers += reader.getWeight() == "shared.embed.weight"; });
  EXPECT_EQ(tables, 1u);
  EXPECT_EQ(readers, 3u);
}

TEST_F(Import, GivesWeightsTheirNamesInTheFile) {
  auto module = import(smallModel("\n  random: 1\n  transposed: true\n  names:\n    encoder_feed_forward: "
                                  "\"enc{layer+1}.{linear:w,v}.{parameter}\""));
  ASSERT_TRUE(module) << printed(diagnostics);
  auto weight = module->lookupSymbol<attn::WeightOp>("encoder.layers.0.ffn.fc2.weight");
  ASSERT_TRUE(weight);
  EXPECT_EQ(mlir::cast<mlir::StringAttr>((*weight.getTensors())[0]).str(), "enc1.v.weight");
  EXPECT_TRUE(weight.getTransposed());
  EXPECT_FALSE(module->lookupSymbol<attn::WeightOp>("encoder.embed.weight").getTransposed());
}

TEST_F(Import, WritesRelativePositionsAsMapsOfSelfAttention) {
  auto module =
      import(smallModel("{random: 1}", "  positions: {kind: relative, buckets: 8, max_distance: 20}\n"));
  ASSERT_TRUE(module) << printed(diagnostics);
  std::string ops = opsOf(*module, "encode");
  EXPECT_NE(ops.find("matmul scale score_map padding_mask softmax"), std::string::npos) << ops;
  EXPECT_EQ(count<attn::ScoreMapOp>(*module), 2u); // of each side, not of the attention to the source
  auto table = module->lookupSymbol<attn::WeightOp>("decoder.pos_embed.weight");
  ASSERT_TRUE(table);
  EXPECT_EQ(table.getType(), mlir::RankedTensorType::get({8, 2}, mlir::Float32Type::get(&context)));
}

TEST_F(Import, HidesWhatIsOutsideOfTheWindow) {
  std::string text = smallModel("{random: 1}", "  key_heads: 1\n");
  text.replace(text.find("decoder: {layers: 1}"), 20, "decoder: {layers: 1, window: 3}");
  auto module = import(text);
  ASSERT_TRUE(module) << printed(diagnostics);
  unsigned windows = 0;
  module->walk([&](attn::WindowMaskOp mask) {
    ++windows;
    EXPECT_EQ(mask.getBefore(), 3);
    EXPECT_FALSE(mask.getAfter()); // the causal mask hides those
  });
  EXPECT_EQ(windows, 1u);
  auto keys = module->lookupSymbol<attn::WeightOp>("encoder.layers.0.self_attn.k_proj.weight");
  ASSERT_TRUE(keys);
  EXPECT_EQ(keys.getType(), mlir::RankedTensorType::get({4, 8}, mlir::Float32Type::get(&context)));
}

TEST_F(Import, TurnsQueriesAndKeysOfSelfAttention) {
  auto module = import(smallModel("{random: 1}", "  positions: {kind: rotary, base: 500}\n"));
  ASSERT_TRUE(module) << printed(diagnostics);
  EXPECT_EQ(count<attn::RotaryOp>(*module), 4u);
  attn::SinusoidAttr angles = *module->lookupSymbol<attn::WeightOp>("rotary_angles_4").getSinusoid();
  EXPECT_EQ(angles.getBase(), 500);
  EXPECT_FALSE(angles.getInterleaved());
}

TEST_F(Import, RoundsProductsOfAttentionUnlessTold) {
  auto roundedOf = [&](const std::string &types) {
    auto module = import("types: " + types + "\n" + smallModel());
    EXPECT_TRUE(module) << printed(diagnostics);
    std::string rounded;
    module->walk([&](attn::MatmulOp product) { rounded += product.getRounded() ? "r" : "-"; });
    return rounded;
  };
  EXPECT_EQ(roundedOf("{default: f32}"),
            "------"); // of the encoder, the decoder, and the decoder to the source
  EXPECT_EQ(roundedOf("{default: int8}"), "------");
  EXPECT_EQ(roundedOf("{default: int8, attention: bf16}"), "rrrrrr");
  EXPECT_EQ(roundedOf("{default: bf16}"), "rrrrrr");
  EXPECT_EQ(roundedOf("{default: bf16, attention: f32}"), "------");
  EXPECT_EQ(roundedOf("{attention: bf16}"), "rrrrrr");
}

TEST_F(Import, AsksForRoundedCaches) {
  for (bool rounds : {false, true}) {
    auto module = import((rounds ? "types: {attention: bf16}\n" : "") + smallModel());
    ASSERT_TRUE(module) << printed(diagnostics);
    EXPECT_EQ(module->getOperation()->hasAttr(attn::roundsCaches), rounds);
  }
}

TEST_F(Import, RoundsProductsOfAGraphOfBfloat16) {
  const std::string graph = "graph:\n  inputs: {x: {shape: [query, width: 3]}, y: {shape: [key, width: 3]}}\n"
                            "  ops: {z: {matmul: [x, y], transposed: true}}\n  outputs: z\n";
  for (bool rounds : {false, true}) {
    auto module = import(graph + (rounds ? "types: {default: bf16}\n" : ""));
    ASSERT_TRUE(module) << printed(diagnostics);
    module->walk([&](attn::MatmulOp product) { EXPECT_EQ(product.getRounded(), rounds); });
  }
}

TEST_F(Import, OffsetsLearnedPositionsAndComputesSinusoids) {
  auto learned =
      import(smallModel("{random: 1}", "  positions: {kind: learned, start: 2, max_length: 10}\n"));
  ASSERT_TRUE(learned) << printed(diagnostics);
  learned->walk([&](attn::AddPositionsOp op) { EXPECT_EQ(op.getOffset(), 2); });
  EXPECT_EQ(learned->lookupSymbol<attn::WeightOp>("encoder.pos_embed.weight").getType(),
            mlir::RankedTensorType::get({12, 8}, mlir::Float32Type::get(&context)));
  auto computed =
      import(smallModel("{random: 1}", "  positions: {layout: concatenated, inclusive: true, start: 1}\n"));
  ASSERT_TRUE(computed) << printed(diagnostics);
  attn::SinusoidAttr sinusoid = *computed->lookupSymbol<attn::WeightOp>("sinusoids").getSinusoid();
  EXPECT_FALSE(sinusoid.getInterleaved());
  EXPECT_TRUE(sinusoid.getInclusive());
  EXPECT_EQ(sinusoid.getStart(), 1);
  EXPECT_EQ(count<attn::AddPositionsOp>(*import(smallModel("{random: 1}", "  positions: {kind: none}\n"))),
            0u);
}

TEST_F(Import, PrintsModulesThatParse) {
  for (const std::filesystem::path &path : tests::ownSpecs()) {
    std::string text = tests::readFile(path);
    if (text.find("tokenizer:") != std::string::npos)
      text = text.substr(0, text.find("  tokenizer:"));
    auto module = import(text);
    ASSERT_TRUE(module) << printed(diagnostics);
    std::string printedModule;
    llvm::raw_string_ostream(printedModule) << *module;
    EXPECT_TRUE(mlir::parseSourceString<mlir::ModuleOp>(printedModule, &context)) << path;
  }
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

/// A graph over `x` (batch, query, 4), `ids` and `scores`; `w` is 3 x 4, `v` a vector of 4.
std::string graphOf(const std::string &op, const std::string &operands) {
  std::string text = "graph:\n  inputs:\n";
  auto add = [&](const std::string &name, const std::string &definition) {
    if (operands.find(name) != std::string::npos)
      text += "    " + name + ": " + definition + "\n";
  };
  add("xx", "{shape: [batch, query, width: 4]}");
  add("ids", "{shape: [batch, query], type: i32}");
  add("lengths", "{shape: [batch], type: i32}");
  add("scores", "{shape: [batch, head: 2, query, key]}");
  add("hh", "{shape: [batch, head: 2, query, width: 4]}");
  text += "  weights:\n";
  add("ww", "{value: [[1, 2, 3, 4], [1, 2, 3, 4], [1, 2, 3, 4]]}");
  add("vv", "{value: [1, 2, 3, 4]}");
  if (text.ends_with("weights:\n"))
    text.insert(text.size() - 1, " {}");
  return text + "  ops:\n    y: {" + op + ": " + operands + "}\n  outputs: y\n";
}

TEST_F(Import, TakesEveryOpOfAGraph) {
  const std::pair<const char *, const char *> ops[] = {{"linear", "[xx, ww]"},
                                                       {"scale", "xx, by: 2"},
                                                       {"add", "[xx, xx]"},
                                                       {"mul", "[xx, xx]"},
                                                       {"activation", "xx, with: tanh"},
                                                       {"layer_norm", "[xx, vv, vv]"},
                                                       {"rms_norm", "[xx, vv]"},
                                                       {"split_heads", "xx, heads: 2"},
                                                       {"merge_heads", "scores"},
                                                       {"slice", "xx, at: 1, width: 2"},
                                                       {"matmul", "[scores, scores], transposed: true"},
                                                       {"causal_mask", "scores"},
                                                       {"padding_mask", "[scores, lengths]"},
                                                       {"softmax", "scores"},
                                                       {"mean_heads", "scores"},
                                                       {"embed", "[ids, ww]"},
                                                       {"add_positions", "[xx, ww], offset: 1"},
                                                       {"log_softmax", "xx"},
                                                       {"pick", "[xx, ids]"},
                                                       {"take", "[xx, lengths]"},
                                                       {"l2_norm", "xx"},
                                                       {"rotary", "[hh, ww, lengths], interleaved: true"},
                                                       {"additive_scores", "[hh, hh, vv]"},
                                                       {"score_map", "[scores, vv], score: \"s * vv[key]\""},
                                                       {"window_mask", "[scores, lengths], before: 3"},
                                                       {"prefix_mask", "[scores, lengths]"}};
  for (auto [op, operands] : ops) {
    diagnostics = Diagnostics();
    if (op == std::string("merge_heads"))
      continue; // its last axis must be a known width: see MergesHeads
    auto module = import(graphOf(op, operands));
    EXPECT_TRUE(module) << op << "\n" << printed(diagnostics);
    if (module) {
      EXPECT_EQ(opsOf(*module, "graph"), std::string(op) + " return");
    }
  }
}

TEST_F(Import, MergesHeads) {
  auto module = import("graph:\n  inputs: {x: {shape: [batch, head: 2, query, width: 3]}}\n"
                       "  ops: {y: {merge_heads: x}}\n  outputs: y\n");
  ASSERT_TRUE(module) << printed(diagnostics);
  auto type = mlir::cast<mlir::RankedTensorType>(
      module->lookupSymbol<mlir::func::FuncOp>("graph").getResultTypes().front());
  EXPECT_EQ(type.getShape().back(), 6);
}

TEST_F(Import, MarksGraphsAndNamesTheirValues) {
  auto module = import(graphOf("linear", "[xx, ww]"));
  ASSERT_TRUE(module) << printed(diagnostics);
  auto entry = module->lookupSymbol<mlir::func::FuncOp>("graph");
  EXPECT_TRUE(entry->hasAttr("attn.graph"));
  EXPECT_EQ(mlir::cast<mlir::StringAttr>(entry.getArgAttr(0, "attn.name")).str(), "xx");
  EXPECT_EQ(mlir::cast<mlir::StringAttr>(entry.getResultAttr(0, "attn.name")).str(), "y");
}

TEST_F(Import, SpeaksOfTheYamlWhereShapesDoNotFit) {
  EXPECT_FALSE(import("graph:\n"
                      "  inputs: {x: {shape: [batch, query, width: 5]}}\n"
                      "  weights: {w: {value: [[1, 2, 3, 4]]}}\n"
                      "  ops:\n"
                      "    y: {linear: [x, w]}\n"
                      "    z: {split_heads: x, heads: 2}\n"
                      "  outputs: [y, z]\n"));
  std::string errors = printed(diagnostics);
  EXPECT_NE(errors.find("a.yaml:5:9: error:"), std::string::npos) << errors;
  EXPECT_NE(errors.find("    y: {linear: [x, w]}\n        ^\n"), std::string::npos) << errors;
  EXPECT_NE(errors.find("a.yaml:6:9: error:"), std::string::npos) << errors;
}

TEST_F(Import, NamesOpsValuesAndAxesWhereOperandsDoNotFit) {
  const std::pair<const char *, const char *> errors[] = {
      {"softmax: s",
       "5:18: error: 'softmax' takes 4 axes (batch, head, query, key); 's' has 3 (batch, query, key)"},
      {"causal_mask: s", "5:22: error: 'causal_mask' takes 4 axes"},
      {"padding_mask: [h, x]",
       "5:27: error: 'padding_mask' takes 1 axis (batch); 'x' has 3 (batch, query, width: 5)"},
      {"scale: n, by: 2", "5:16: error: 'scale' takes f32 here; 'n' is i32"},
      {"linear: [x, v]", "5:21: error: 'linear' takes 2 axes (out, in); 'v' has 1 (4)"},
      {"linear: [h, w]", "5:18: error: 'linear' takes 2 or 3 axes (batch, query, width); 'h' has 4 (batch,"},
      {"linear: [x, w]", "5:9: error: 'linear': the input's width is 5, but the weight's in axis is 4"},
      {"embed: [x, w]", "5:17: error: 'embed' takes 1 or 2 axes (batch, query); 'x' has 3"},
      {"add: [x, b]", "5:18: error: 'add' takes two values of one shape; 'x' has (batch, query, width: 5), "},
      {"add: [b, c]",
       "'add' takes two values of one shape; 'b' has (batch, width: 4), 'c' (batch, width: 6)"},
      {"mul: [b, w]",
       "5:18: error: 'mul' takes two values of one shape; 'b' has (batch, width: 4), 'w' (1, 4)"},
      {"slice: e, at: 5, width: 4",
       "5:9: error: 'slice': takes 4 elements from 5 on, but the input's width is 8"},
      {"slice: s, width: 4",
       "5:9: error: 'slice': takes 4 elements from 0 on, but the input's width is not known"}};
  const std::pair<char, const char *> inputs[] = {{'x', "shape: [batch, query, width: 5]"},
                                                  {'b', "shape: [batch, width: 4]"},
                                                  {'c', "shape: [batch, width: 6]"},
                                                  {'e', "shape: [batch, query, width: 8]"},
                                                  {'s', "shape: [batch, query, key]"},
                                                  {'h', "shape: [batch, head: 2, query, width: 5]"},
                                                  {'n', "shape: [batch], type: i32"}},
                                      weights[] = {{'w', "value: [[1, 2, 3, 4]]"},
                                                   {'v', "value: [1, 2, 3, 4]"}};
  // What an op does not read may not stand there.
  auto readBy = [](const std::string &op, const auto &values) {
    std::string text;
    for (auto [name, value] : values)
      if (std::regex_search(op, std::regex(std::string("\\b") + name + "\\b")))
        text += (text.empty() ? "" : ", ") + std::string(1, name) + ": {" + value + "}";
    return "{" + text + "}";
  };
  for (auto [op, error] : errors) {
    diagnostics = Diagnostics();
    EXPECT_FALSE(import("graph:\n  inputs: " + readBy(op, inputs) + "\n  weights: " + readBy(op, weights) +
                        "\n  ops:\n    y: {" + op + "}\n  outputs: y\n"));
    EXPECT_NE(printed(diagnostics).find(error), std::string::npos) << printed(diagnostics);
  }
  diagnostics = Diagnostics();
  EXPECT_FALSE(import(graphOf("padding_mask", "[scores, vv]")));
  EXPECT_NE(printed(diagnostics).find("'padding_mask' takes i32 here; 'vv' is f32"), std::string::npos)
      << printed(diagnostics);
}

// Kernels of these are made for a width.
TEST_F(Import, WidthsOfLinearsNormsAndTablesAreNumbers) {
  const std::string rows = "a: {shape: [batch, query, width]}, ";
  const std::pair<std::string, std::string> cases[] = {
      {"linear: [a, w]", rows + "w: {shape: [out: 3, width]}"},
      {"layer_norm: [a, w]", rows + "w: {shape: [width]}"},
      {"rms_norm: [a, w]", rows + "w: {shape: [width]}"},
      {"embed: [i, w]", "i: {shape: [batch, query], type: i32}, w: {shape: [word, width]}"}};
  for (const auto &[op, inputs] : cases) {
    SCOPED_TRACE(op);
    diagnostics = Diagnostics();
    EXPECT_FALSE(import("graph:\n  inputs: {" + inputs + "}\n  ops:\n    y: {" + op + "}\n  outputs: y\n"));
    EXPECT_NE(printed(diagnostics).find("is the size 'width', but has to be a number"), std::string::npos)
        << printed(diagnostics);
  }
}

// No op relates axes of the operands of embed, take and score_map: their indices are clamped.
TEST_F(Import, TakesAxesOfOneExtentOnlyIfTheyAreWrittenAlike) {
  struct Case {
    std::string op, inputs, alike; // `alike` stands for @ in `inputs`
  };
  const std::string heads = "a: {shape: [batch, head: 2, query, width: 8]}, ",
                    scores = "a: {shape: [batch, head: 2, query, key]}, ";
  const Case cases[] = {
      {"linear: [a, w]", "a: {shape: [batch, query, @]}, w: {shape: [out: 3, in: 8]}", "width: 8"},
      {"linear: [a, w, b]",
       "a: {shape: [batch, query, width: 8]}, w: {shape: [out: 3, in: 8]}, b: {shape: [@]}", "out: 3"},
      {"matmul: [a, b]", heads + "b: {shape: [batch, head: 2, @, out: 5]}", "key: 8"},
      {"matmul: [a, b]", scores + "b: {shape: [batch, head: 2, @, out: 5]}", "key"},
      {"matmul: [a, b], transposed: true", heads + "b: {shape: [batch, head: 2, key, @]}", "width: 8"},
      {"matmul: [a, b]", heads + "b: {shape: [@, head: 2, key: 8, out: 5]}", "batch"},
      {"matmul: [a, b]", heads + "b: {shape: [batch, @, key: 8, out: 5]}", "head: 2"},
      {"matmul: [a, b]", "a: {shape: [batch, head, query, key]}, b: {shape: [batch, @, key, out: 5]}",
       "head"},
      {"matmul: [a, b]", "a: {shape: [batch, query, key]}, b: {shape: [@, key, out: 5]}", "batch"},
      {"add: [a, b]", "a: {shape: [batch, query, width]}, b: {shape: [batch, query, @]}", "width"},
      {"mul: [a, b]", "a: {shape: [batch, query, width: 8]}, b: {shape: [batch, query, @]}", "width: 8"},
      {"layer_norm: [a, w]", "a: {shape: [batch, query, @]}, w: {shape: [width: 8]}", "width: 8"},
      {"layer_norm: [a, w, b]",
       "a: {shape: [batch, query, width: 8]}, w: {shape: [width: 8]}, b: {shape: [@]}", "width: 8"},
      {"rms_norm: [a, w]", "a: {shape: [batch, query, width: 8]}, w: {shape: [@]}", "width: 8"},
      {"rotary: [a, t, s]", heads + "t: {shape: [position, width: 8]}, s: {shape: [@], type: i32}", "batch"},
      {"additive_scores: [a, b, w]",
       heads + "b: {shape: [@, head: 2, key, width: 8]}, w: {shape: [width: 8]}", "batch"},
      {"additive_scores: [a, b, w]", heads + "b: {shape: [batch, @, key, width: 8]}, w: {shape: [width: 8]}",
       "head: 2"},
      {"additive_scores: [a, b, w]", heads + "b: {shape: [batch, head: 2, key, @]}, w: {shape: [width: 8]}",
       "width: 8"},
      {"additive_scores: [a, a, w]", heads + "w: {shape: [head: 2, @]}", "width: 8"},
      {"additive_scores: [a, a, w]", heads + "w: {shape: [@, width: 8]}", "head: 2"},
      {"padding_mask: [a, l]", scores + "l: {shape: [@], type: i32}", "batch"},
      {"prefix_mask: [a, l]", scores + "l: {shape: [@], type: i32}", "batch"},
      {"window_mask: [a, l], before: 2", scores + "l: {shape: [@], type: i32}", "batch"},
      {"add_positions: [a, t]", "a: {shape: [batch, query, width]}, t: {shape: [position, @]}", "width"},
      {"pick: [a, i]", "a: {shape: [batch, query, width]}, i: {shape: [@, query], type: i32}", "batch"},
      {"pick: [a, i]", "a: {shape: [batch, query: 3, width]}, i: {shape: [batch, @], type: i32}",
       "query: 3"}};
  auto isTaken = [&](const Case &given, const std::string &axis) {
    diagnostics = Diagnostics();
    std::string inputs = given.inputs;
    inputs.replace(inputs.find('@'), 1, axis);
    return bool(
        import("graph:\n  inputs: {" + inputs + "}\n  ops:\n    y: {" + given.op + "}\n  outputs: y\n"));
  };
  for (const Case &given : cases) {
    SCOPED_TRACE(given.op + " of " + given.inputs);
    EXPECT_TRUE(isTaken(given, given.alike)) << printed(diagnostics);
    std::string name = given.alike.substr(0, given.alike.find(':'));
    bool isSize = name == given.alike,
         isPointwise = given.op.starts_with("add:") || given.op.starts_with("mul:");
    EXPECT_FALSE(isTaken(given, isSize ? name + ": 4" : name));
    std::string error = printed(diagnostics);
    EXPECT_NE(error.find("a.yaml:4:"), std::string::npos) << error;
    EXPECT_NE(error.find(isPointwise ? "two values of one shape" : "the size '" + name + "'"),
              std::string::npos)
        << error;
    EXPECT_FALSE(isTaken(given, isSize ? "other" : name + ": 7"));
    EXPECT_TRUE(diagnostics.hasErrors());
  }
}

TEST_F(Import, RefusesOperandsOfTheWrongKindWithoutACrash) {
  const char *operands[] = {"xx", "ids", "lengths", "scores", "hh", "ww", "vv"};
  const char *ops[] = {"linear",       "matmul",        "add",  "mul",  "layer_norm", "rms_norm",   "embed",
                       "padding_mask", "add_positions", "pick", "take", "rotary",     "prefix_mask"};
  for (const char *op : ops)
    for (const char *first : operands)
      for (const char *second : operands) {
        diagnostics = Diagnostics();
        auto module = import(graphOf(op, std::string("[") + first + ", " + second + "]"));
        EXPECT_NE(bool(module), diagnostics.hasErrors()) << op << " " << first << " " << second;
      }
  const char *unary[] = {"scale: %, by: 2",
                         "activation: %, with: relu",
                         "split_heads: %, heads: 3",
                         "merge_heads: %",
                         "slice: %, width: 3",
                         "causal_mask: %",
                         "window_mask: %, before: 3",
                         "score_map: %, mask: \"key < query\"",
                         "l2_norm: %",
                         "softmax: %",
                         "mean_heads: %",
                         "log_softmax: %"};
  for (std::string op : unary)
    for (const char *operand : operands) {
      diagnostics = Diagnostics();
      std::string rest = op.substr(op.find(": ") + 2);
      auto module = import(graphOf(op.substr(0, op.find(": ")), rest.replace(rest.find('%'), 1, operand)));
      EXPECT_NE(bool(module), diagnostics.hasErrors()) << op << " " << operand;
    }
}

TEST_F(Import, RefusesScoresOfTheWrongKindWithoutACrash) {
  const char *operands[] = {"xx", "ids", "lengths", "scores", "hh", "ww", "vv"};
  auto check = [&](const std::string &op, const std::string &rest) {
    diagnostics = Diagnostics();
    auto module = import(graphOf(op, rest));
    EXPECT_NE(bool(module), diagnostics.hasErrors()) << op << " " << rest;
  };
  for (std::string first : operands)
    for (std::string second : operands) {
      check("window_mask", "[" + first + ", " + second + "], after: 3");
      for (const char *index : {"key", "head, key", "batch, head, query, key, key"})
        check("score_map", "[" + first + ", " + second + "], score: \"s + " + second + "[" + index + "]\"");
      for (std::string third : operands)
        check("additive_scores", "[" + first + ", " + second + ", " + third + "]");
    }
}

/// Swaps words of a text: what stays well-formed YAML reaches the import.
std::string withSwappedWords(const std::string &text, std::mt19937 &random) {
  static const std::regex word("[a-z_]{2,}|[0-9]+");
  std::vector<std::pair<size_t, size_t>> words;
  for (std::sregex_iterator found(text.begin(), text.end(), word), end; found != end; ++found)
    words.emplace_back(found->position(), found->length());
  auto from = words[random() % words.size()], to = words[random() % words.size()];
  return std::string(text).replace(to.first, to.second, text.substr(from.first, from.second));
}

TEST_F(Import, SwappedWordsAreImportedOrRefusedWithAnError) {
  std::mt19937 random(20261121);
  std::string text = tests::readFile(tests::sourceFolder() / "examples/textbook/biases.yaml");
  text = text.substr(text.find("weights:")); // without the comment at the top
  unsigned imported = 0, refused = 0;
  for (unsigned i = 0; i < 2000; ++i) {
    diagnostics = Diagnostics();
    bool isImported = bool(import(withSwappedWords(text, random)));
    EXPECT_NE(isImported, diagnostics.hasErrors());
    ++(isImported ? imported : refused);
  }
  EXPECT_GT(imported, 50u);
  EXPECT_GT(refused, 500u);
}

/// A recurrent model of width 8 with `more` keys.
std::string recurrentModel(const std::string &cell, const std::string &more) {
  return "weights: {random: 1}\nmodel:\n  kind: encoder_decoder\n  cell: " + cell + "\n  width: 8\n" + more +
         "  vocabulary: {source: 11, target: 13}\n  tokens: {start: 1, end: 2}\n";
}

TEST_F(Import, WritesOneRecurrenceForEachLayerAndDirectionOfAnEncoder) {
  auto module = import(recurrentModel("lstm", "  encoder: {layers: 2, width: 4, bidirectional: true}\n"
                                              "  decoder: {layers: 2}\n"));
  ASSERT_TRUE(module) << printed(diagnostics);
  EXPECT_EQ(opsOf(*module, "encode"),
            "embed linear zeros recurrence linear zeros recurrence concat concat concat "
            "linear zeros recurrence linear zeros recurrence concat concat concat return");
  auto encode = module->lookupSymbol<mlir::func::FuncOp>("encode");
  EXPECT_EQ(encode.getNumResults(), 4u); // both states of both layers; without attention no rows
  EXPECT_EQ(opsOf(*module, "decode"), "embed recurrence linear return");
}

TEST_F(Import, PutsAttentionOutsideOfTheLoopUnlessACellReadsIt) {
  for (const char *text : {"place: after", "place: after, input_feeding: true", "place: before"}) {
    auto module =
        import(recurrentModel("gru", "  encoder: {layers: 1}\n  decoder: {layers: 1, attention: {score: "
                                     "general, " +
                                         std::string(text) + "}}\n"));
    ASSERT_TRUE(module) << printed(diagnostics);
    bool isOutside = opsOf(*module, "decode").find("softmax") != std::string::npos;
    EXPECT_EQ(isOutside, std::string(text) == "place: after");
    EXPECT_EQ(count<attn::SoftmaxOp>(*module), 1u);
  }
}

TEST_F(Import, OrdersGatesAsTheFileHasThem) {
  auto offsetOfReset = [&](const std::string &gates) {
    std::string text = recurrentModel("gru", "  encoder: {layers: 1}\n  decoder: {layers: 1}\n");
    auto module = import(text.replace(text.find("random: 1"), 9, "random: 1, gates: " + gates));
    EXPECT_TRUE(module) << printed(diagnostics);
    int64_t offset = -1;
    module->walk([&](attn::SliceOp slice) { offset = offset < 0 ? slice.getOffset() : offset; });
    return offset;
  };
  EXPECT_EQ(offsetOfReset("rzn"), 0); // the first that is read
  EXPECT_EQ(offsetOfReset("nzr"), 16);
}

} // namespace
