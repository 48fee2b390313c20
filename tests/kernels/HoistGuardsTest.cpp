//===- HoistGuardsTest.cpp - what is skipped takes no work ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Looks at lowered code: the loops over blocks and tiles of keys begin with the condition that some query
// sees one of their keys (where several blocks of queries visit them, the loops over these), those over
// panels of a vocabulary with the one that a panel may hold one of the best words. Then at results: keys and
// values that are not read cannot spoil them.

#include "compiler/schedules/cpu/HoistGuards.h"
#include "compiler/schedules/KernelPipeline.h"
#include "tests/kernels/KernelCases.h"

#include <gtest/gtest.h>

#include <limits>

using namespace attnc;
using namespace attnc::test;

namespace {

class LoopCounter : public Halide::Internal::IRVisitor {
public:
  int loops = 0, guarded = 0;

private:
  using IRVisitor::visit;
  void visit(const Halide::Internal::For *loop) override {
    if (isNamed(loop)) {
      ++loops;
      const Halide::Internal::Stmt body = withoutLets(loop->body);
      const auto *inner = body.as<Halide::Internal::For>();
      guarded += (inner && isNamed(inner)) || loop->body.as<Halide::Internal::IfThenElse>();
    }
    IRVisitor::visit(loop);
  }

  static bool isNamed(const Halide::Internal::For *loop) {
    return loop->name.find(GuardedLoop) != loop->name.npos;
  }

