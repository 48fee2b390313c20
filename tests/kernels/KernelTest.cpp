//===- KernelTest.cpp - every kernel under every schedule against the oracle ---===//
// SPDX-License-Identifier: Apache-2.0
//
// One test per archetype and variant; the cases are in KernelCases.cpp.

#include "compiler/emit/CompileKernel.h"
#include "tests/kernels/KernelCases.h"
#include "tests/reference/Interpret.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <pthread.h>
#include <set>
#include <thread>

using namespace attnc::test;
using reference::Array;

namespace {

class KernelTest : public testing::TestWithParam<Variant> {};

int64_t candidatesOf(const Sizes &sizes) {
  auto found = sizes.find("candidate");
  return found == sizes.end() ? 0 : found->second;
}

/// Candidates whose values are closer than the tolerance may come in either order: a word is right where its
/// own log-probability is that of its place.
void expectCandidates(const Array &words, const Array &expectedWords, const Array &expected, const Array &all,
                      double tolerance) {
  for (int64_t i = 0; i < words.size(); ++i) {
    if (words.values[i] == expectedWords.values[i])
      continue;
    double own = all.values[i / words.extent(-1) * all.extent(-1) + int64_t(words.values[i])];
    EXPECT_NEAR(own, expected.values[i], tolerance) << "candidate " << i << " is word " << words.values[i];
  }
}

/// All log-probabilities of a kernel that ends in top_k.
Array logProbabilities(attn::KernelOp kernel, const std::vector<Array> &inputs) {
  attn::LogSoftmaxOp all = *kernel.getBody().front().getOps<attn::LogSoftmaxOp>().begin();
  return reference::interpretValue(kernel, inputs, all.getResult());
}

double toleranceOf(const KernelCase &kernelCase, const Variant &variant) {
  return kernelCase.tolerance + (variant.roundsRows() ? kernelCase.roundedRows : 0);
}

void checkCases(const std::vector<KernelCase> &cases, const Variant &variant) {
  for (const KernelCase &kernelCase : cases) {
    SCOPED_TRACE(kernelCase.name);
    TestKernel kernel(kernelCase.text);
    if (!kernel.load(variant))
      continue;
    for (const Sizes &sizes : kernelCase.sizes) {
      std::vector<Array> inputs = inputsOf(kernel, kernelCase, sizes, 7);
      std::vector<Array> expected = reference::interpret(kernel.op(), inputs, candidatesOf(sizes));
      std::vector<Array> actual = kernel.run(inputs, sizes);
      std::string at;
      for (auto &[name, extent] : sizes)
        at += name + " " + std::to_string(extent) + " ";
      if (!kernel.op().getBody().front().getOps<attn::TopKOp>().empty()) {
        expectCandidates(actual[1], expected[1], expected[0], logProbabilities(kernel.op(), inputs),
                         2 * toleranceOf(kernelCase, variant));
        expected.pop_back();
      }
      for (size_t i = 0; i < expected.size(); ++i)
        EXPECT_LE(largestDifference(expected[i], actual[i]), toleranceOf(kernelCase, variant))
            << "result " << i << " at " << at;
    }
  }
}

KernelCase caseCalled(const std::string &name, const std::vector<KernelCase> &cases) {
  auto found = llvm::find_if(cases, [&](const KernelCase &each) { return each.name == name; });
  EXPECT_NE(found, cases.end()) << name;
  return found == cases.end() ? cases.front() : *found;
}

/// Where nothing is rounded, one case shows that it is not, and others read what has been.
std::vector<KernelCase> roundedCasesOf(const Variant &variant) {
  std::vector<KernelCase> cases = roundedAttentionCases();
  if (variant.roundsRows())
    return cases;
  std::vector<KernelCase> some;
  for (const char *name : {"4_padding_rounded", "20_padding_rounded_rounded_of_bf16",
                           "20_causal_rounded_rounded_of_bf16", "128_padding_rounded_of_bf16"})
    some.push_back(caseCalled("attention_" + std::string(name), cases));
  if (variant.hasOwnFloatAttention()) // what is widened first
    for (const char *name :
         {"64_padding_rounded", "72_padding_rounded", "64", "8_over_2_64x64", "2_over_2_20x72"})
      some.push_back(caseCalled("attention_" + std::string(name) + "_rounded_of_bf16", cases));
  return some;
}

/// What the variant has to itself: in float32 alone others repeat AVX2's or AVX-512's schedules.
std::vector<KernelCase> attentionCasesOf(const Variant &variant) {
  std::vector<KernelCase> cases = roundedCasesOf(variant);
  for (const auto &others : {attentionCases(), scoreCases()})
    llvm::copy_if(others, std::back_inserter(cases), [&](const KernelCase &each) {
      return variant.hasOwnFloatAttention() || llvm::StringRef(each.name).ends_with("_bf16");
    });
  return cases;
}

TEST_P(KernelTest, MatmulEqualsReference) { checkCases(matmulCases(), GetParam()); }
TEST_P(KernelTest, AttentionEqualsReference) { checkCases(attentionCases(), GetParam()); }
TEST_P(KernelTest, RoundedAttentionEqualsReference) { checkCases(roundedCasesOf(GetParam()), GetParam()); }
TEST_P(KernelTest, ScoresEqualReference) { checkCases(scoreCases(), GetParam()); }
TEST_P(KernelTest, GraphAttentionEqualsReference) { checkCases(graphAttentionCases(), GetParam()); }
TEST_P(KernelTest, RoundedGraphAttentionEqualsReference) {
  if (GetParam().roundsRows()) // else it is what GraphAttentionEqualsReference has
    checkCases(roundedGraphAttentionCases(), GetParam());
}
TEST_P(KernelTest, HeadsEqualReference) { checkCases(headCases(), GetParam()); }
TEST_P(KernelTest, VocabularyEqualsReference) { checkCases(vocabularyCases(), GetParam()); }
TEST_P(KernelTest, CellsEqualReference) { checkCases(cellCases(), GetParam()); }
TEST_P(KernelTest, StoredMatmulsEqualReference) { checkCases(storedMatmulCases(), GetParam()); }
/// Products of the outermost bytes and weights: two of them exceed 16 bits. Sums are exact, and the number
/// that is made of one is rounded four times.
TEST_P(KernelTest, StoredExtremesEqualReference) {
  std::vector<KernelCase> cases = storedMatmulCases();
  const KernelCase &kernelCase = *llvm::find_if(cases, [](auto &each) { return each.name == "int8_80x544"; });
  TestKernel kernel(kernelCase.text);
  ASSERT_TRUE(kernel.load(GetParam()));
  const double extremes[] = {0, 1, 127, 128, 129, 254, 255};
  std::vector<Array> inputs = inputsOf(kernel, kernelCase, {{"row", 9}}, 7);
  Array &bytes = inputs[0], &weights = inputs[2], &scales = inputs[3];
  for (int64_t i = 0; i < bytes.size(); ++i)
    bytes.values[i] = extremes[i / bytes.extent(1) % std::size(extremes)];
  for (int64_t column = 0; column < weights.extent(0); ++column) {
    double weight = column % 2 ? 127 : -127;
    std::fill_n(weights.values.begin() + column * weights.extent(1), weights.extent(1), weight);
    scales.values[scales.extent(1) + column] = weight * double(weights.extent(1));
  }
  Array expected = reference::interpret(kernel.op(), inputs, 0)[0];
  double largest = 0;
  for (double value : expected.values)
    largest = std::max(largest, std::abs(value));
  Array actual = kernel.run(inputs, {{"row", 9}})[0];
  EXPECT_LE(largestDifference(expected, actual), 4 * std::ldexp(largest, -24));
}
TEST_P(KernelTest, StoredVocabulariesEqualReference) { checkCases(storedVocabularyCases(), GetParam()); }
TEST_P(KernelTest, StoredEmbeddingsEqualReference) { checkCases(storedEmbeddingCases(), GetParam()); }
TEST_P(KernelTest, ProductsEqualReference) { checkCases(productCases(), GetParam()); }
TEST_P(KernelTest, WeightsEqualReference) { checkCases(weightCases(), GetParam()); }
TEST_P(KernelTest, RowsEqualReference) { checkCases(rowCases(), GetParam()); }

/// Elements that are not equal, bit for bit (no NaN is expected).
int64_t countDifferences(const Array &a, const Array &b) {
  int64_t count = a.size() == b.size() ? 0 : a.size() + b.size();
  for (int64_t i = 0; i < std::min(a.size(), b.size()); ++i)
    count += a.values[i] != b.values[i];
  return count;
}

/// The first `extent` entries of the slowest axis.
Array firstRows(const Array &array, int64_t extent) {
  Array result = array;
  result.values.resize(array.size() / array.extent(0) * extent);
  result.shape[0] = extent;
  return result;
}

/// The first `extent` entries along each axis that is named `size`.
Array firstOf(Array array, mlir::Type type, const std::string &size, int64_t extent) {
  for (auto [axis, name] : llvm::enumerate(attn::axisNames(llvm::cast<mlir::RankedTensorType>(type)))) {
    if (name != size)
      continue;
    int64_t whole = array.shape[axis], inner = 1;
    for (size_t after = axis + 1; after < array.shape.size(); ++after)
      inner *= array.shape[after];
    std::vector<double> kept;
    for (int64_t i = 0; i < array.size(); ++i)
      if (i / inner % whole < extent)
        kept.push_back(array.values[i]);
    array.values = std::move(kept);
    array.shape[axis] = extent;
  }
  return array;
}

/// Runs all `sizes`, then only the first ones along the axis `size`, `extents` at a time: they must come out
/// bit for bit the same.
void checkCompany(TestKernel &kernel, const KernelCase &kernelCase, const Sizes &sizes,
                  const std::string &size,
                  const std::vector<int64_t> &extents = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}) {
  SCOPED_TRACE(kernelCase.name);
  std::vector<Array> inputs = inputsOf(kernel, kernelCase, sizes, 11);
  std::vector<Array> together = kernel.run(inputs, sizes);
  mlir::Block &body = attn::KernelOp(kernel.op()).getBody().front();
  for (int64_t extent : extents) {
    if (extent >= sizes.at(size))
      break;
    std::vector<Array> fewer;
    for (auto [argument, input] : llvm::zip_equal(body.getArguments(), inputs))
      fewer.push_back(firstOf(input, argument.getType(), size, extent));
    Sizes fewerSizes = sizes;
    fewerSizes[size] = extent;
    std::vector<Array> alone = kernel.run(fewer, fewerSizes);
    for (size_t i = 0; i < alone.size(); ++i) {
      Array expected = firstOf(together[i], body.getTerminator()->getOperand(i).getType(), size, extent);
      EXPECT_EQ(countDifferences(expected, alone[i]), 0)
          << "result " << i << " with " << extent << " of " << sizes.at(size) << " " << size;
    }
  }
}

