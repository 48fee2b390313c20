//===- CpuTargetTest.cpp - classes of CPU -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/schedules/CpuTarget.h"
#include "compiler/emit/CpuVariant.h"

#include "gtest/gtest.h"

using namespace attnc;

namespace {

CpuTarget describe(const std::string &target) {
  const CpuVariant variant = llvm::cantFail(parseTargets(target)).front();
  const std::string halide = halidesTarget(variant.target);
  return describeCpu(Halide::Target(halide), halide != variant.target);
}

TEST(CpuTarget, NamedTargetsHaveTheirClasses) {
  const CpuTarget wide{.kind = CpuClass::Avx512, .lanes = 16};
  CpuTarget avx512 = wide, cascadelake = wide, amx = wide, zen4 = wide;
  avx512.byteSums = ByteSums::Split;
  cascadelake.byteSums = ByteSums::Dots;
  amx.hasMatrixTiles = true;
  zen4.hasFastPairs = true;
  zen4.reading = WeightReading::PanelByPanel;
  CpuTarget zen5 = zen4;
  zen5.reading = WeightReading::Ahead;
  const std::pair<const char *, CpuTarget> targets[] = {
      {"x86-64", {.kind = CpuClass::Baseline, .lanes = 4}},
      {"avx2", {.kind = CpuClass::Avx2, .lanes = 8, .byteSums = ByteSums::Split}},
      {"avxvnni", {.kind = CpuClass::Avx2, .lanes = 8, .byteSums = ByteSums::Dots}},
      {"avx512", avx512},
      {"cascadelake", cascadelake},
      {"vnni", wide},
      {"zen4", zen4},
      {"zen5", zen5},
      {"amx", amx}};
  for (const auto &[name, cpu] : targets)
    EXPECT_EQ(describe(name), cpu) << name;
}

// Kernels link what schedules name: of a class whose instructions a target lacks, that would crash.
TEST(CpuTarget, StringsOfFeaturesAreNoMoreThanTheySay) {
  EXPECT_EQ(describe("x86-64-linux-avxvnni").kind, CpuClass::Baseline);
  EXPECT_EQ(describe("x86-64-linux-avx2-avxvnni").kind, CpuClass::Baseline) << "without FMA";
  EXPECT_EQ(describe("x86-64-linux-avx2-fma-avxvnni-avx512_cannonlake"), describe("avxvnni"));
  EXPECT_EQ(describe("x86-64-linux-avx2-fma-avx512_vnni"), describe("avx2"));
  EXPECT_EQ(describe("x86-64-linux-avx2-fma-avxvnni-avx512_skylake"), describe("avx512"));
  EXPECT_EQ(describe("x86-64-linux-avx512_zen4-avx512_vnni"), describe("vnni"));
  EXPECT_EQ(describe("x86-64-linux-avx512_sapphirerapids-avx512_zen4-tune_znver4"), describe("amx"));
  EXPECT_EQ(describe("x86-64-linux-avx2-fma-tune_znver5"), describe("avx2"));
}

} // namespace
