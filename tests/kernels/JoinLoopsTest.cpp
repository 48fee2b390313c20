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

int countParallelLoops(Halide::Pipeline whole, const std::vector<Halide::Argument> &arguments, bool joins) {
  if (joins)
    whole.add_custom_lowering_pass(makeJoinLoops().release());
  Halide::Target target("x86-64-linux-avx-avx2-f16c-fma-sse41-no_asserts");
  int loops = 0; // each has a function of its own
  for (const auto &function : whole.compile_to_module(arguments, "k", target).functions())
    loops += function.name.find("_par_for_") != function.name.npos;
  return loops;
}

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
  auto pipeline = buildKernelPipeline(kernel.op(), describeCpu(Halide::Target("x86-64-linux-avx2")));
  if (!pipeline) {
    ADD_FAILURE() << llvm::toString(pipeline.takeError());
    return 0;
  }
  return countParallelLoops(Halide::Pipeline(pipeline->outputs), pipeline->arguments, joins);
}

TEST(JoinLoopsTest, QuantisedRowsAreOneLoop) {
  for (auto [width, stored, loops] : {std::array{64, 64, 2}, {513, 576, 3}}) {
    SCOPED_TRACE(width);
    EXPECT_EQ(countParallelLoops(quantise(width, stored), false), loops);
    EXPECT_EQ(countParallelLoops(quantise(width, stored), true), 1);
  }
}

/// Two results, each in groups of its own.
int countLoops(const std::string &name, int firstGroup, int secondGroup) {
  Halide::ImageParam input(Halide::Float(32), 1);
  Halide::Func first("first"), second("second");
  Halide::Var i("i"), group(name), inGroup("inGroup");
  first(i) = input(i) + 1;
  second(i) = first(i) * 2;
  first.compute_root().bound(i, 0, 128).split(i, group, inGroup, firstGroup).parallel(group);
  second.compute_root().bound(i, 0, 128).split(i, group, inGroup, secondGroup).parallel(group);
  return countParallelLoops(Halide::Pipeline({first, second}), {input}, true);
}

TEST(JoinLoopsTest, OtherLoopsStayApart) {
  EXPECT_EQ(countLoops(JoinedLoop, 16, 16), 1);
  EXPECT_EQ(countLoops(JoinedLoop, 16, 32), 2);
  EXPECT_EQ(countLoops("disjoined", 16, 16), 2);
}

} // namespace
