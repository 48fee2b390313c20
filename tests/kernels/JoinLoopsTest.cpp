//===- JoinLoopsTest.cpp - rows are read once -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Looks at lowered code: both results of a quantised row come from one loop over groups of rows, also where
// rows are filled up, which is a stage of its own. What the loops compute is tested with the kernels.

#include "compiler/schedules/cpu/JoinLoops.h"
#include "compiler/schedules/KernelPipeline.h"
#include "tests/kernels/KernelHarness.h"

#include <gtest/gtest.h>

#include <array>

using namespace attnc;
using namespace attnc::test;

namespace {

std::string quantise(int width, int stored) {
  auto rows = [](int width, const char *type) {
    return "tensor<?x" + std::to_string(width) + "x" + type + ", #attn.axes<row, width>>";
  };
  std::string x = rows(width, "f32"), bytes = rows(stored, "ui8"), scales = rows(2, "f32");
  return "attn.kernel @k {\n^bb0(%x: " + x + "):\n  %0:2 = attn.quantise %x : (" + x + ") -> (" + bytes +
         ", " + scales + ")\n  attn.yield %0#0, %0#1 : " + bytes + ", " + scales + "\n}\n";
}

int countParallelLoops(const std::string &text, bool joins) {
  TestKernel kernel(text);
  Halide::Target target("x86-64-linux-avx-avx2-f16c-fma-sse41");
  auto pipeline = buildKernelPipeline(kernel.op(), describeCpu(target));
  if (!pipeline) {
    ADD_FAILURE() << llvm::toString(pipeline.takeError());
    return 0;
  }
  Halide::Pipeline whole(pipeline->outputs);
  if (joins)
    whole.add_custom_lowering_pass(makeJoinLoops().release());
  int loops = 0; // each has a function of its own
  for (const auto &function : whole.compile_to_module(pipeline->arguments, "k", target).functions())
    loops += function.name.find("_par_for_") != function.name.npos;
  return loops;
}

TEST(JoinLoopsTest, QuantisedRowsAreOneLoop) {
  for (auto [width, stored, loops] : {std::array{64, 64, 2}, {513, 576, 3}}) {
    SCOPED_TRACE(width);
    EXPECT_EQ(countParallelLoops(quantise(width, stored), false), loops);
    EXPECT_EQ(countParallelLoops(quantise(width, stored), true), 1);
  }
}

} // namespace
