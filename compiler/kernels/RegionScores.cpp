//===- RegionScores.cpp - masks and maps of scores as expressions -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// A mask selects between the score and MaskedScore; the body of a score map becomes one expression.

#include "compiler/kernels/Math.h"
#include "compiler/kernels/Region.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using Halide::Expr;
using mlir::arith::CmpFPredicate;
using mlir::arith::CmpIPredicate;

namespace attnc {
namespace {

/// Places of a score in its coordinates, which have the fastest axis first.
enum ScoreAxis { KeyAxis, QueryAxis, HeadAxis, BatchAxis };

/// Expressions of the values in a score map's body, for one score.
class ScalarBuilder {
public:
  void set(mlir::Value value, Expr expression) { values[value] = std::move(expression); }
  void setTable(mlir::Value value, Tensor table) { tables[value] = std::move(table); }
  Expr get(mlir::Value value) const { return values.lookup(value); }
  void build(mlir::Operation &op) { set(op.getResult(0), expressionOf(op)); }

private:
  Expr expressionOf(mlir::Operation &op) const;
  Expr elementOf(attn::ElementOp element) const;

  llvm::DenseMap<mlir::Value, Expr> values;
  llvm::DenseMap<mlir::Value, Tensor> tables;
};

} // namespace

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

bool mayBeMasked(mlir::Value value) {
  mlir::Operation *op = value.getDefiningOp();
  if (!op || attn::makesScores(op) || llvm::isa<attn::SoftmaxOp, attn::LinearOp>(op))
    return false;
  return llvm::isa<attn::CausalMaskOp, attn::PaddingMaskOp, attn::WindowMaskOp, attn::PrefixMaskOp,
                   attn::ScoreMapOp>(op) ||
         llvm::any_of(op->getOperands(), mayBeMasked);
}

Tensor Region::buildScoreMap(attn::ScoreMapOp map) {
  Tensor scores = tensor(map.getScores()), starts = map.getStarts() ? tensor(map.getStarts()) : Tensor();
  std::vector<Tensor> tables;
  for (mlir::Value table : map.getTables())
    tables.push_back(tensor(table));
  // Scores from memory may hold minus infinity.
  bool staysMasked = llvm::isa<mlir::BlockArgument>(map.getScores()) || mayBeMasked(map.getScores());
  mlir::Block &body = map.getBody().front();
  return {scores.extents, [=, &body](const Coordinates &at) {
            Expr score = scores.at(at), query = at[QueryAxis];
            if (starts.defined())
              query = query + starts.at({at[BatchAxis]});
            ScalarBuilder scalars;
            unsigned number = 0;
            for (const Expr &own : {score, at[BatchAxis], at[HeadAxis], query, at[KeyAxis]})
              scalars.set(body.getArgument(number++), own);
            for (const Tensor &table : tables)
              scalars.setTable(body.getArgument(number++), table);
            for (mlir::Operation &op : body.without_terminator())
              scalars.build(op);
            // Functions use their operands several times: shared, or nested ones would grow exponentially.
            Expr mapped = Halide::Internal::common_subexpression_elimination(
                scalars.get(body.getTerminator()->getOperand(0)));
            return staysMasked ? Halide::select(score > 0.5f * MaskedScore, mapped, MaskedScore) : mapped;
          }};
}

/// Keys that the query at `query` sees, of the row `batch`.
Expr Region::isVisible(mlir::Operation *mask, const Expr &key, const Expr &query, const Expr &batch) {
  return llvm::TypeSwitch<mlir::Operation *, Expr>(mask)
      .Case([&](attn::CausalMaskOp) { return key <= query; })
      .Case([&](attn::PaddingMaskOp op) { return key < tensor(op.getLengths()).at({batch}); })
      .Case([&](attn::PrefixMaskOp op) { return key <= query || key < tensor(op.getLengths()).at({batch}); })
      .Case([&](attn::WindowMaskOp op) {
        Expr position = op.getStarts() ? query + tensor(op.getStarts()).at({batch}) : query;
        Expr isNear = op.getBefore() ? key >= position - int(*op.getBefore()) : Expr();
        if (!op.getAfter())
          return isNear;
        Expr isBehind = key <= position + int(*op.getAfter());
        return isNear.defined() ? isNear && isBehind : isBehind;
      });
}

Tensor Region::buildMask(mlir::Operation *mask) {
  Tensor scores = tensor(mask->getOperand(0));
  return {scores.extents, [=, this](const Coordinates &at) {
            Expr visible = isVisible(mask, at[KeyAxis], at[QueryAxis], at[BatchAxis]);
            return Halide::select(visible, scores.at(at), MaskedScore);
          }};
}

KeyRange Region::visibleKeys(mlir::Operation *mask, const Expr &firstQuery, const Expr &lastQuery,
                             const Expr &batch) {
  return llvm::TypeSwitch<mlir::Operation *, KeyRange>(mask)
      .Case([&](attn::CausalMaskOp) -> KeyRange { return {{}, lastQuery + 1}; })
      .Case([&](attn::PaddingMaskOp op) -> KeyRange { return {{}, tensor(op.getLengths()).at({batch})}; })
      .Case([&](attn::PrefixMaskOp op) -> KeyRange {
        return {{}, Halide::max(lastQuery + 1, tensor(op.getLengths()).at({batch}))};
      })
      .Case([&](attn::WindowMaskOp op) -> KeyRange {
        Expr start = op.getStarts() ? tensor(op.getStarts()).at({batch}) : Expr(0);
        Expr first = op.getBefore() ? firstQuery + start - int(*op.getBefore()) : Expr();
        return {first, op.getAfter() ? lastQuery + start + int(*op.getAfter()) + 1 : Expr()};
      });
}

} // namespace attnc
