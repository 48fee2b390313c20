//===- SkipMaskedKeysTest.cpp - masked keys take no work --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Looks at lowered code: the loops over blocks and tiles of keys begin with the condition that some query
// sees one of their keys. How Halide names loops is part of that.

#include "compiler/schedules/cpu/SkipMaskedKeys.h"
#include "compiler/schedules/KernelPipeline.h"
#include "tests/kernels/KernelCases.h"

#include <gtest/gtest.h>

using namespace attnc;
using namespace attnc::test;

namespace {

class LoopCounter : public Halide::Internal::IRVisitor {
public:
  int loops = 0, guarded = 0;

private:
  using IRVisitor::visit;
  void visit(const Halide::Internal::For *loop) override {
    if (loop->name.find("blocks$x") != loop->name.npos || loop->name.find("scored$y") != loop->name.npos) {
      ++loops;
      guarded += loop->body.as<Halide::Internal::IfThenElse>() != nullptr;
    }
    IRVisitor::visit(loop);
  }
};

void expectGuards(const KernelCase &kernelCase, const char *target) {
  TestKernel kernel(kernelCase.text);
  Halide::Target parsed(target);
  auto pipeline = buildKernelPipeline(kernel.op(), describeCpu(parsed));
  ASSERT_TRUE(bool(pipeline)) << llvm::toString(pipeline.takeError());
  Halide::Pipeline whole(pipeline->outputs);
  whole.add_custom_lowering_pass(makeSkipMaskedKeys().release());
  LoopCounter counter;
  for (const auto &function : whole.compile_to_module(pipeline->arguments, "k", parsed).functions())
    function.body.accept(&counter);
  EXPECT_GT(counter.loops, 0);
  EXPECT_EQ(counter.guarded, counter.loops);
}

/// Causal masks read no memory: Halide itself skips for them.
bool isMaskedAttention(const std::string &text) {
  auto has = [&](const char *part) { return text.find(part) != text.npos; };
  bool isAttention = text.find("attn.matmul") != text.rfind("attn.matmul"); // with keys, then with values
  return isAttention && (has("attn.padding_mask") || has("attn.window_mask"));
}

TEST(SkipMaskedKeysTest, LoopsOverKeysBeginWithTheirGuard) {
  int cases = 0;
  for (const std::vector<KernelCase> &all : {attentionCases(), scoreCases()})
    for (const KernelCase &kernelCase : all)
      if (isMaskedAttention(kernelCase.text)) {
        SCOPED_TRACE(kernelCase.name);
        ++cases;
        for (const char *target : {"x86-64-linux", "x86-64-linux-avx-avx2-f16c-fma-sse41"})
          expectGuards(kernelCase, target);
      }
  EXPECT_GT(cases, 10);
}

} // namespace
