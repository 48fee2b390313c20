//===- CpuFeatures.cpp - what this machine can run ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// On x86 the processor is asked itself (cpuid), and the operating system through XCR0 whether it saves the
// registers. On other machines only variants without features run.

#include "CpuFeatures.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <sstream>
#include <string>

#if defined(__x86_64__)
#include <cpuid.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif
#endif

namespace attnrt {
namespace {

#if defined(__x86_64__)

enum Register { Eax, Ebx, Ecx, Edx };

struct Feature {
  std::string_view name;
  unsigned leaf, subleaf;
  Register where;
  unsigned bit;
  unsigned savedState; // bits of XCR0 that must be set
};

constexpr unsigned avxState = 0x6, avx512State = 0xe6, amxState = 0x60000;

constexpr Feature known[] = {
    {"sse2", 1, 0, Edx, 26, 0},
    {"pni", 1, 0, Ecx, 0, 0},
    {"ssse3", 1, 0, Ecx, 9, 0},
    {"sse4_1", 1, 0, Ecx, 19, 0},
    {"sse4_2", 1, 0, Ecx, 20, 0},
    {"movbe", 1, 0, Ecx, 22, 0},
    {"popcnt", 1, 0, Ecx, 23, 0},
    {"fma", 1, 0, Ecx, 12, avxState},
    {"avx", 1, 0, Ecx, 28, avxState},
    {"f16c", 1, 0, Ecx, 29, avxState},
    {"bmi1", 7, 0, Ebx, 3, 0},
    {"avx2", 7, 0, Ebx, 5, avxState},
    {"bmi2", 7, 0, Ebx, 8, 0},
    {"avx512f", 7, 0, Ebx, 16, avx512State},
    {"avx512dq", 7, 0, Ebx, 17, avx512State},
    {"avx512ifma", 7, 0, Ebx, 21, avx512State},
    {"avx512cd", 7, 0, Ebx, 28, avx512State},
    {"avx512bw", 7, 0, Ebx, 30, avx512State},
    {"avx512vl", 7, 0, Ebx, 31, avx512State},
    {"avx512vbmi", 7, 0, Ecx, 1, avx512State},
    {"avx512_vbmi2", 7, 0, Ecx, 6, avx512State},
    {"gfni", 7, 0, Ecx, 8, 0},
    {"avx512_vnni", 7, 0, Ecx, 11, avx512State},
    {"avx512_bitalg", 7, 0, Ecx, 12, avx512State},
    {"avx512_vpopcntdq", 7, 0, Ecx, 14, avx512State},
    {"amx_bf16", 7, 0, Edx, 22, amxState},
    {"avx512_fp16", 7, 0, Edx, 23, avx512State},
    {"amx_tile", 7, 0, Edx, 24, amxState},
    {"amx_int8", 7, 0, Edx, 25, amxState},
    {"avx_vnni", 7, 1, Eax, 4, avxState},
    {"avx512_bf16", 7, 1, Eax, 5, avx512State},
    {"abm", 0x80000001, 0, Ecx, 5, 0},
    {"sse4a", 0x80000001, 0, Ecx, 6, 0},
};

uint32_t savedState() {
  unsigned registers[4] = {};
  constexpr unsigned hasXgetbv = 1u << 27;
  if (!__get_cpuid(1, &registers[Eax], &registers[Ebx], &registers[Ecx], &registers[Edx]) ||
      !(registers[Ecx] & hasXgetbv))
    return 0;
  uint32_t low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

/// Linux gives the registers of matrix instructions to processes that ask, all of their threads included.
bool maySaveTiles() {
#if defined(__linux__)
  constexpr long requestPermission = 0x1023, tileData = 18; // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, requestPermission, tileData) == 0;
#else
  return false;
#endif
}

bool isInProcessor(const Feature &feature) {
  unsigned registers[4] = {};
  return __get_cpuid_count(feature.leaf, feature.subleaf, &registers[Eax], &registers[Ebx], &registers[Ecx],
                           &registers[Edx]) &&
         (registers[feature.where] >> feature.bit & 1);
}

/// Whether the system keeps its registers from one thread to the next.
bool isAllowed(const Feature &feature) {
  return (savedState() & feature.savedState) == feature.savedState &&
         (feature.savedState != amxState || maySaveTiles());
}

/// Why this process has not the feature; empty where it has.
std::string lackOf(const std::string &name) {
  const auto feature =
      std::find_if(std::begin(known), std::end(known), [&](const Feature &one) { return one.name == name; });
  if (feature == std::end(known) || !isInProcessor(*feature))
    return name;
  return isAllowed(*feature) ? "" : name + " (which the system does not let this process use)";
}

#else

std::string lackOf(const std::string &name) { return name; }

#endif

} // namespace

std::string findMissingFeature(std::string_view features) {
  std::istringstream words{std::string(features)};
  std::string word;
  while (words >> word)
    if (std::string lack = lackOf(word); !lack.empty())
      return lack;
  return "";
}

} // namespace attnrt
