//===- Math.cpp - elementary functions without calls to a library -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Coefficients are minimax fits (relative error, constant term fixed) or the rational forms used by Eigen.

#include "compiler/kernels/Math.h"

using namespace Halide;

namespace attnc {

static Expr horner(Expr x, const std::vector<float> &coefficients) {
  Expr result = coefficients.back();
  for (size_t i = coefficients.size() - 1; i-- > 0;)
    result = result * x + coefficients[i];
  return result;
}

// 2^x = 2^n * 2^f with n the nearest whole number and f in [-1/2, 1/2]. Adding 1.5 * 2^23 rounds to n and
// leaves n in the low bits of the sum (no call to floor, which plain x86-64 has no instruction for). The
// polynomial of degree 5 with 2^0 = 1 exactly is within 1.1e-7 of 2^f. Horner's rule in float32 rounds a
// product and a sum at each step, by 2^-24 of each, and halves at least what was wrong before: it errs by two
// times 2^-24 of 2^f at most (at f = -1/2), 1.2e-7, and both together by less than 2.5e-7.
Expr exp2Bounded(Expr x) {
  const float magic = 12582912.f;
  Expr shifted = strict_float(x + magic);
  Expr fraction = x - strict_float(shifted - magic);
  Expr power =
      horner(fraction, {1.f, 0.693146978f, 0.240222421f, 0.0555073374f, 0.00967151264f, 0.00132647271f});
  return reinterpret<float>(reinterpret<int32_t>(power) + (reinterpret<int32_t>(shifted) << 23));
}

Expr exp2Fast(Expr x) { return exp2Bounded(clamp(x, -126.f, 127.f)); }

Expr expFast(Expr x) { return exp2Fast(x * Log2E); }

// x = 2^e * m with m in [sqrt(1/2), sqrt(2)); log(m) = f - f^2/2 + f^3 P(f), f = m - 1, P within 3.2e-8
// relative. The two parts of log(2) keep e * log(2) exact in its leading bits.
Expr logFast(Expr x) {
  Expr bits = reinterpret<int32_t>(x);
  Expr shifted = bits - 0x3f3504f3; // of sqrt(1/2)
  Expr exponent = cast<float>(shifted >> 23);
  Expr f = reinterpret<float>((shifted & 0x007fffff) + 0x3f3504f3) - 1.f;
  Expr tail = horner(f, {0.333339107f, -0.25001337f, 0.199630638f, -0.165775847f, 0.149147679f, -0.14267487f,
                         0.0870043592f});
  Expr small = f * f * (f * tail - 0.5f) + exponent * -2.12194440e-4f;
  return small + f + exponent * 0.693359375f;
}

Expr erfFast(Expr x) {
  x = clamp(x, -4.f, 4.f);
  Expr square = x * x;
  Expr above = horner(square, {-1.60960333262415e-02f, -2.95459980854025e-03f, -7.34990630326855e-04f,
                               -5.69250639462346e-05f, -2.10102402082508e-06f, 2.77068142495902e-08f,
                               -2.72614225801306e-10f});
  Expr below = horner(square, {-1.42647390514189e-02f, -7.37332916720468e-03f, -1.68282697438203e-03f,
                               -2.13374055278905e-04f, -1.45660718464996e-05f});
  return x * above / below;
}

Expr tanhFast(Expr x) {
  x = clamp(x, -7.90531110763549805f, 7.90531110763549805f);
  Expr square = x * x;
  Expr above = horner(square, {4.89352455891786e-03f, 6.37261928875436e-04f, 1.48572235717979e-05f,
                               5.12229709037114e-08f, -8.60467152213735e-11f, 2.00018790482477e-13f,
                               -2.76076847742355e-16f});
  Expr below = horner(
      square, {4.89352518554385e-03f, 2.26843463243900e-03f, 1.18534705686654e-04f, 1.19825839466702e-06f});
  return x * above / below;
}

Expr sigmoidFast(Expr x) { return 1.f / (1.f + expFast(-x)); }

Expr bfloatBits(Expr x) {
  Expr bits = reinterpret<uint32_t>(x);
  Expr nearest = bits + (Expr(uint32_t(0x7fff)) + ((bits >> 16) & uint32_t(1)));
  Expr isNan = (bits & uint32_t(0x7fffffff)) > Expr(uint32_t(0x7f800000));
  return select(isNan, bits | uint32_t(0x400000), nearest) & Expr(uint32_t(0xffff0000));
}

Expr fromBfloat(Expr bits) { return reinterpret<float>(cast<uint32_t>(bits) << 16); }

Expr sumPairwise(const std::function<Expr(int)> &element, int count) {
  if (count == 1)
    return element(0);
  int half = count / 2;
  auto added = [&](int i) { return element(i) + element(i + half); };
  return sumPairwise(added, half);
}

Expr maxPairwise(const std::function<Expr(int)> &element, int count) {
  if (count == 1)
    return element(0);
  int half = count / 2;
  return maxPairwise([&](int i) { return max(element(i), element(i + half)); }, half);
}

int lanesDividing(int extent, int lanes) {
  while (lanes > 1 && extent % lanes != 0)
    lanes /= 2;
  return lanes;
}

} // namespace attnc
