//===- CpuVariantTest.cpp - what --target may say --------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/emit/CpuVariant.h"

#include <gtest/gtest.h>

#include <set>

using namespace attnc;

namespace {

std::vector<CpuVariant> parse(const std::string &list) {
  llvm::Expected<std::vector<CpuVariant>> variants = parseTargets(list);
  EXPECT_TRUE(bool(variants)) << llvm::toString(variants.takeError());
  return *variants;
}

std::string names(const std::string &list) {
  std::string text;
  for (const CpuVariant &variant : parse(list))
    text += variant.name + " ";
  return text;
}

std::string errorOf(const std::string &list) { return llvm::toString(parseTargets(list).takeError()); }

TEST(CpuVariant, DefaultIsFiveFromLeastToMostDemanding) {
  EXPECT_EQ(names(""), "x86-64 avx2 avx512 zen4 zen5 ");
}

TEST(CpuVariant, NarrowWeightsAddWhatHasInstructionsForThem) {
  auto all = [](NarrowWeights narrow) {
    std::string text;
    for (const CpuVariant &variant : llvm::cantFail(parseTargets("", narrow)))
      text += variant.name + " ";
    return text;
  };
  EXPECT_EQ(all({.integers = true}), "x86-64 avx2 avxvnni avx512 vnni zen4 zen5 amx ");
  EXPECT_EQ(all({.bfloats = true}), "x86-64 avx2 avx512 zen4 zen5 amx ");
  EXPECT_EQ(all({.integers = true, .bfloats = true}), "x86-64 avx2 avxvnni avx512 vnni zen4 zen5 amx ");
}

TEST(CpuVariant, OrderAndRepetitionDoNotMatter) {
  EXPECT_EQ(names("avx512,x86-64,avx512"), "x86-64 avx512 ");
}

TEST(CpuVariant, TargetStringsOfTheDefaultsHaveTheirNames) {
  EXPECT_EQ(names("x86-64-linux-fma-avx2-sse41-f16c-avx"), "avx2 ");
  EXPECT_EQ(names("x86-64-linux"), "x86-64 ");
}

TEST(CpuVariant, OtherTargetStringsAreNamedByTheirFeatures) {
  CpuVariant variant = parse("x86-64-linux-avx2-fma")[0];
  EXPECT_EQ(variant.name, "avx2-fma");
  EXPECT_EQ(variant.target, "x86-64-linux-avx2-fma");
  EXPECT_EQ(variant.features, "avx2 fma");
}

TEST(CpuVariant, Zen5AsksForWhatZen4Lacks) {
  auto featuresOf = [](const char *name) {
    std::string features = parse(name)[0].features;
    llvm::SmallVector<llvm::StringRef> words;
    llvm::StringRef(features).split(words, ' ');
    return std::set<std::string>(words.begin(), words.end());
  };
  std::set<std::string> zen4 = featuresOf("zen4");
  zen4.insert("avx_vnni");
  EXPECT_EQ(featuresOf("zen5"), zen4);
}

TEST(CpuVariant, HostIsOneVariantThatRunsHere) {
  std::vector<CpuVariant> host = parse("host");
  ASSERT_EQ(host.size(), 1u);
  EXPECT_TRUE(runsHere(host[0]));
}

TEST(CpuVariant, FeaturesThatNoMachineHasDoNotRunHere) {
  EXPECT_FALSE(runsHere({"x", "", "avx2 no_such_feature"}));
}

TEST(CpuVariant, OtherArchitecturesAreNotBuiltYet) {
  EXPECT_NE(errorOf("avx2,arm-64-linux").find("'arm-64-linux' is unknown or not built yet"),
            std::string::npos);
}

TEST(CpuVariant, AnUnknownFeatureIsNamed) {
  EXPECT_NE(errorOf("x86-64-linux-mmx").find("the feature 'mmx', which this version does not know"),
            std::string::npos);
}

} // namespace