/// Eleven rows share tiles of four, more have tiles of their own.
TEST_P(KernelTest, RowsDoNotDependOnTheirCompany) {
  auto check = [](const std::vector<KernelCase> &cases, const std::vector<Sizes> &sizes) {
    for (const KernelCase &kernelCase : cases) {
      TestKernel kernel(kernelCase.text);
      ASSERT_TRUE(kernel.load(GetParam()));
      for (const Sizes &these : sizes)
        checkCompany(kernel, kernelCase, these, "row",
                     {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 18, 25, 32, 64, 65, 128});
    }
  };
  const std::vector<Sizes> sizes = {{{"row", 11}}, {{"row", 37}}, {{"row", 150}}};
  const std::vector<Sizes> ofWords = {{{"row", 11}, {"candidate", 5}}, {{"row", 19}, {"candidate", 5}}};
  check(storedMatmulCases(), sizes);
  check(storedVocabularyCases(), ofWords);
  if (!GetParam().hasOwnFloatLinears())
    return;
  for (const auto &cases : {matmulCases(), cellCases()})
    check(cases, sizes);
  check(vocabularyCases(), ofWords);
}

/// Choices that have each word of each parameter once at least.
std::vector<attnc::ScheduleChoice> allWords() {
  std::vector<attnc::ScheduleChoice> choices;
  for (const attnc::ScheduleParameter &parameter : attnc::scheduleParameters()) {
    choices.resize(std::max(choices.size(), parameter.words.size()));
    for (size_t i = 0; i < choices.size(); ++i)
      choices[i][std::string(parameter.name)] = parameter.words[i % parameter.words.size()];
  }
  return choices;
}

