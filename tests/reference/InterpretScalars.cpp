//===- InterpretScalars.cpp - a score map's body in double precision --------===//
// SPDX-License-Identifier: Apache-2.0
//
// One case per scalar operation; one without a case aborts the test.

#include "tests/reference/InterpretScalars.h"

#include "dialect/IR/Attn.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

#include <algorithm>
#include <cmath>

using namespace mlir;

namespace reference {

static double constantOf(arith::ConstantOp op) {
  if (auto number = dyn_cast<FloatAttr>(op.getValue()))
    return number.getValueAsDouble();
  return double(cast<IntegerAttr>(op.getValue()).getValue().getSExtValue() &
                (op.getType().isInteger(1) ? 1 : -1));
}

static double compare(arith::CmpFPredicate predicate, double a, double b) {
  switch (predicate) {
  case arith::CmpFPredicate::OEQ:
    return a == b;
  case arith::CmpFPredicate::ONE:
    return a != b;
  case arith::CmpFPredicate::OLT:
    return a < b;
  case arith::CmpFPredicate::OLE:
    return a <= b;
  case arith::CmpFPredicate::OGT:
    return a > b;
  case arith::CmpFPredicate::OGE:
    return a >= b;
  default:
    llvm_unreachable("scores are ordered");
  }
}

static double compare(arith::CmpIPredicate predicate, double a, double b) {
  switch (predicate) {
  case arith::CmpIPredicate::eq:
    return a == b;
  case arith::CmpIPredicate::ne:
    return a != b;
  case arith::CmpIPredicate::slt:
    return a < b;
  case arith::CmpIPredicate::sle:
    return a <= b;
  case arith::CmpIPredicate::sgt:
    return a > b;
  case arith::CmpIPredicate::sge:
    return a >= b;
  default:
    llvm_unreachable("indices have a sign");
  }
}

static double readElement(const Array &table, const std::vector<double> &indices) {
  std::vector<int64_t> at;
  for (size_t axis = 0; axis < indices.size(); ++axis)
    at.push_back(std::clamp<int64_t>(int64_t(indices[axis]), 0, table.extent(int(axis)) - 1));
  return table.values[table.at(at)];
}

/// `x` are the operands' values.
static double evaluate(Operation &op, const std::vector<double> &x) {
  return llvm::TypeSwitch<Operation *, double>(&op)
      .Case([&](arith::ConstantOp op) { return constantOf(op); })
      .Case<arith::AddFOp, arith::AddIOp>([&](auto) { return x[0] + x[1]; })
      .Case<arith::SubFOp, arith::SubIOp>([&](auto) { return x[0] - x[1]; })
      .Case<arith::MulFOp, arith::MulIOp>([&](auto) { return x[0] * x[1]; })
      .Case([&](arith::DivFOp) { return x[0] / x[1]; })
      .Case([&](arith::FloorDivSIOp) { return std::floor(x[0] / x[1]); })
      .Case([&](arith::NegFOp) { return -x[0]; })
      .Case<arith::MaximumFOp, arith::MaxSIOp>([&](auto) { return std::max(x[0], x[1]); })
      .Case<arith::MinimumFOp, arith::MinSIOp>([&](auto) { return std::min(x[0], x[1]); })
      .Case<arith::CmpFOp, arith::CmpIOp>([&](auto op) { return compare(op.getPredicate(), x[0], x[1]); })
      .Case([&](arith::AndIOp) { return double(x[0] != 0 && x[1] != 0); })
      .Case([&](arith::OrIOp) { return double(x[0] != 0 || x[1] != 0); })
      .Case([&](arith::XOrIOp) { return double((x[0] != 0) != (x[1] != 0)); })
      .Case([&](arith::SelectOp) { return x[0] != 0 ? x[1] : x[2]; })
      .Case([&](arith::SIToFPOp) { return x[0]; })
      .Case([&](arith::FPToSIOp) { return std::trunc(x[0]); })
      .Case([&](math::ExpOp) { return std::exp(x[0]); })
      .Case([&](math::LogOp) { return std::log(x[0]); })
      .Case([&](math::SqrtOp) { return std::sqrt(x[0]); })
      .Case([&](math::TanhOp) { return std::tanh(x[0]); })
      .Case<math::AbsFOp, math::AbsIOp>([&](auto) { return std::fabs(x[0]); });
}

double evaluateScore(Block &body, double score, const std::array<int64_t, 4> &at,
                     const std::vector<const Array *> &tables) {
  llvm::DenseMap<Value, double> values;
  values[body.getArgument(0)] = score;
  for (size_t i = 0; i < at.size(); ++i)
    values[body.getArgument(unsigned(1 + i))] = double(at[i]);
  for (Operation &op : body.without_terminator()) {
    std::vector<double> operands;
    auto element = dyn_cast<attn::ElementOp>(op);
    for (Value operand : element ? element.getIndices() : op.getOperands())
      operands.push_back(values.lookup(operand));
    if (element) {
      auto table = cast<BlockArgument>(element.getTable());
      values[element.getResult()] =
          readElement(*tables[table.getArgNumber() - attn::ScoreMapOp::indexArguments], operands);
    } else {
      values[op.getResult(0)] = evaluate(op, operands);
    }
  }
  return values.lookup(body.getTerminator()->getOperand(0));
}

} // namespace reference
