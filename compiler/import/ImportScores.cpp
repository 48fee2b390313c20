//===- ImportScores.cpp - expressions of scores to score maps --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Writes a typed expression as scalar operations.

#include "compiler/import/SpecBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <limits>

using namespace mlir;

namespace attnc {
namespace {

/// The body of one score map. Arguments: score, batch, head, query, key, tables.
class ScoreBodyBuilder {
public:
  ScoreBodyBuilder(SpecBuilder &build, Block &body, ArrayRef<ScoreTable> tables)
      : build(build), body(body), tables(tables) {}

  Value write(const ScoreExpression &expression);
  Value writeMasked(mlir::Location where, Value score, Value isSeen);

private:
  Value writeElement(const ScoreExpression &element);
  Value writeFunction(const ScoreExpression &call);
  Value writeArithmetic(const ScoreExpression &call, Value a, Value b);
  Value writeComparison(const ScoreExpression &call, Value a, Value b);
  Value writeFloor(Value x);
  Value writeBucket(Value distance, int64_t buckets, int64_t mostDistance);
  Value writeSignedBucket(const ScoreExpression &call, Value distance);
  Value number(double value) {
    return arith::ConstantOp::create(build, where, build.getF32FloatAttr(float(value)));
  }
  Value whole(int64_t value) {
    return arith::ConstantOp::create(build, where, build.getI32IntegerAttr(int32_t(value)));
  }
  template <typename FloatOp, typename IntegerOp> Value choose(Value a, Value b) {
    return a.getType().isF32() ? Value(FloatOp::create(build, where, a, b))
                               : Value(IntegerOp::create(build, where, a, b));
  }