/// Whatever is chosen, results have the bits that they have by rules.
void checkChoices(const KernelCase &kernelCase, const Variant &variant) {
  SCOPED_TRACE(kernelCase.name);
  TestKernel byRules(kernelCase.text), chosen(kernelCase.text);
  ASSERT_TRUE(byRules.load(variant));
  EXPECT_FALSE(byRules.isTuned());
  bool isTuned = false;
  for (const attnc::ScheduleChoice &choice : allWords()) {
    ASSERT_TRUE(chosen.load(variant, choice));
    isTuned |= chosen.isTuned();
    for (const Sizes &sizes : kernelCase.sizes) {
      const std::vector<Array> inputs = inputsOf(byRules, kernelCase, sizes, 11);
      const std::vector<Array> expected = byRules.run(inputs, sizes), actual = chosen.run(inputs, sizes);
      for (size_t i = 0; i < expected.size(); ++i)
        EXPECT_EQ(countDifferences(expected[i], actual[i]), 0)
            << "result " << i << " of " << attnc::choiceText(choice);
    }
  }
  EXPECT_TRUE(isTuned);
}

TEST_P(KernelTest, ChoicesChangeNoBits) {
  if (GetParam().asserts)
    GTEST_SKIP() << "these are the same schedules";
  checkChoices(caseCalled("linear_layer_norm_512", matmulCases()), GetParam());
  checkChoices(vocabularyCase(64, 3200, "top_k"), GetParam());
  checkChoices(cellCases().front(), GetParam());
}

TEST_P(KernelTest, StoredChoicesChangeNoBits) {
  if (GetParam().asserts)
    GTEST_SKIP() << "these are the same schedules";
  for (const char *name : {"int8_80x544", "bf16_80x544", "int8_128x32_norm"})
    checkChoices(caseCalled(name, storedMatmulCases()), GetParam());
}

/// With Halide's checks as well: what is chosen has bounds of its own.
TEST_P(KernelTest, AttentionChoicesChangeNoBits) {
  for (const char *name : {"attention_step_64", "attention_step_64_7_over_7"})
    checkChoices(caseCalled(name, attentionCases()), GetParam());
  if (GetParam().hasOwnFloatAttention())
    for (const char *name : {"attention_64_causal", "attention_80_padding"})
      checkChoices(caseCalled(name, attentionCases()), GetParam());
  if (GetParam().roundsRows())
    for (const char *name : {"attention_64_causal_rounded", "attention_documents_window_64_rounded"})
      checkChoices(caseCalled(name, roundedAttentionCases()), GetParam());
  else if (GetParam().hasOwnFloatAttention()) // what is widened first
    checkChoices(caseCalled("attention_64_padding_rounded_rounded_of_bf16", roundedAttentionCases()),
                 GetParam());
}

/// Large logits make the last bits of maxima and exponentials show. Each count of rows picks a class of
/// tiles; results and the panels' maxima and sums must have the same bits in all of them.
TEST_P(KernelTest, VocabularyRowsHaveTheSameBitsInEveryRowClass) {
  const int64_t most = 70;
  for (const KernelCase &kernelCase : narrowVocabularyCases()) {
    TestKernel kernel(kernelCase.text);
    ASSERT_TRUE(kernel.load(GetParam()));
    for (double size : {50.0, 5000.0}) {
      std::vector<Array> inputs = inputsOf(kernel, kernelCase, {{"row", most}}, 13);
      for (double &value : inputs[0].values)
        value = float(value * size);
      std::vector<Array> together = kernel.runWithScratch(inputs, {{"row", most}, {"candidate", 5}});
      for (int64_t rows : {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 32, 33, 64, 65}) {
        std::vector<Array> fewer = inputs;
        for (size_t argument : {0, 3}) // the rows, and the words that are picked
          if (argument < fewer.size())
            fewer[argument] = firstRows(inputs[argument], rows);
        std::vector<Array> alone = kernel.runWithScratch(fewer, {{"row", rows}, {"candidate", 5}});
        ASSERT_EQ(alone.size(), together.size());
        for (size_t i = 0; i < alone.size(); ++i)
          EXPECT_EQ(countDifferences(firstRows(together[i], rows), alone[i]), 0)
              << kernelCase.name << ", array " << i << " with " << rows << " rows, inputs up to " << size;
      }
    }
  }
}