  static Halide::Internal::Stmt withoutLets(Halide::Internal::Stmt body) {
    while (const auto *let = body.as<Halide::Internal::LetStmt>())
      body = let->body;
    return body;
  }
};

constexpr const char *Narrow = "x86-64-linux", *Wide = "x86-64-linux-avx-avx2-f16c-fma-sse41";

/// The number of loops, each of which is expected to begin with its guard.
int expectGuards(const KernelCase &kernelCase, const char *target) {
  TestKernel kernel(kernelCase.text);
  Halide::Target parsed(target);
  auto pipeline = buildKernelPipeline(kernel.op(), describeCpu(parsed));
  if (!pipeline) {
    ADD_FAILURE() << llvm::toString(pipeline.takeError());
    return 0;
  }
  Halide::Pipeline whole(pipeline->outputs);
  whole.add_custom_lowering_pass(makeHoistGuards().release());
  LoopCounter counter;
  for (const auto &function : whole.compile_to_module(pipeline->arguments, "k", parsed).functions())
    function.body.accept(&counter);
  EXPECT_EQ(counter.guarded, counter.loops);
  return counter.loops;
}

/// Causal masks read no memory: Halide itself skips for them. Nor do loops over tiles begin with a guard
/// where only blocks are looked at, as for `attn.add`.
bool isMaskedAttention(const std::string &text) {
  auto has = [&](const char *part) { return text.find(part) != text.npos; };
  bool isAttention = text.find("attn.matmul") != text.rfind("attn.matmul"); // with keys, then with values
  return isAttention && (has("attn.padding_mask") || has("attn.window_mask"));
}

/// Conditions at further widths: lowering takes seconds, and the loops are the same.
bool isRepeated(const std::string &name) {
  bool isCondition = name.rfind("attention_condition_", 0) == 0 || name.rfind("attention_documents_", 0) == 0;
  return isCondition && name.find("_20") == name.npos;
}

TEST(HoistGuardsTest, LoopsOverKeysBeginWithTheirGuard) {
  int cases = 0, withLoops = 0;
  for (const std::vector<KernelCase> &all : {attentionCases(), scoreCases(), graphAttentionCases()})
    for (const KernelCase &kernelCase : all)
      if (isMaskedAttention(kernelCase.text) && !isRepeated(kernelCase.name)) {
        SCOPED_TRACE(kernelCase.name);
        ++cases;
        EXPECT_GT(expectGuards(kernelCase, Narrow), 0);
        withLoops += expectGuards(kernelCase, Wide) > 0;
      }
  EXPECT_GT(cases, 10);
  EXPECT_GT(withLoops, 10); // an external stage attends to a step of most widths
}

TEST(HoistGuardsTest, LoopsOverPanelsBeginWithTheirGuard) {
  std::vector<KernelCase> cases = {vocabularyCase(272, 1010, "top_k"), vocabularyCase(20, 100, "top_k")};
  for (KernelCase &stored : storedVocabularyCases())
    if (stored.text.find("attn.top_k") != stored.text.npos)
      cases.push_back(std::move(stored));
  for (const KernelCase &kernelCase : cases) {
    SCOPED_TRACE(kernelCase.name);
    for (const char *target : {Narrow, Wide})
      EXPECT_GT(expectGuards(kernelCase, target), 0);
  }
}

/// Keys that no query sees, for those of the first document as well.
constexpr int64_t FirstUnseen = 256;

/// All cases with masks that are looked at before the scores.
std::vector<KernelCase> lookedAtCases() {
  std::vector<KernelCase> found;
  for (const KernelCase &kernelCase : scoreCases())
    for (const char *name :
         {"attention_condition_", "attention_added_", "attention_documents_", "attention_selected_"})
      if (kernelCase.name.rfind(name, 0) == 0)
        found.push_back(kernelCase);
  return found;
}

/// Inputs of 7 queries in the first positions; a step's query is the first one.
std::vector<reference::Array> firstQueries(const TestKernel &kernel, const KernelCase &kernelCase,
                                           Sizes &sizes) {
  sizes = {{"batch", 1}, {"key", 513}};
  if (kernelCase.sizes.front().count("query"))
    sizes["query"] = 7;
  std::vector<reference::Array> inputs = inputsOf(kernel, kernelCase, sizes, 9);
  for (auto &[argument, size] : kernelCase.idSizes)
    std::fill(inputs[size_t(argument)].values.begin(), inputs[size_t(argument)].values.end(), 0);
  return inputs;
}

class SkippingTest : public testing::TestWithParam<Variant> {};

TEST_P(SkippingTest, BlocksThatNobodySeesAreNotRead) {
  for (const KernelCase &kernelCase : lookedAtCases()) {
    SCOPED_TRACE(kernelCase.name);
    TestKernel kernel(kernelCase.text);
    ASSERT_TRUE(kernel.load(GetParam()));
    Sizes sizes;
    std::vector<reference::Array> inputs = firstQueries(kernel, kernelCase, sizes);
    std::vector<double> expected = kernel.run(inputs, sizes)[0].values;
    for (size_t argument : {1, 2}) { // keys and values: batch x head x key x width
      reference::Array &read = inputs[argument];
      for (int64_t i = 0; i < read.size(); ++i)
        if (int64_t key = i / read.extent(3) % read.extent(2); key >= FirstUnseen && key < HiddenKeysEnd)
          read.values[size_t(i)] = std::numeric_limits<double>::quiet_NaN();
    }
    EXPECT_EQ(kernel.run(inputs, sizes)[0].values, expected); // no NaN equals another
  }
}

/// A condition that reads the score is not known before it: no block is skipped. Of a step, heads are side by
/// side then, and the compiler may add in another order.
TEST_P(SkippingTest, SkippedBlocksChangeNoBit) {
  const std::string decided = "    %result = arith.select %isSeen,";
  int cases = 0;
  for (const KernelCase &kernelCase : lookedAtCases()) {
    std::string text = kernelCase.text;
    size_t place = text.find(decided);
    if (place == text.npos)
      continue;
    ++cases;
    SCOPED_TRACE(kernelCase.name);
    text.replace(place, decided.size(), R"(    %huge = arith.constant 1.0e20 : f32
    %isScore = arith.cmpf olt, %score, %huge : f32
    %isSeenLater = arith.andi %isSeen, %isScore : i1
    %result = arith.select %isSeenLater,)");
    TestKernel kernel(kernelCase.text), whole(text);
    ASSERT_TRUE(kernel.load(GetParam()) && whole.load(GetParam()));
    for (const Sizes &sizes : kernelCase.sizes) {
      std::vector<reference::Array> inputs = inputsOf(kernel, kernelCase, sizes, 7);
      reference::Array skipping = kernel.run(inputs, sizes)[0], expected = whole.run(inputs, sizes)[0];
      bool isStep = kernelCase.sizes.front().count("query") == 0;
      EXPECT_LE(largestDifference(skipping, expected), isStep ? 2 * kernelCase.tolerance : 0);
    }
  }
  EXPECT_GT(cases, 5);
}

INSTANTIATE_TEST_SUITE_P(Variants, SkippingTest, testing::ValuesIn(runnableVariants()),
                         [](const auto &info) { return info.param.name; });

} // namespace
