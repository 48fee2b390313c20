//===- KernelTest.cpp - every kernel under every schedule against the oracle ---===//
// SPDX-License-Identifier: Apache-2.0
//
// One test per archetype and variant; the cases are in KernelCases.cpp.

#include "tests/kernels/KernelCases.h"
#include "tests/reference/Interpret.h"

#include <gtest/gtest.h>

using namespace attnc::test;
using reference::Array;

namespace {

class KernelTest : public testing::TestWithParam<Variant> {};

std::vector<Array> inputsOf(const TestKernel &kernel, const KernelCase &kernelCase, const Sizes &sizes, unsigned seed) {
  std::map<int, int64_t> limits = kernelCase.idLimits;
  // Inclusive of the extent itself for lengths: 0 (masked everywhere) up to all keys.
  for (auto &[argument, size] : kernelCase.idSizes)
    limits[argument] = sizes.at(size);
  return kernel.randomInputs(sizes, limits, seed);
}

int64_t candidatesOf(const Sizes &sizes) {
  auto found = sizes.find("candidate");
  return found == sizes.end() ? 0 : found->second;
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
      for (size_t i = 0; i < expected.size(); ++i)
        EXPECT_LE(largestDifference(expected[i], actual[i]), kernelCase.tolerance) << "result " << i << " at " << at;
    }
  }
}

TEST_P(KernelTest, MatmulEqualsReference) { checkCases(matmulCases(), GetParam()); }
TEST_P(KernelTest, AttentionEqualsReference) { checkCases(attentionCases(), GetParam()); }
TEST_P(KernelTest, VocabularyEqualsReference) { checkCases(vocabularyCases(), GetParam()); }
TEST_P(KernelTest, RowsEqualReference) { checkCases(rowCases(), GetParam()); }

INSTANTIATE_TEST_SUITE_P(Variants, KernelTest, testing::ValuesIn(runnableVariants()),
                         [](const auto &info) { return info.param.name; });

} // namespace