/// The best words' log-probabilities are those that logits in memory give, so that a search may use either.
TEST_P(KernelTest, BestWordsHaveTheBitsOfTheirLogits) {
  const int64_t rows = 9, candidates = 5;
  for (auto [in, words] : {std::pair(20, 43), std::pair(272, 1010), std::pair(64, 3200)}) {
    KernelCase best = vocabularyCase(in, words, "top_k"), all = vocabularyCase(in, words, "log_sum_exp");
    TestKernel bestKernel(best.text), allKernel(all.text);
    ASSERT_TRUE(bestKernel.load(GetParam()) && allKernel.load(GetParam()));
    std::vector<Array> inputs = inputsOf(bestKernel, best, {{"row", rows}}, 17);
    for (double &value : inputs[0].values)
      value = float(value * 50);
    std::vector<Array> found = bestKernel.run(inputs, {{"row", rows}, {"candidate", candidates}});
    std::vector<Array> logits = allKernel.run(inputs, {{"row", rows}});
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t candidate = 0; candidate < candidates; ++candidate) {
        auto word = int64_t(found[1].values[found[1].at({row, candidate})]);
        float expected = float(logits[0].values[logits[0].at({row, word})]) - float(logits[1].values[row]);
        EXPECT_EQ(float(found[0].values[found[0].at({row, candidate})]), expected)
            << words << " words, row " << row << ", candidate " << candidate;
      }
  }
}

/// Words that the bias excludes, whole panels and tiles of them, count for nothing.
TEST_P(KernelTest, WordsWithABiasOfMinusInfinityHaveNoProbability) {
  for (const char *what : {"top_k", "pick"}) {
    const KernelCase kernelCase = vocabularyCase(64, 3200, what);
    TestKernel kernel(kernelCase.text);
    ASSERT_TRUE(kernel.load(GetParam()));
    for (int64_t rows : {1, 3, 37}) {
      const Sizes sizes = {{"row", rows}, {"candidate", 5}};
      std::vector<Array> inputs = inputsOf(kernel, kernelCase, sizes, 7);
      std::fill_n(inputs[2].values.begin() + 32, 400, -std::numeric_limits<double>::infinity());
      if (inputs.size() > 3) // the words that are picked
        for (double &word : inputs[3].values)
          word = word < 500 ? word + 500 : word;
      const Array expected = reference::interpret(kernel.op(), inputs, candidatesOf(sizes))[0];
      EXPECT_LE(largestDifference(expected, kernel.run(inputs, sizes)[0]), kernelCase.tolerance) << rows;
    }
  }
}

/// Nor queries on those after them: in a batch there are as many as the longest target has.
TEST_P(KernelTest, AttentionRowsDoNotDependOnTheirCompany) {
  for (const KernelCase &kernelCase : attentionCasesOf(GetParam())) {
    TestKernel kernel(kernelCase.text);
    ASSERT_TRUE(kernel.load(GetParam()));
    Sizes sizes = kernelCase.sizes.back();
    checkCompany(kernel, kernelCase, sizes, sizes.count("row") ? "row" : "batch");
    if (!sizes.count("query"))
      continue; // a step
    sizes["query"] = 76;
    if (sizes.count("key"))
      sizes["key"] = 140;
    checkCompany(kernel, kernelCase, sizes, "query", {1, 2, 3, 4, 7, 10, 13, 15, 21, 31, 32, 33, 64, 65});
  }
}

/// Of a few rows each task has a span of the keys, of more rows all of them: 513 keys are two spans, 8,192
/// sixteen, 8,300 thirteen.
TEST_P(KernelTest, LongStepsDoNotDependOnTheirCompany) {
  if (!GetParam().hasOwnFloatAttention() || GetParam().name == "baseline")
    GTEST_SKIP() << "the stage is that of avx2 or avx512";
  const std::map<std::string, int64_t> longest = {{"attention_step_64", 8192},
                                                  {"attention_step_64_bf16", 8300},
                                                  {"attention_step_64_7_over_7_bf16", 1400},
                                                  {"attention_step_64_20_over_4", 1400},
                                                  {"attention_step_64_window_140", 1400},
                                                  {"attention_step_96x160_bf16", 1400}};
  for (const auto &[name, most] : longest) {
    const KernelCase kernelCase = caseCalled(name, attentionCases());
    SCOPED_TRACE(name);
    TestKernel kernel(kernelCase.text);
    ASSERT_TRUE(kernel.load(GetParam()));
    mlir::Block &body = attn::KernelOp(kernel.op()).getBody().front();
    for (int64_t keys : {int64_t(513), most}) {
      const Sizes sizes = {{"row", 4}, {"slot", 4}, {"capacity", keys}, {"history", keys}};
      std::vector<Array> inputs = inputsOf(kernel, kernelCase, sizes, 11);
      inputs[4].values = {double(keys), 0, double(keys), double(keys - 1)};
      inputs[5].values = {double(keys) / 2, 0, 5, 300}; // of windows, which begin 140 keys before
      const Array together = kernel.run(inputs, sizes)[0];
      for (int64_t rows : {1, 3}) {
        std::vector<Array> fewer;
        for (auto [argument, input] : llvm::zip_equal(body.getArguments(), inputs))
          fewer.push_back(firstOf(input, argument.getType(), "row", rows));
        const Sizes these = {{"row", rows}, {"slot", 4}, {"capacity", keys}, {"history", keys}};
        const Array expected = firstOf(together, body.getTerminator()->getOperand(0).getType(), "row", rows);
        const Array alone = kernel.run(fewer, these)[0];
        setThreads(3);
        const Array shared = kernel.run(fewer, these)[0];
        setThreads(1);
        EXPECT_EQ(countDifferences(expected, alone), 0) << rows << " rows of " << keys << " keys";
        EXPECT_EQ(countDifferences(expected, shared), 0) << rows << " rows of " << keys << " keys, threads";
        const Array exact = reference::interpret(kernel.op(), fewer, 0)[0];
        EXPECT_LE(largestDifference(exact, alone), kernelCase.tolerance);
      }
    }
  }
}

