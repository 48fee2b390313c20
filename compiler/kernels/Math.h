//===- Math.h - elementary functions without calls to a library -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// float32 polynomials that vectorise on every target. Each states its error; MathTest measures it.

#ifndef ATTNC_KERNELS_MATH_H
#define ATTNC_KERNELS_MATH_H

#include <Halide.h>

namespace attnc {

constexpr float Log2E = 1.44269504f;

/// 2^x for x in [-126, 127], relative error below 2.5e-7; 2^n is exact.
Halide::Expr exp2Bounded(Halide::Expr x);

/// As exp2Bounded for every x; results below 2^-126 are 2^-126, above 2^127 are 2^127.
Halide::Expr exp2Fast(Halide::Expr x);

/// e^x; relative error below 2.5e-7 + |x| * 8e-8 (log2(e) and its product with x are rounded).
Halide::Expr expFast(Halide::Expr x);

/// Natural logarithm of a positive normal number, absolute error below 2e-7 * max(1, |log(x)|).
Halide::Expr logFast(Halide::Expr x);

/// Error function, absolute error below 6e-7.
Halide::Expr erfFast(Halide::Expr x);

/// Hyperbolic tangent, absolute error below 5e-7.
Halide::Expr tanhFast(Halide::Expr x);

/// 1 / (1 + e^-x), absolute error below 2e-7.
Halide::Expr sigmoidFast(Halide::Expr x);

/// The bits of `x` rounded to bfloat16 (to the nearest, ties to even), whose lower half is zero. A NaN stays
/// one.
Halide::Expr bfloatBits(Halide::Expr x);

/// The float whose upper half is `bits`, of 16 bits.
Halide::Expr fromBfloat(Halide::Expr bits);

/// Adds `count` (a power of two) elements pairwise, halves first: the order never depends on the compiler.
Halide::Expr sumPairwise(const std::function<Halide::Expr(int)> &element, int count);

/// The largest of `count` (a power of two) elements.
Halide::Expr maxPairwise(const std::function<Halide::Expr(int)> &element, int count);

/// The largest power of two that divides `extent` and is at most `lanes`.
int lanesDividing(int extent, int lanes);

} // namespace attnc

#endif // ATTNC_KERNELS_MATH_H
