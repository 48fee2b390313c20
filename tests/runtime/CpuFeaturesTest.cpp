//===- CpuFeaturesTest.cpp - what this machine can run ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "runtime/src/CpuFeatures.h"
#include "attnrt/cpu.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <tuple>

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

attnrt_cpu_answer answerOf(const attnrt_cpu &cpu, const std::string &name) {
  return attnrt_cpu_has(&cpu, name.data(), name.size());
}

TEST(CpuFeatures, WhatTheKernelNamesIsThere) {
  attnrt_cpu here;
  attnrt_cpu_ask(&here);
  int known = 0;
  for (const std::string &word : wordsOfKernel())
    if (attnrt_cpu_find(word.data(), word.size())) {
      EXPECT_NE(answerOf(here, word), ATTNRT_CPU_NO) << word;
      ++known;
    }
  EXPECT_GE(known, 2); // sse2 and pni at least
}

TEST(CpuFeatures, RegistersMustBeSavedByTheSystem) {
  attnrt_cpu cpu;
  std::memset(&cpu, 0xff, sizeof cpu);
  for (const auto &[saved, avx2, avx512] :
       {std::tuple(0u, ATTNRT_CPU_FORBIDDEN, ATTNRT_CPU_FORBIDDEN),
        std::tuple(0x2u, ATTNRT_CPU_FORBIDDEN, ATTNRT_CPU_FORBIDDEN), // those of SSE alone
        std::tuple(0x7u, ATTNRT_CPU_YES, ATTNRT_CPU_FORBIDDEN),
        std::tuple(0xe7u, ATTNRT_CPU_YES, ATTNRT_CPU_YES)}) {
    cpu.saved = saved;
    EXPECT_EQ(answerOf(cpu, "bmi1"), ATTNRT_CPU_YES) << saved;
    EXPECT_EQ(answerOf(cpu, "avx2"), avx2) << saved;
    EXPECT_EQ(answerOf(cpu, "avx512f"), avx512) << saved;
    EXPECT_EQ(answerOf(cpu, "amx_tile"), ATTNRT_CPU_FORBIDDEN) << saved;
  }
}

TEST(CpuFeatures, EachHasABitOfItsOwn) {
  attnrt_cpu cpu;
  std::memset(&cpu, 0, sizeof cpu);
  cpu.saved = 0xe7;
  EXPECT_EQ(answerOf(cpu, "avx2"), ATTNRT_CPU_NO);
  cpu.leaves[ATTNRT_CPU_LEAF_7][ATTNRT_CPU_EBX] = 1u << 5;
  EXPECT_EQ(answerOf(cpu, "avx2"), ATTNRT_CPU_YES);
  for (const char *other : {"bmi1", "bmi2", "avx", "avx512f", "avx_vnni", "sse4a", "abm"})
    EXPECT_EQ(answerOf(cpu, other), ATTNRT_CPU_NO) << other;
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