  SpecBuilder &build;
  Block &body;
  ArrayRef<ScoreTable> tables;
  mlir::Location where = build.getUnknownLoc();
};

} // namespace

Value ScoreBodyBuilder::write(const ScoreExpression &expression) {
  using Kind = ScoreExpression::Kind;
  switch (expression.kind) {
  case Kind::Score:
  case Kind::Batch:
  case Kind::Head:
  case Kind::Query:
  case Kind::Key:
    return body.getArgument(unsigned(expression.kind));
  case Kind::Constant:
    where = build.at(expression.where);
    return expression.type == ScalarType::Number ? number(expression.value)
                                                 : whole(int64_t(expression.value));
  case Kind::Element:
    return writeElement(expression);
  case Kind::Function:
    return writeFunction(expression);
  }
  llvm_unreachable("every kind is listed");
}

Value ScoreBodyBuilder::writeElement(const ScoreExpression &element) {
  SmallVector<Value> indices;
  for (const ScoreExpression &index : element.operands)
    indices.push_back(write(index));
  const ScoreTable *table = llvm::find_if(tables, [&](auto &known) { return known.name == element.table; });
  Value argument = body.getArgument(unsigned(attn::ScoreMapOp::indexArguments + (table - tables.begin())));
  return attn::ElementOp::create(build, build.at(element.where), argument, indices);
}

/// The largest whole number that is not above `x`, which is clamped to what 32 bits hold.
Value ScoreBodyBuilder::writeFloor(Value x) {
  constexpr double most = 1 << 30;
  x = arith::MaximumFOp::create(build, where, arith::MinimumFOp::create(build, where, x, number(most)),
                                number(-most));
  Value cut = arith::FPToSIOp::create(build, where, build.getI32Type(), x);
  Value back = arith::SIToFPOp::create(build, where, build.getF32Type(), cut);
  Value isAbove = arith::CmpFOp::create(build, where, arith::CmpFPredicate::OGT, back, x);
  Value below = arith::SubIOp::create(build, where, cut, whole(1));
  return arith::SelectOp::create(build, where, isAbove, below, cut);
}

/// The bucket of a distance that is not negative: below half of them it is the distance, above, as many more
/// as bounds are passed.
Value ScoreBodyBuilder::writeBucket(Value distance, int64_t buckets, int64_t mostDistance) {
  int64_t exact = buckets / 2;
  Value result = arith::MinSIOp::create(build, where, distance, whole(exact));
  std::vector<int64_t> starts = bucketStarts(buckets, mostDistance);
  for (int64_t bucket = exact + 1; bucket < buckets; ++bucket) {
    Value isPast = arith::CmpIOp::create(build, where, arith::CmpIPredicate::sge, distance,
                                         whole(starts[size_t(bucket - 1)]));
    Value added = arith::SelectOp::create(build, where, isPast, whole(1), whole(0));
    result = arith::AddIOp::create(build, where, result, added);
  }
  return result;
}

/// `bucket`: half of the buckets for each direction, keys after the query last. `causal_bucket`: keys after
/// the query are in the first one.
Value ScoreBodyBuilder::writeSignedBucket(const ScoreExpression &call, Value distance) {
  int64_t buckets = int64_t(call.operands[1].value), mostDistance = int64_t(call.operands[2].value);
  Value zero = whole(0), opposite = arith::SubIOp::create(build, where, zero, distance);
  if (call.function == ScalarFunction::CausalBucket)
    return writeBucket(arith::MaxSIOp::create(build, where, opposite, zero), buckets, mostDistance);
  Value isAfter = arith::CmpIOp::create(build, where, arith::CmpIPredicate::sgt, distance, zero);
  Value length = arith::MaxSIOp::create(build, where, distance, opposite);
  Value first = arith::SelectOp::create(build, where, isAfter, whole(buckets / 2), zero);
  return arith::AddIOp::create(build, where, first, writeBucket(length, buckets / 2, mostDistance));
}

Value ScoreBodyBuilder::writeComparison(const ScoreExpression &call, Value a, Value b) {
  struct Predicates {
    ScalarFunction function;
    arith::CmpFPredicate ofNumbers;
    arith::CmpIPredicate ofWhole;
  };
  static const Predicates all[] = {
      {ScalarFunction::Less, arith::CmpFPredicate::OLT, arith::CmpIPredicate::slt},
      {ScalarFunction::LessEqual, arith::CmpFPredicate::OLE, arith::CmpIPredicate::sle},
      {ScalarFunction::Greater, arith::CmpFPredicate::OGT, arith::CmpIPredicate::sgt},
      {ScalarFunction::GreaterEqual, arith::CmpFPredicate::OGE, arith::CmpIPredicate::sge},
      {ScalarFunction::Equal, arith::CmpFPredicate::OEQ, arith::CmpIPredicate::eq},
      {ScalarFunction::NotEqual, arith::CmpFPredicate::ONE, arith::CmpIPredicate::ne}};
  const Predicates *found =
      llvm::find_if(all, [&](const Predicates &known) { return known.function == call.function; });
  if (a.getType().isF32())
    return arith::CmpFOp::create(build, where, found->ofNumbers, a, b);
  return arith::CmpIOp::create(build, where, found->ofWhole, a, b);
}

/// Functions of numbers or whole numbers; null for others.
Value ScoreBodyBuilder::writeArithmetic(const ScoreExpression &call, Value a, Value b) {
  switch (call.function) {
  case ScalarFunction::Negate:
    return a.getType().isF32() ? Value(arith::NegFOp::create(build, where, a))
                               : Value(arith::SubIOp::create(build, where, whole(0), a));
  case ScalarFunction::Add:
    return choose<arith::AddFOp, arith::AddIOp>(a, b);
  case ScalarFunction::Subtract:
    return choose<arith::SubFOp, arith::SubIOp>(a, b);
  case ScalarFunction::Multiply:
    return choose<arith::MulFOp, arith::MulIOp>(a, b);
  case ScalarFunction::Divide:
    return arith::DivFOp::create(build, where, a, b);
  case ScalarFunction::FloorDivide:
    return arith::FloorDivSIOp::create(build, where, a, b);
  case ScalarFunction::Remainder: {
    Value whole = arith::FloorDivSIOp::create(build, where, a, b);
    return arith::SubIOp::create(build, where, a, arith::MulIOp::create(build, where, whole, b));
  }
  case ScalarFunction::ToNumber:
    return arith::SIToFPOp::create(build, where, build.getF32Type(), a);
  case ScalarFunction::Abs:
    return a.getType().isF32() ? Value(math::AbsFOp::create(build, where, a))
                               : Value(math::AbsIOp::create(build, where, a));
  case ScalarFunction::Exp:
    return math::ExpOp::create(build, where, a);
  case ScalarFunction::Floor:
    return writeFloor(a);
  case ScalarFunction::Log:
    return math::LogOp::create(build, where, a);
  case ScalarFunction::Sqrt:
    return math::SqrtOp::create(build, where, a);
  case ScalarFunction::Tanh:
    return math::TanhOp::create(build, where, a);
  case ScalarFunction::Sigmoid: {
    Value decay = math::ExpOp::create(build, where, arith::NegFOp::create(build, where, a));
    return arith::DivFOp::create(build, where, number(1),
                                 arith::AddFOp::create(build, where, decay, number(1)));
  }
  case ScalarFunction::Softcap: {
    Value bent = math::TanhOp::create(build, where, arith::DivFOp::create(build, where, a, b));
    return arith::MulFOp::create(build, where, bent, b);
  }
  default:
    return {};
  }
}

Value ScoreBodyBuilder::writeFunction(const ScoreExpression &call) {
  SmallVector<Value> operands;
  for (const ScoreExpression &operand : call.operands)
    operands.push_back(write(operand));
  where = build.at(call.where);
  Value a = operands[0], b = operands.size() > 1 ? operands[1] : Value();
  if (Value result = writeArithmetic(call, a, b))
    return result;
  switch (call.function) {
  case ScalarFunction::Not: {
    Value yes = arith::ConstantOp::create(build, where, build.getBoolAttr(true));
    return arith::XOrIOp::create(build, where, a, yes);
  }
  case ScalarFunction::And:
    return arith::AndIOp::create(build, where, a, b);
  case ScalarFunction::Or:
    return arith::OrIOp::create(build, where, a, b);
  case ScalarFunction::Max:
  case ScalarFunction::Min:
    for (Value other : llvm::drop_begin(operands))
      a = call.function == ScalarFunction::Max ? choose<arith::MaximumFOp, arith::MaxSIOp>(a, other)
                                               : choose<arith::MinimumFOp, arith::MinSIOp>(a, other);
    return a;
  case ScalarFunction::Select:
    return arith::SelectOp::create(build, where, a, b, operands[2]);
  case ScalarFunction::Bucket:
  case ScalarFunction::CausalBucket:
    return writeSignedBucket(call, a);
  default:
    return writeComparison(call, a, b);
  }
}

Value ScoreBodyBuilder::writeMasked(mlir::Location at, Value score, Value isSeen) {
  where = at;
  return arith::SelectOp::create(build, where, isSeen, score,
                                 number(-std::numeric_limits<double>::infinity()));
}

attn::ScoreMapOp SpecBuilder::createScoreMap(mlir::Location where, Value scores, const ScoreMapText &text,
                                             ArrayRef<ScoreTable> tables) {
  SmallVector<Value> values =
      llvm::map_to_vector(tables, [](const ScoreTable &table) { return table.value; });
  auto map = attn::ScoreMapOp::create(*this, where, scores, Value(), values);
  Block &body = map.getBody().emplaceBlock();
  body.addArgument(getF32Type(), where);
  for (unsigned index = 1; index < attn::ScoreMapOp::indexArguments; ++index)
    body.addArgument(getI32Type(), where);
  for (Value value : values)
    body.addArgument(value.getType(), where);
  InsertionGuard guard(*this);
  setInsertionPointToStart(&body);
  ScoreBodyBuilder writer(*this, body, tables);
  Value score = text.score ? writer.write(*text.score) : Value(body.getArgument(0));
  if (text.mask)
    score = writer.writeMasked(where, score, writer.write(*text.mask));
  attn::YieldOp::create(*this, where, score);
  return map;
}

} // namespace attnc
