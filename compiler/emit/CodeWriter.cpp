//===- CodeWriter.cpp - LLVM code that grows at the end of a block ---------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/emit/CodeWriter.h"

using namespace mlir;

namespace attnc {

Value CodeWriter::constant(Type type, int64_t value) {
  return LLVM::ConstantOp::create(builder, loc, type, builder.getIntegerAttr(type, value));
}

Value CodeWriter::address(Type type, Value base, ArrayRef<LLVM::GEPArg> indices) {
  return LLVM::GEPOp::create(builder, loc, types.pointer, type, base, indices);
}

Value CodeWriter::load(Type type, Value from) { return LLVM::LoadOp::create(builder, loc, type, from); }

void CodeWriter::store(Value value, Value to) { LLVM::StoreOp::create(builder, loc, value, to); }

Value CodeWriter::evaluate(attn::SizeAttr formula) {
  if (Value known = values.lookup(formula))
    return known;
  Value sum = constant(types.int64, 0);
  for (const attn::SizeTerm &term : formula.getTerms()) {
    Value product = constant(types.int64, term.coefficient);
    for (StringAttr name : term.names.getAsRange<StringAttr>())
      product = LLVM::MulOp::create(builder, loc, product, size(name));
    sum = LLVM::AddOp::create(builder, loc, sum, product);
  }
  return values[formula] = sum;
}

Value CodeWriter::isBroken(const SizeBound &bound) {
  Type float64 = builder.getF64Type();
  auto number = [&](double value) -> Value {
    return LLVM::ConstantOp::create(builder, loc, float64, builder.getF64FloatAttr(value));
  };
  Value sum = number(0), broken = constant(builder.getI1Type(), 0), zero = constant(types.int64, 0);
  for (const attn::SizeTerm &term : bound.formula.getTerms()) {
    Value product = number(double(term.coefficient));
    for (StringAttr name : term.names.getAsRange<StringAttr>()) {
      Value isBelow = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::slt, size(name), zero);
      broken = LLVM::OrOp::create(builder, loc, broken, isBelow);
      Value extent = LLVM::SMaxOp::create(builder, loc, size(name), constant(types.int64, 1));
      product =
          LLVM::FMulOp::create(builder, loc, product, LLVM::SIToFPOp::create(builder, loc, float64, extent));
    }
    sum = LLVM::FAddOp::create(builder, loc, sum, product);
  }
  Value isAbove =
      LLVM::FCmpOp::create(builder, loc, LLVM::FCmpPredicate::ogt, sum, number(double(bound.most)));
  return LLVM::OrOp::create(builder, loc, broken, isAbove);
}

Value CodeWriter::size(StringAttr name) {
  Value &known = values[name];
  if (!known) {
    auto found = llvm::find(sizeNames, name.getValue());
    assert(found != sizeNames.end() && "checked before lowering");
    int32_t index = static_cast<int32_t>(found - sizeNames.begin());
    known = load(types.int64, address(types.int64, sizes, {index}));
  }
  return known;
}

} // namespace attnc
