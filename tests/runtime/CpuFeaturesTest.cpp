//===- CpuFeaturesTest.cpp - what this machine can run ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "runtime/src/CpuFeatures.h"
#include "attnrt/cpu.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

using namespace attnrt;

namespace {

#if defined(__x86_64__) && defined(__linux__)

/// What the kernel says of the first processor; it leaves out what it does not know or was told to hide.
std::set<std::string> wordsOfKernel() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("flags")) {
      std::istringstream words(line.substr(line.find(':') + 1));
      return {std::istream_iterator<std::string>(words), {}};
    }
  return {};
}

TEST(CpuFeatures, WhatTheKernelNamesIsThere) {
  const std::set<std::string> words = wordsOfKernel();
  ASSERT_TRUE(words.count("sse2"));
  int known = 0;
  for (const std::string &word : words)
    if (attnrt_cpu_find(word.data(), word.size())) {
      EXPECT_NE(attnrt_cpu_has(word.data(), word.size()), ATTNRT_CPU_NO) << word;
      ++known;
    }
  EXPECT_GE(known, 2); // sse2 and pni at least
}

/// Kernels of 2020 and later name these.
TEST(CpuFeatures, WhatTheKernelDoesNotNameIsNotThere) {
  const std::set<std::string> words = wordsOfKernel();
  for (const std::string name : {"sse4_1", "fma", "avx2", "abm", "sse4a", "avx512f", "avx512_vnni"})
    EXPECT_EQ(attnrt_cpu_has(name.data(), name.size()) == ATTNRT_CPU_NO, !words.count(name)) << name;
}

TEST(CpuFeatures, TheFirstThatIsMissingIsNamed) {
  EXPECT_EQ(findMissingFeature("sse2 pni"), "");
  EXPECT_EQ(findMissingFeature("  sse2  nonsense pni other"), "nonsense");
  EXPECT_EQ(findMissingFeature("sse"), "sse"); // the beginning of a name is none
}

#endif

TEST(CpuFeatures, NoneRunEverywhere) {
  EXPECT_EQ(findMissingFeature(""), "");
  EXPECT_EQ(findMissingFeature(" "), "");
  EXPECT_TRUE(attnrt_cpu_runs(""));
  EXPECT_FALSE(attnrt_cpu_runs("nonsense"));
}

} // namespace
