//===- CpuVariantTest.cpp - what --target may say --------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/emit/CpuVariant.h"

#include "attnrt/cpu.h"
#include "llvm/ADT/StringExtras.h"

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

constexpr const char *All = "x86-64,avx2,avxvnni,avx512,cascadelake,vnni,zen4,zen5,amx";

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
  EXPECT_EQ(all({.integers = true}), "x86-64 avx2 avxvnni avx512 cascadelake vnni zen4 zen5 amx ");
  EXPECT_EQ(all({.bfloats = true}), "x86-64 avx2 avx512 zen4 zen5 amx ");
  EXPECT_EQ(all({.integers = true, .bfloats = true}),
            "x86-64 avx2 avxvnni avx512 cascadelake vnni zen4 zen5 amx ");
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
  EXPECT_EQ(variant.features, "abm avx avx2 bmi1 bmi2 f16c fma movbe popcnt sse4_1 sse4_2 ssse3");
}

TEST(CpuVariant, StringsThatAreLessThanADefaultHaveOtherNames) {
  EXPECT_EQ(names("x86-64-linux-avxvnni,avxvnni"), "x86-64-avxvnni avxvnni ");
  EXPECT_EQ(names("avx2,x86-64-linux-avx2"), "avx2 x86-64-avx2 ");
}

std::set<std::string> featuresOf(const char *name) {
  std::string features = parse(name)[0].features;
  llvm::SmallVector<llvm::StringRef> words;
  llvm::StringRef(features).split(words, ' ');
  return std::set<std::string>(words.begin(), words.end());
}

/// What `more` asks for beside all that `fewer` does.
std::set<std::string> added(const char *fewer, const char *more) {
  std::set<std::string> features = featuresOf(more);
  for (const std::string &feature : featuresOf(fewer))
    EXPECT_EQ(features.erase(feature), 1u) << feature;
  return features;
}

TEST(CpuVariant, SomeAskForOneFeatureMore) {
  EXPECT_EQ(added("zen4", "zen5"), std::set<std::string>{"avx_vnni"});
  EXPECT_EQ(added("avx2", "avxvnni"), std::set<std::string>{"avx_vnni"});
  EXPECT_EQ(added("avx512", "cascadelake"), std::set<std::string>{"avx512_vnni"});
}

/// Halide names CPUs to LLVM, which then takes their instructions (`andn`, `vmovw`) where it likes.
TEST(CpuVariant, WhatLlvmMayTakeIsAskedFor) {
  for (const char *target : {"avx2", "x86-64-linux-avx2", "x86-64-linux-avx512_skylake", "amx"})
    for (const char *feature : {"abm", "bmi1", "bmi2", "f16c", "fma", "movbe", "popcnt", "sse4_2", "ssse3"})
      EXPECT_TRUE(featuresOf(target).count(feature)) << target << " " << feature;
  for (const char *target : {"vnni", "zen4", "zen5", "amx"})
    EXPECT_TRUE(featuresOf(target).count("gfni")) << target;
  EXPECT_TRUE(featuresOf("amx").count("avx512_fp16"));
}

#if defined(__x86_64__)
TEST(CpuVariant, TheRuntimeKnowsAllFeatures) {
  for (const CpuVariant &variant : parse(std::string(All) + ",x86-64-linux-tune_znver5"))
    for (llvm::StringRef feature : llvm::split(variant.features, ' '))
      EXPECT_TRUE(feature.empty() || attnrt_cpu_find(feature.data(), feature.size())) << feature.str();
}
#endif

TEST(CpuVariant, HalideIsNotToldOfVnniAlone) {
  EXPECT_EQ(halidesTarget(parse("cascadelake")[0].target), parse("avx512")[0].target);
  EXPECT_EQ(halidesTarget("x86-64-linux-avx2-fma"), "x86-64-linux-avx2-fma");
}

TEST(CpuVariant, Avx512IsTakenWithItsCommonParts) {
  EXPECT_NE(errorOf("x86-64-linux-avx2-fma-avx512").find("only beside 'avx512_skylake'"), std::string::npos);
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