TEST_P(KernelTest, ProductsDoNotDependOnTheirCompany) {
  for (const auto &cases : {productCases(), weightCases()})
    for (const KernelCase &kernelCase : cases) {
      TestKernel kernel(kernelCase.text);
      ASSERT_TRUE(kernel.load(GetParam()));
      for (int64_t keys : {20, 140}) { // less than a block of columns, and more
        const Sizes sizes = {{"batch", 3}, {"query", 76}, {"key", keys}};
        checkCompany(kernel, kernelCase, sizes, "batch", {1, 2});
        if (kernelCase.name != "weights_of_one_query")
          checkCompany(kernel, kernelCase, sizes, "query", {1, 2, 3, 4, 5, 7, 8, 9, 31, 63, 64, 65, 72});
      }
    }
}

/// A row of weights has the bits in a padded batch that it has alone, whatever the rests of both are.
TEST_P(KernelTest, WeightsDoNotDependOnPadding) {
  for (const KernelCase &kernelCase : weightCases()) {
    if (kernelCase.name == "weights_turned_keys")
      continue; // their keys lie along another axis
    SCOPED_TRACE(kernelCase.name);
    TestKernel kernel(kernelCase.text);
    ASSERT_TRUE(kernel.load(GetParam()));
    const int64_t padded = 77;
    const Sizes sizes = {{"batch", 1}, {"query", 5}, {"key", padded}};
    for (int64_t length : {1, 7, 15, 16, 17, 37, 64}) {
      std::vector<Array> inputs = kernel.randomInputs(sizes, {}, 3);
      inputs[2].values[0] = double(length);
      const Array withPadding = kernel.run(inputs, sizes)[0];
      mlir::Block &body = attn::KernelOp(kernel.op()).getBody().front();
      inputs[1] = firstOf(inputs[1], body.getArgument(1).getType(), "key", length);
      const Array alone = kernel.run(inputs, {{"batch", 1}, {"query", 5}, {"key", length}})[0];
      mlir::Type weights = body.getTerminator()->getOperand(0).getType();
      EXPECT_EQ(countDifferences(firstOf(withPadding, weights, "key", length), alone), 0) << length;
    }
  }
}

/// Where bounds alone hide keys, more queries share blocks than above.
TEST_P(KernelTest, ManyQueriesDoNotDependOnTheirCompany) {
  int64_t seen = 0;
  for (const KernelCase &kernelCase : roundedCasesOf(GetParam())) {
    llvm::StringRef name = kernelCase.name;
    if (!name.starts_with("attention_64_causal") && !name.starts_with("attention_64_padding") &&
        !name.starts_with("attention_window"))
      continue;
    ++seen;
    TestKernel kernel(kernelCase.text);
    ASSERT_TRUE(kernel.load(GetParam()));
    Sizes sizes = kernelCase.sizes.back();
    sizes["query"] = 300;
    if (sizes.count("key"))
      sizes["key"] = 513;
    checkCompany(kernel, kernelCase, sizes, "query", {64, 65, 128, 129, 256, 257});
  }
  EXPECT_GE(seen, GetParam().roundsRows() ? 3 : 0);
}

/// From 2,049 queries and keys on, several blocks of queries visit a block of keys together: a query has the
/// bits that it has in fewer queries, which are compared with the reference elsewhere; with threads and
/// without.
TEST_P(KernelTest, LongAttentionHasTheBitsOfShort) {
  const std::set<std::string> names = {"attention_20_padding", "attention_20_causal_padding",
                                       "attention_window_20_200_", "attention_documents_20"};
  size_t seen = 0;
  for (const auto &cases : {attentionCases(), scoreCases()})
    for (const KernelCase &kernelCase : cases) {
      Sizes sizes = kernelCase.sizes.front();
      if (!names.count(kernelCase.name) || !sizes.count("query"))
        continue;
      ++seen;
      TestKernel kernel(kernelCase.text);
      ASSERT_TRUE(kernel.load(GetParam()));
      sizes["batch"] = 1, sizes["query"] = 2100;
      if (sizes.count("key"))
        sizes["key"] = 2060;
      std::vector<Array> inputs = inputsOf(kernel, kernelCase, sizes, 5);
      std::vector<Array> serial = kernel.run(inputs, sizes);
      setThreads(3);
      std::vector<Array> parallel = kernel.run(inputs, sizes);
      setThreads(1);
      EXPECT_EQ(countDifferences(serial[0], parallel[0]), 0) << kernelCase.name;
      checkCompany(kernel, kernelCase, sizes, "query", {1, 2048, 2049, 2081});
    }
  EXPECT_EQ(seen, names.size());
}

