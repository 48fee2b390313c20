//===- MathTest.cpp - errors of the elementary functions --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Measures each function of kernels/Math.h over a fine grid against the C library in double precision, on
// this machine (with its fused multiply-adds) and as plain x86-64.

#include "compiler/kernels/Math.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace attnc;

namespace {

using Function = Halide::Expr (*)(Halide::Expr);
using Error = double (*)(double x, double expected, double actual);

double absoluteError(double, double expected, double actual) { return std::abs(actual - expected); }
double relativeError(double, double expected, double actual) { return std::abs(actual / expected - 1); }
/// Relative, less what the roundings of log2(e) and x * log2(e) may cost.
double exponentialError(double x, double expected, double actual) {
  return std::abs(actual / expected - 1) - std::abs(x) * 8e-8;
}
double logarithmError(double, double expected, double actual) {
  return std::abs(actual - expected) / std::max(1.0, std::abs(expected));
}

/// The largest error at `count` points from `first` to `last`.
double largestError(Function function, double (*expected)(double), Error error, float first, float last) {
  constexpr int Count = 1 << 18;
  Halide::Buffer<float> x(Count);
  for (int i = 0; i < Count; ++i)
    x(i) = first + (last - first) * float(i) / float(Count - 1);
  double largest = 0;
  for (const Halide::Target &target : {Halide::get_host_target(), Halide::Target("x86-64-linux")}) {
    Halide::Func f;
    Halide::Var i;
    f(i) = function(x(i));
    f.vectorize(i, 16);
    Halide::Buffer<float> y = f.realize({Count}, target);
    for (int j = 0; j < Count; ++j)
      largest = std::max(largest, error(x(j), expected(x(j)), y(j)));
  }
  return largest;
}

double exp2Exact(double x) { return std::exp2(x); }
double expExact(double x) { return std::exp(x); }
double logExact(double x) { return std::log(x); }
double erfExact(double x) { return std::erf(x); }
double sigmoidExact(double x) { return 1 / (1 + std::exp(-x)); }
double tanhExact(double x) { return std::tanh(x); }

TEST(MathTest, Exp2KeepsItsBound) {
  EXPECT_LT(largestError(exp2Fast, exp2Exact, relativeError, -126, 127), 2.5e-7);
  EXPECT_LT(largestError(exp2Fast, exp2Exact, relativeError, -2, 2), 2.5e-7);
}
TEST(MathTest, ExpKeepsItsBound) {
  EXPECT_LT(largestError(expFast, expExact, exponentialError, -80, 80), 2.5e-7);
  EXPECT_LT(largestError(expFast, expExact, exponentialError, -2, 2), 2.5e-7);
}
TEST(MathTest, LogKeepsItsBound) {
  EXPECT_LT(largestError(logFast, logExact, logarithmError, 1e-3f, 1e5f), 2e-7);
  EXPECT_LT(largestError(logFast, logExact, logarithmError, 0.5f, 2), 2e-7);
}
TEST(MathTest, ErfKeepsItsBound) { EXPECT_LT(largestError(erfFast, erfExact, absoluteError, -6, 6), 6e-7); }
TEST(MathTest, TanhKeepsItsBound) {
  EXPECT_LT(largestError(tanhFast, tanhExact, absoluteError, -12, 12), 5e-7);
}
TEST(MathTest, SigmoidKeepsItsBound) {
  EXPECT_LT(largestError(sigmoidFast, sigmoidExact, absoluteError, -100, 100), 2e-7);
  EXPECT_LT(largestError(sigmoidFast, sigmoidExact, absoluteError, -4, 4), 2e-7);
}
TEST(MathTest, LargestDivisorOfLanesIsFound) {
  EXPECT_EQ(lanesDividing(72, 16), 8);
  EXPECT_EQ(lanesDividing(20, 16), 4);
  EXPECT_EQ(lanesDividing(5, 16), 1);
}

} // namespace
