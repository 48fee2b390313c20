//===- CpuTargetTest.cpp - what variants link is what schedules call --------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/schedules/CpuTarget.h"
#include "compiler/emit/CpuVariant.h"

#include "gtest/gtest.h"

using namespace attnc;

namespace {

/// As schedules see a variant.
CpuTarget describe(const CpuVariant &variant) {
  std::string halide = halidesTarget(variant.target);
  return describeCpu(Halide::Target(halide), halide != variant.target);
}

bool sums(const CpuTarget &cpu, CpuClass kind, ByteSums how) {
  return cpu.kind == kind && cpu.byteSums == how && !cpu.hasMatrixTiles;
}

TEST(CpuTarget, VariantsLinkWhatSchedulesCall) {
  const char *targets[] = {"x86-64,avx2,avxvnni,avx512,cascadelake,vnni,zen4,zen5,amx",
                           "x86-64-linux-avxvnni",
                           "x86-64-linux-avx2-avxvnni",
                           "x86-64-linux-avx2-fma-avxvnni-avx512_cannonlake",
                           "x86-64-linux-avx2-fma-avxvnni-avx512_skylake",
                           "x86-64-linux-avx2-fma-avx512_vnni",
                           "x86-64-linux-avx512_skylake",
                           "x86-64-linux-avx512_zen4-avx512_vnni",
                           "x86-64-linux-avx512_skylake-avx512_sapphirerapids",
                           "x86-64-linux-avx2-fma-avx512_sapphirerapids",
                           "x86-64-linux-avx512_sapphirerapids-avx512_zen4-tune_znver4",
                           "x86-64-linux-avx2-fma-tune_znver5"};
  for (const char *list : targets)
    for (const CpuVariant &variant : llvm::cantFail(parseTargets(list))) {
      SCOPED_TRACE(variant.target);
      CpuTarget cpu = describe(variant);
      EXPECT_EQ(hasMatrixTiles(variant), cpu.hasMatrixTiles);
      EXPECT_EQ(hasFastPairs(variant), cpu.isZen4);
      EXPECT_EQ(hasNarrowVectors(variant), cpu.hasNarrowVectors());
      EXPECT_EQ(hasWideVectors(variant), cpu.kind == CpuClass::Avx512);
      EXPECT_EQ(hasByteVectors(variant), sums(cpu, CpuClass::Avx2, ByteSums::Split));
      EXPECT_EQ(hasByteDots(variant), sums(cpu, CpuClass::Avx2, ByteSums::Dots));
      EXPECT_EQ(hasWideByteVectors(variant), sums(cpu, CpuClass::Avx512, ByteSums::Split));
      EXPECT_EQ(hasWideByteDots(variant), sums(cpu, CpuClass::Avx512, ByteSums::Dots));
    }
}

} // namespace