/// Attention with padding: a sentence alone, without its padding, gives the bits it has in a padded batch.
TEST_P(KernelTest, AttentionDoesNotDependOnPadding) {
  std::vector<KernelCase> cases = roundedCasesOf(GetParam());
  llvm::append_range(cases, attentionCases());
  for (const KernelCase &kernelCase : cases) {
    llvm::StringRef name = kernelCase.name;
    if (!name.starts_with("attention_64_padding") && !name.starts_with("attention_20_padding"))
      continue;
    TestKernel kernel(kernelCase.text);
    ASSERT_TRUE(kernel.load(GetParam()));
    const int64_t length = 131, padded = 300, queries = 5;
    std::vector<Array> inputs =
        kernel.randomInputs({{"batch", 1}, {"query", queries}, {"key", padded}}, {}, 3);
    inputs[3].values[0] = double(length);
    std::vector<Array> withPadding = kernel.run(inputs, {{"batch", 1}, {"query", queries}, {"key", padded}});
    for (int i : {1, 2}) {
      Array shorter = reference::zeros({1, 2, length, inputs[i].extent(3)});
      for (int64_t h = 0; h < 2; ++h)
        for (int64_t k = 0; k < length; ++k)
          for (int64_t w = 0; w < shorter.extent(3); ++w)
            shorter.values[shorter.at({0, h, k, w})] = inputs[i].values[inputs[i].at({0, h, k, w})];
      inputs[i] = shorter;
    }
    std::vector<Array> alone = kernel.run(inputs, {{"batch", 1}, {"query", queries}, {"key", length}});
    EXPECT_EQ(countDifferences(withPadding[0], alone[0]), 0);
  }
}

const std::vector<double> paddedLengths = {300, 299, 257, 131, 128, 127, 33, 32, 31, 1, 0};

/// Fills keys or values that lie at or past each row's length with numbers that every product keeps.
void fillPast(const std::vector<double> &lengths, Array &read, size_t keyAxis) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const double filling[] = {std::numeric_limits<double>::quiet_NaN(), infinity, -infinity};
  int64_t ofKey = 1;
  for (size_t axis = keyAxis + 1; axis < read.shape.size(); ++axis)
    ofKey *= read.extent(int(axis));
  for (int64_t i = 0; i < read.size(); ++i)
    if (i / ofKey % read.extent(int(keyAxis)) >= int64_t(lengths[i * read.extent(0) / read.size()]))
      read.values[i] = filling[i % 3];
}

/// What a key or value past a row's length holds, here numbers that every product keeps, is for nobody: not
/// in the last tile of keys, whose other rows count, nor in whole tiles and blocks, nor where a row is empty.
TEST_P(KernelTest, WhatLiesInThePaddingDoesNotLeak) {
  const std::vector<double> &lengths = paddedLengths;
  std::vector<KernelCase> cases = roundedCasesOf(GetParam());
  llvm::append_range(cases, attentionCases());
  int64_t seen = 0;
  for (const KernelCase &kernelCase : cases) {
    SCOPED_TRACE(kernelCase.name);
    if (!llvm::StringRef(kernelCase.name).contains("_padding"))
      continue;
    ++seen;
    TestKernel kernel(kernelCase.text);
    ASSERT_TRUE(kernel.load(GetParam()));
    const bool isCausal = !kernelCase.sizes.front().count("key");
    const Sizes sizes = {{"batch", int64_t(lengths.size())}, {"query", isCausal ? 300 : 35}, {"key", 300}};
    std::vector<Array> inputs = kernel.randomInputs(sizes, {}, 3);
    inputs[3].values = lengths;
    const std::vector<Array> expected = kernel.run(inputs, sizes);
    for (size_t argument : {1, 2}) // keys and values: batch x head x key x width
      fillPast(lengths, inputs[argument], 2);
    EXPECT_EQ(countDifferences(expected[0], kernel.run(inputs, sizes)[0]), 0); // no NaN equals another
  }
  EXPECT_GE(seen, GetParam().roundsRows() ? 14 : 8);
}

/// The same of a step, whose rows have a slot each.
TEST_P(KernelTest, WhatLiesPastAStepsKeysDoesNotLeak) {
  int64_t seen = 0;
  for (const KernelCase &kernelCase : attentionCases()) {
    SCOPED_TRACE(kernelCase.name);
    if (!llvm::StringRef(kernelCase.name).starts_with("attention_step_"))
      continue;
    ++seen;
    TestKernel kernel(kernelCase.text);
    ASSERT_TRUE(kernel.load(GetParam()));
    const int64_t rows = int64_t(paddedLengths.size());
    const Sizes sizes = {{"row", rows}, {"slot", rows}, {"capacity", 300}, {"history", 300}};
    std::vector<Array> inputs = kernel.randomInputs(sizes, {}, 3);
    Array &ancestors = inputs[3];
    for (int64_t i = 0; i < ancestors.size(); ++i)
      ancestors.values[i] = double(i / ancestors.extent(1));
    inputs[4].values = inputs[5].values = paddedLengths;
    const std::vector<Array> expected = kernel.run(inputs, sizes);
    for (size_t argument : {1, 2}) // keys and values: slot x key x head x width
      fillPast(paddedLengths, inputs[argument], 1);
    EXPECT_EQ(countDifferences(expected[0], kernel.run(inputs, sizes)[0]), 0);
  }
  EXPECT_EQ(seen, 24);
}

/// Rows whose window begins at or past their last key see none, and read nothing, whatever a thread's stack
/// holds: that of a new one is zero.
TEST_P(KernelTest, WindowsPastTheLastKeyReadNothing) {
  int64_t seen = 0;
  for (const KernelCase &kernelCase : attentionCases()) {
    SCOPED_TRACE(kernelCase.name);
    if (!llvm::StringRef(kernelCase.name).starts_with("attention_step_64_window_5"))
      continue;
    ++seen;
    TestKernel kernel(kernelCase.text);
    ASSERT_TRUE(kernel.load(GetParam()));
    const Sizes sizes = {{"row", 4}, {"slot", 4}, {"capacity", 60}, {"history", 60}};
    std::vector<Array> inputs = kernel.randomInputs(sizes, {}, 3);
    inputs[4].values = {3, 5, 40, 41};
    inputs[5].values = {10, 10, 50, 47}; // windows begin at 5, 5, 45 and 42
    std::vector<Array> results;
    std::thread([&] { results = kernel.run(inputs, sizes); }).join();
    for (double number : results[0].values)
      EXPECT_EQ(number, 0);
  }
  EXPECT_EQ(seen, 2);
}

