//===- PowersTest.cpp - errors of powers of two in external stages ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Against the C library in double precision, at a million floats from 0 to -100 and beyond, on what this
// machine has. Those of the variant with AMX need no tiles.

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

extern "C" {
void powersAvx2(const float *from, float *to, int count);
void powersAvx512(const float *from, float *to, int count);
void powersRounded(const float *from, float *to, int count);
void powersTiles(const float *from, float *to, int count);
}

namespace {

using Powers = void (*)(const float *from, float *to, int count);

/// Every 1009th float from -0 to -100, and all whole numbers and halves between.
std::vector<float> exponents() {
  std::vector<float> all;
  for (uint32_t bits = std::bit_cast<uint32_t>(-0.f); bits < std::bit_cast<uint32_t>(-100.f); bits += 1009)
    all.push_back(std::bit_cast<float>(bits));
  for (int halves = 0; halves <= 200; ++halves)
    all.push_back(-0.5f * float(halves));
  all.resize((all.size() + 15) / 16 * 16);
  return all;
}

double largestError(Powers powers) {
  const std::vector<float> from = exponents();
  std::vector<float> to(from.size());
  powers(from.data(), to.data(), int(from.size()));
  double largest = 0;
  for (size_t i = 0; i < from.size(); ++i)
    largest = std::max(largest, std::abs(to[i] / std::exp2(double(from[i])) - 1));
  return largest;
}

void expectZeroBelow(Powers powers) {
  const float lowest = std::numeric_limits<float>::lowest();
  float x[16] = {-100.001f, -127, -1e30f, lowest, -std::numeric_limits<float>::infinity()}, power[16];
  powers(x, power, 16);
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(power[i], 0) << "2^" << x[i];
  EXPECT_EQ(power[5], power[15]); // of 0
}

// Taylor's polynomial of seven terms errs by 1.2e-7 of 2^x. Its last sum is rounded by half an ulp of 1,
// which is 8.5e-8 of the least fraction's power, 0.71; the sum before, at most 0.35, by 1.5e-8 times a
// fraction of a half, and so on: less than 2e-8 together, as much as its coefficients' roundings cost.
constexpr double OfFloats = 2.5e-7;

TEST(Powers, Avx2ErrsByAFewRoundings) {
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
    GTEST_SKIP() << "this machine has no AVX2";
  EXPECT_LT(largestError(powersAvx2), OfFloats);
  expectZeroBelow(powersAvx2);
}

TEST(Powers, Avx512ErrsByAFewRoundings) {
  if (!__builtin_cpu_supports("avx512f"))
    GTEST_SKIP() << "this machine has no AVX-512";
  EXPECT_LT(largestError(powersAvx512), OfFloats);
  expectZeroBelow(powersAvx512);
}

// The polynomial errs by 7.5e-5; roundings of floats add less than 2e-7.
TEST(Powers, ThoseThatAreRoundedErrByASmallPartOfThat) {
  if (!__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl"))
    GTEST_SKIP() << "this machine has no AVX-512 (DQ, VL)";
  for (Powers powers : {powersRounded, powersTiles}) {
    EXPECT_LT(largestError(powers), 7.52e-5);
    expectZeroBelow(powers);
  }
}

} // namespace
