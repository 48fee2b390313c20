//===- ScalarBuilder.cpp - the body of a score map as expressions -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Operations of `arith` and `math` on scalars, and elements of tables.

#include "compiler/kernels/ScalarBuilder.h"

#include "compiler/kernels/Math.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using Halide::Expr;
using mlir::arith::CmpFPredicate;
using mlir::arith::CmpIPredicate;

namespace attnc {

bool isScalarSupported(mlir::Operation *op) {
  namespace arith = mlir::arith;
  namespace math = mlir::math;
  return llvm::isa<attn::ElementOp, attn::YieldOp, arith::ConstantOp, arith::AddFOp, arith::AddIOp,
                   arith::SubFOp, arith::SubIOp, arith::MulFOp, arith::MulIOp, arith::DivFOp,
                   arith::FloorDivSIOp, arith::NegFOp, arith::MaximumFOp, arith::MaxSIOp, arith::MinimumFOp,
                   arith::MinSIOp, arith::CmpFOp, arith::CmpIOp, arith::AndIOp, arith::OrIOp, arith::XOrIOp,
                   arith::SelectOp, arith::SIToFPOp, arith::FPToSIOp, math::ExpOp, math::LogOp, math::SqrtOp,
                   math::TanhOp, math::AbsFOp, math::AbsIOp>(op);
}

static Expr constantOf(mlir::arith::ConstantOp op) {
  if (auto number = llvm::dyn_cast<mlir::FloatAttr>(op.getValue())) {
    float value = number.getValue().convertToFloat();
    return std::isinf(value) ? std::copysign(-MaskedScore, value) : value;
  }
  llvm::APInt value = llvm::cast<mlir::IntegerAttr>(op.getValue()).getValue();
  return op.getType().isInteger(1) ? Halide::cast<bool>(int(value.getZExtValue()))
                                   : Expr(int(value.getSExtValue()));
}

/// Predicates of floats and of integers have other names for the same comparisons.
static Expr compare(bool isEqual, bool isLess, bool isNegated, const Expr &a, const Expr &b) {
  if (isEqual)
    return isNegated ? a != b : a == b;
  return isLess ? (isNegated ? a >= b : a < b) : (isNegated ? a <= b : a > b);
}

static Expr compareOf(mlir::arith::CmpFOp op, const Expr &a, const Expr &b) {
  CmpFPredicate predicate = op.getPredicate();
  bool isEqual = predicate == CmpFPredicate::OEQ || predicate == CmpFPredicate::ONE;
  bool isLess = predicate == CmpFPredicate::OLT || predicate == CmpFPredicate::OGE;
  bool isNegated =
      predicate == CmpFPredicate::ONE || predicate == CmpFPredicate::OGE || predicate == CmpFPredicate::OLE;
  return compare(isEqual, isLess, isNegated, a, b);
}

static Expr compareOf(mlir::arith::CmpIOp op, const Expr &a, const Expr &b) {
  CmpIPredicate predicate = op.getPredicate();
  bool isEqual = predicate == CmpIPredicate::eq || predicate == CmpIPredicate::ne;
  bool isLess = predicate == CmpIPredicate::slt || predicate == CmpIPredicate::sge;
  bool isNegated =
      predicate == CmpIPredicate::ne || predicate == CmpIPredicate::sge || predicate == CmpIPredicate::sle;
  return compare(isEqual, isLess, isNegated, a, b);
}

Expr ScalarBuilder::elementOf(attn::ElementOp element) const {
  Tensor table = tables.lookup(element.getTable());
  Coordinates at;
  for (mlir::Value index : llvm::reverse(element.getIndices())) // fastest first
    at.push_back(get(index));
  for (size_t axis = 0; axis < at.size(); ++axis)
    at[axis] = Halide::max(Halide::min(at[axis], table.extents[axis] - 1), 0);
  Expr read = table.at(at);
  return read.type().is_float() ? Halide::max(read, MaskedScore)
                                : read; // minus infinity in a mask from outside
}

Expr ScalarBuilder::expressionOf(mlir::Operation &op) const {
  namespace arith = mlir::arith;
  namespace math = mlir::math;
  if (auto element = llvm::dyn_cast<attn::ElementOp>(op))
    return elementOf(element);
  Expr a = op.getNumOperands() > 0 ? get(op.getOperand(0)) : Expr();
  Expr b = op.getNumOperands() > 1 ? get(op.getOperand(1)) : Expr();
  Expr c = op.getNumOperands() > 2 ? get(op.getOperand(2)) : Expr();
  return llvm::TypeSwitch<mlir::Operation *, Expr>(&op)
      .Case([](arith::ConstantOp op) { return constantOf(op); })
      .Case<arith::AddFOp, arith::AddIOp>([&](auto) { return a + b; })
      .Case<arith::SubFOp, arith::SubIOp>([&](auto) { return a - b; })
      .Case<arith::MulFOp, arith::MulIOp>([&](auto) { return a * b; })
      .Case<arith::DivFOp, arith::FloorDivSIOp>([&](auto) { return a / b; }) // Halide rounds down
      .Case([&](arith::NegFOp) { return -a; })
      .Case<arith::MaximumFOp, arith::MaxSIOp>([&](auto) { return Halide::max(a, b); })
      .Case<arith::MinimumFOp, arith::MinSIOp>([&](auto) { return Halide::min(a, b); })
      .Case<arith::CmpFOp, arith::CmpIOp>([&](auto op) { return compareOf(op, a, b); })
      .Case([&](arith::AndIOp) { return a && b; })
      .Case([&](arith::OrIOp) { return a || b; })
      .Case([&](arith::XOrIOp) { return a != b; })
      .Case([&](arith::SelectOp) { return Halide::select(a, b, c); })
      .Case([&](arith::SIToFPOp) { return Halide::cast<float>(a); })
      .Case([&](arith::FPToSIOp) { return Halide::cast<int>(a); })
      .Case([&](math::ExpOp) { return expFast(a); })
      .Case([&](math::LogOp) { return logFast(a); })
      .Case([&](math::SqrtOp) { return Halide::sqrt(a); })
      .Case([&](math::TanhOp) { return tanhFast(a); })
      .Case([&](math::AbsFOp) { return Halide::abs(a); })
      .Case([&](math::AbsIOp) { return Halide::max(a, -a); }) // Halide's would have no sign
      .Default([](mlir::Operation *) { return Expr(); });
}

void ScalarBuilder::build(mlir::Operation &op) {
  mlir::Value result = op.getResult(0);
  set(result, expressionOf(op));
  if (llvm::any_of(op.getOperands(), [&](mlir::Value operand) { return ofScore.contains(operand); }))
    ofScore.insert(result);
  if (result.getType().isF32())
    seen[result] = seenOf(op);
}

Expr isUnmasked(const Expr &score) { return score > 0.5f * MaskedScore; }

Expr both(const Expr &a, const Expr &b) { return a.defined() && b.defined() ? a && b : a.defined() ? a : b; }

static Expr either(const Expr &a, const Expr &b) { return a.defined() && b.defined() ? a || b : Expr(); }

/// Tables that hide keys are read at places. At what is computed of them (buckets of distances), they hold
/// biases that were learned, and to look at those before the scores would be for nothing.
static bool isReadAtPlaces(attn::ElementOp element) {
  return llvm::all_of(element.getIndices(),
                      [](mlir::Value index) { return llvm::isa<mlir::BlockArgument>(index); });
}

static Expr seenConstant(const Expr &score) {
  Expr isSeen = Halide::Internal::simplify(isUnmasked(score));
  return Halide::Internal::is_const_one(isSeen) ? Expr() : isSeen;
}

Expr ScalarBuilder::seenOf(mlir::Operation &op) const {
  namespace arith = mlir::arith;
  auto operand = [&](unsigned number) { return mayBeSeen(op.getOperand(number)); };
  Expr own = get(op.getResult(0));
  return llvm::TypeSwitch<mlir::Operation *, Expr>(&op)
      .Case([&](arith::ConstantOp) { return seenConstant(own); })
      .Case([&](arith::NegFOp negate) {
        return negate.getOperand().getDefiningOp<arith::ConstantOp>() ? seenConstant(own) : Expr();
      })
      .Case([&](attn::ElementOp element) { return isReadAtPlaces(element) ? isUnmasked(own) : Expr(); })
      .Case<arith::AddFOp, arith::MinimumFOp>([&](auto) { return both(operand(0), operand(1)); })
      .Case([&](arith::SubFOp) { return operand(0); })
      .Case([&](arith::MaximumFOp) { return either(operand(0), operand(1)); })
      .Case([&](arith::SelectOp select) -> Expr {
        Expr yes = operand(1), no = operand(2);
        if (ofScore.contains(select.getCondition()) || !(yes.defined() || no.defined()))
          return either(yes, no);
        auto orTrue = [](const Expr &seen) { return seen.defined() ? seen : Expr(true); };
        return Halide::select(get(select.getCondition()), orTrue(yes), orTrue(no));
      })
      .Default([](mlir::Operation *) { return Expr(); });
}

} // namespace attnc