TEST_P(KernelTest, ResultsDoNotDependOnThreads) {
  for (const auto &cases :
       {matmulCases(), attentionCases(), roundedCasesOf(GetParam()), scoreCases(), headCases(),
        vocabularyCases(), rowCases(), cellCases(), storedMatmulCases(), storedVocabularyCases()}) {
    const KernelCase &kernelCase = cases.front();
    TestKernel kernel(kernelCase.text);
    ASSERT_TRUE(kernel.load(GetParam()));
    const Sizes &sizes = kernelCase.sizes.back();
    std::vector<Array> inputs = inputsOf(kernel, kernelCase, sizes, 5);
    std::vector<Array> serial = kernel.run(inputs, sizes);
    setThreads(3);
    std::vector<Array> parallel = kernel.run(inputs, sizes);
    setThreads(1);
    for (size_t i = 0; i < serial.size(); ++i)
      EXPECT_EQ(countDifferences(serial[i], parallel[i]), 0) << kernelCase.name;
  }
}

/// Rows of one, three and more rows, widths that fill up no vector: each byte is the nearest, and a row of
/// zeros stays one.
TEST_P(KernelTest, QuantisedRowsAreNearest) {
  for (int width : {4, 20, 64, 72, 513}) {
    std::string x = "tensor<?x" + std::to_string(width) + "xf32, #attn.axes<row, width>>";
    int stored = (width + 63) / 64 * 64;
    std::string bytes = "tensor<?x" + std::to_string(stored) + "xui8, #attn.axes<row, width>>";
    std::string scales = "tensor<?x2xf32, #attn.axes<row, width>>";
    TestKernel kernel("attn.kernel @k {\n^bb0(%x: " + x + "):\n  %0:2 = attn.quantise %x : (" + x + ") -> (" +
                      bytes + ", " + scales + ")\n  attn.yield %0#0, %0#1 : " + bytes + ", " + scales +
                      "\n}\n");
    ASSERT_TRUE(kernel.load(GetParam()));
    for (int64_t rows : {1, 3, 37}) {
      std::vector<Array> inputs = kernel.randomInputs({{"row", rows}}, {}, 17);
      for (int64_t w = 0; w < width && rows > 1; ++w)
        inputs[0].values[w] = 0;
      std::vector<Array> actual = kernel.run(inputs, {{"row", rows}});
      setThreads(3);
      std::vector<Array> parallel = kernel.run(inputs, {{"row", rows}});
      setThreads(1);
      EXPECT_EQ(actual[0].values, parallel[0].values);
      EXPECT_EQ(actual[1].values, parallel[1].values);
      std::vector<Array> expected = reference::interpret(kernel.op(), inputs, 0);
      for (int64_t row = 0; row < rows; ++row) {
        double scale = actual[1].values[2 * row], zero = actual[1].values[2 * row + 1];
        EXPECT_NEAR(scale, expected[1].values[2 * row],
                    std::ldexp(scale, -22));                            // a difference and a quotient
        EXPECT_LE(std::abs(zero - expected[1].values[2 * row + 1]), 1); // a tie may fall either way
        for (int64_t w = 0; w < width; ++w) {
          double byte = actual[0].values[row * stored + w], value = inputs[0].values[row * width + w];
          // Half a step each for the element and where a tie of both ends at 256; and what the scale, its
          // inverse and the product are rounded by: 4 * 2^-24 of 255.
          bool isEnd = byte == 255;
          EXPECT_LE(std::abs((byte - zero) * scale - value),
                    scale * ((isEnd ? 1 : 0.5) + 4 * 255 * std::ldexp(1.0, -24)))
              << "width " << width << ", row " << row << ", column " << w;
        }
      }
    }
  }
}

/// -1 and 254 have the scale 1 and 1 for 0: half a step lies between two bytes, of which the even one is
/// taken.
TEST_P(KernelTest, TiesOfQuantisedRowsAreEven) {
  std::string x = "tensor<?x64xf32, #attn.axes<row, width>>",
              bytes = "tensor<?x64xui8, #attn.axes<row, width>>",
              scales = "tensor<?x2xf32, #attn.axes<row, width>>";
  TestKernel kernel("attn.kernel @k {\n^bb0(%x: " + x + "):\n  %0:2 = attn.quantise %x : (" + x + ") -> (" +
                    bytes + ", " + scales + ")\n  attn.yield %0#0, %0#1 : " + bytes + ", " + scales +
                    "\n}\n");
  ASSERT_TRUE(kernel.load(GetParam()));
  Array input = reference::zeros({1, 64});
  const std::vector<std::pair<double, double>> expected = {{-1, 0},  {254, 255}, {-0.5, 0}, {0, 1},
                                                           {0.5, 2}, {1.5, 2},   {2.5, 4},  {100.5, 102}};
  for (size_t i = 0; i < expected.size(); ++i)
    input.values[i] = expected[i].first;
  std::vector<Array> actual = kernel.run({input}, {{"row", 1}});
  EXPECT_EQ(actual[1].values, (std::vector<double>{1, 1}));
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ(actual[0].values[i], expected[i].second) << expected[i].first;
  EXPECT_EQ(reference::interpret(kernel.op(), {input}, 0)[0].values, actual[0].values);
}

