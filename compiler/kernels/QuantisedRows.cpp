//===- QuantisedRows.cpp - rows of bytes and their scales -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/kernels/QuantisedRows.h"

#include "compiler/kernels/Math.h"

using namespace Halide;

namespace attnc {

/// Added to a number of less than 2^21 this leaves its nearest whole number in the lowest bits: the last bit
/// of 1.5 * 2^23 stands for 1. No call of a library.
constexpr float RoundToWhole = 12582912.f;

constexpr float Steps = 255;

/// Ranges below this are zero: the reciprocal of a denormal scale is infinite.
constexpr float SmallestRange = 1e-30f;

/// The nearest whole number of `product + zero`, from 0 to 255; `zero` is a whole number, and so has one sum
/// with `RoundToWhole` for all of a row: strict, or Halide would add up the product first. The product may be
/// multiplied and added by one instruction.
static Expr roundToByte(const Expr &product, const Expr &zero) {
  Expr bits = reinterpret<int32_t>(product + strict_float(RoundToWhole + zero));
  return clamp(bits - reinterpret<int32_t>(Expr(RoundToWhole)), 0, 255);
}

/// Chains of minima and maxima that are under way at once: each waits four cycles for the one before.
constexpr int Chains = 4;

/// The smallest (its negative) and the largest of a row's elements and 0.
static void buildExtremes(QuantisedRowsStages &s, const Tensor &input, int width) {
  const int lanes = s.lanes, together = lanesDividing(width, Chains * lanes);
  RDom seen(0, width / together, "seen");
  Expr element = input.at({seen * together + s.lane, s.row});
  s.extremes = Func("extremes");
  s.extremes(s.lane, s.row) = Tuple(0.f, 0.f);
  s.extremes(s.lane, s.row) =
      Tuple(min(s.extremes(s.lane, s.row)[0], element), max(s.extremes(s.lane, s.row)[1], element));
  auto fold = [&](int which, auto choose) {
    Expr folded = s.extremes(s.lane, s.row)[which];
    for (int chain = lanes; chain < together; chain += lanes)
      folded = choose(folded, s.extremes(s.lane + chain, s.row)[which]);
    return folded;
  };
  s.folded = Func("folded");
  s.folded(s.lane, s.row) = Tuple(-fold(0, [](Expr a, Expr b) { return min(a, b); }),
                                  fold(1, [](Expr a, Expr b) { return max(a, b); }));
  s.together = together;
}

QuantisedRowsStages buildQuantisedRows(const Tensor &input, int width, int stored, int lanes) {
  QuantisedRowsStages s;
  s.lanes = lanes;
  s.stored = stored;
  buildExtremes(s, input, width);
  Expr least = -maxPairwise([&](int lane) -> Expr { return s.folded(lane, s.row)[0]; }, lanes);
  Expr most = maxPairwise([&](int lane) -> Expr { return s.folded(lane, s.row)[1]; }, lanes);
  Expr range = strict_float(most - least);
  Expr scale = strict_float(select(range < SmallestRange, 0.f, range / Steps));
  auto inverse = [](const Expr &scale) { return strict_float(select(scale == 0.f, 0.f, 1.f / scale)); };
  Expr zero = cast<float>(roundToByte(-least * inverse(scale), 0.f));
  s.scales = Func("scales");
  s.scales(s.column, s.row) = select(s.column == 0, scale, zero);

  s.bytes = Func("bytes");
  auto byteAt = [&](const Expr &column) {
    Expr product = input.at({column, s.row}) * inverse(s.scales(0, s.row));
    return cast<uint8_t>(roundToByte(product, s.scales(1, s.row)));
  };
  if (stored == width) {
    s.bytes(s.column, s.row) = byteAt(s.column);
    return s;
  }
  RDom column(0, width, "written");
  s.bytes(s.column, s.row) = cast<uint8_t>(0);
  s.bytes(column, s.row) = byteAt(column);
  return s;
}

} // namespace attnc