/// What attnrt_pool_create_on_host() promises hosts, and what this program needs to call a kernel.
constexpr size_t PromisedStack = 512 << 10, OwnStack = 64 << 10;

void runOnThreadOf(size_t stack, std::function<void()> work) {
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, stack), 0);
  auto run = [](void *work) -> void * {
    (*static_cast<std::function<void()> *>(work))();
    return nullptr;
  };
  pthread_t thread;
  ASSERT_EQ(pthread_create(&thread, &attributes, run, &work), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

/// Attention, whose blocks of queries take most, by rules and with as many of them as may be chosen. A
/// task may have several from 2,049 on, of bfloat16 from 33.
TEST_P(KernelTest, AttentionFitsThePromisedStack) {
  int64_t seen = 0;
  for (const auto &cases : {attentionCases(), roundedCasesOf(GetParam())})
    for (const KernelCase &kernelCase : cases) {
      llvm::StringRef name = kernelCase.name;
      const bool isWidened = !GetParam().roundsRows() && name == "attention_128_padding_rounded_of_bf16";
      const bool takesMost = name.starts_with("attention_64_causal") ||
                             name.starts_with("attention_128_padding") ||
                             name.starts_with("attention_step_96x160") || name.starts_with("attention_alibi");
      if (!isWidened && (!takesMost || name.ends_with("_of_bf16")))
        continue;
      ++seen;
      for (const attnc::ScheduleChoice &choice : {attnc::ScheduleChoice(), {{"query_blocks", "8"}}}) {
        TestKernel kernel(kernelCase.text);
        ASSERT_TRUE(kernel.load(GetParam(), choice));
        const int64_t many = name.contains("_rounded") && GetParam().roundsRows() ? 300 : 2049;
        Sizes sizes = kernelCase.sizes.back();
        sizes["batch"] = 1, sizes["query"] = many;
        if (sizes.count("row"))
          sizes["row"] = 1; // a step, whose spans of keys take most
        if (sizes.count("key"))
          sizes["key"] = many;
        std::vector<Array> inputs = inputsOf(kernel, kernelCase, sizes, 5);
        runOnThreadOf(PromisedStack + OwnStack, [&] { kernel.run(inputs, sizes); });
      }
    }
  EXPECT_GE(seen, GetParam().roundsRows() ? 3 : 2);
}

bool isOfSanitizer(llvm::StringRef symbol) {
  return symbol.starts_with("__asan_") || symbol.starts_with("__tsan_");
}

/// Kernels call the pool and nothing else: no allocation, no libm. Bounds-checked ones also report errors.
TEST_P(KernelTest, ObjectsNeedOnlyThePool) {
  if (GetParam().asserts)
    GTEST_SKIP() << "checked kernels call halide_error_...";
  std::vector<std::vector<KernelCase>> all = {attentionCasesOf(GetParam()), headCases(), rowCases(),
                                              storedMatmulCases(), storedVocabularyCases()};
  if (GetParam().hasOwnFloatLinears())
    all.insert(all.end(), {matmulCases(), vocabularyCases(), cellCases()});
  for (const auto &cases : all)
    for (const KernelCase &kernelCase : cases) {
      TestKernel kernel(kernelCase.text);
      ASSERT_TRUE(kernel.load(GetParam()));
      for (const std::string &symbol : kernel.undefinedSymbols())
        EXPECT_TRUE(symbol == "halide_do_par_for" || symbol == "memset" || symbol == "memcpy" ||
                    llvm::StringRef(symbol).starts_with("attnc_") || isOfSanitizer(symbol))
            << kernelCase.name << " needs " << symbol;
    }
}

TEST(CompileKernelTest, UnknownTargetIsAnError) {
  KernelCase kernelCase = rowCases().front();
  TestKernel kernel(kernelCase.text);
  llvm::Expected<bool> compiled =
      attnc::compileKernel(kernel.op(), {"x86-65-linux", false}, "k", "/dev/null");
  EXPECT_EQ(llvm::toString(compiled.takeError()), "'x86-65-linux' is not a Halide target");
}

TEST(CompileKernelTest, OperationWithoutKernelIsAnError) {
  const std::string x = "tensor<4x8xf32, #attn.axes<row, width>>",
                    best = "tensor<4x?xf32, #attn.axes<row, candidate>>";
  TestKernel kernel("attn.kernel @k {\n^bb0(%x: " + x + "):\n  %0:2 = attn.top_k %x : (" + x + ") -> (" +
                    best + ", tensor<4x?xi32, #attn.axes<row, candidate>>)\n  attn.yield %0#0 : " + best +
                    "\n}\n");
  ASSERT_TRUE(kernel.op());
  llvm::Expected<bool> compiled =
      attnc::compileKernel(kernel.op(), {"x86-64-linux", false}, "k", "/dev/null");
  EXPECT_EQ(llvm::toString(compiled.takeError()), "'attn.top_k' needs the linear and log_softmax before it");
}

TEST(CompileKernelTest, UnwritableObjectIsAnError) {
  KernelCase kernelCase = rowCases().front();
  TestKernel kernel(kernelCase.text);
  llvm::Expected<bool> compiled =
      attnc::compileKernel(kernel.op(), {"x86-64-linux", false}, "k", "/no/such/folder/k.o");
  EXPECT_FALSE(static_cast<bool>(compiled));
  llvm::consumeError(compiled.takeError());
}

INSTANTIATE_TEST_SUITE_P(Variants, KernelTest, testing::ValuesIn(runnableVariants()),
                         [](const auto &info) { return info.param.name; });

} // namespace
