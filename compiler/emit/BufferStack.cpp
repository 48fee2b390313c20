//===- BufferStack.cpp - Halide buffers on an entry's stack ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/emit/BufferStack.h"

using namespace mlir;

namespace attnc {

/// A halide_type_code_t.
static int64_t typeCodeOf(Type element) {
  constexpr int64_t signedInteger = 0, unsignedInteger = 1, floatingPoint = 2;
  if (element.isF32())
    return floatingPoint;
  return element.isUnsignedInteger() || element.isBF16() ? unsignedInteger : signedInteger;
}

BufferStack::BufferStack(CodeWriter &code, ArrayRef<CallBuffers> calls) : code(code) {
  for (const CallBuffers &call : calls) {
    count = std::max<int64_t>(count, call.buffers.size());
    for (const BufferView &view : call.buffers)
      rank = std::max<int64_t>(rank, view.extents.size());
  }
  if (count == 0)
    return;
  buffers = allocate(code.types.buffer, count);
  axes = allocate(code.types.axis, count * rank);
  // What no call changes: minima and flags are zero, lanes one, axes at their place.
  for (int32_t slot = 0; slot < count; ++slot) {
    code.store(axis(slot, 0), field(slot, BufferField::Axes));
    code.store(code.constant(code.types.int16, 1), field(slot, BufferField::Type, 2));
  }
}

Value BufferStack::fill(int32_t slot, const BufferView &view, Value host) {
  const InterfaceTypes &types = code.types;
  code.store(host, field(slot, BufferField::Host));
  code.store(code.constant(types.int8, typeCodeOf(view.element)), field(slot, BufferField::Type, 0));
  code.store(code.constant(types.int8, view.element.getIntOrFloatBitWidth()),
             field(slot, BufferField::Type, 1));
  code.store(code.constant(types.int32, view.extents.size()), field(slot, BufferField::Rank));
  for (int32_t i = 0, last = view.extents.size() - 1; i <= last; ++i) {
    code.store(number(view.extents[last - i]), axisField(slot, i, AxisField::Extent));
    code.store(number(view.strides[last - i]), axisField(slot, i, AxisField::Stride));
  }
  return code.address(types.buffer, buffers, {slot});
}

Value BufferStack::allocate(Type type, int64_t number) {
  OpBuilder &b = code.builder;
  Type array = LLVM::LLVMArrayType::get(type, number);
  Value memory =
      LLVM::AllocaOp::create(b, code.loc, code.types.pointer, array, code.constant(code.types.int32, 1), 16);
  int64_t bytes = number * (type == Type(code.types.buffer) ? 56 : 16);
  LLVM::MemsetOp::create(b, code.loc, memory, code.constant(code.types.int8, 0),
                         code.constant(code.types.int64, bytes), /*isVolatile=*/false);
  return memory;
}

Value BufferStack::field(int32_t slot, BufferField which) {
  return code.address(code.types.buffer, buffers, {slot, static_cast<int32_t>(which)});
}

Value BufferStack::field(int32_t slot, BufferField which, int32_t inner) {
  return code.address(code.types.buffer, buffers, {slot, static_cast<int32_t>(which), inner});
}

Value BufferStack::axis(int32_t slot, int32_t i) {
  return code.address(code.types.axis, axes, {static_cast<int32_t>(slot * rank + i)});
}

Value BufferStack::axisField(int32_t slot, int32_t i, AxisField which) {
  return code.address(code.types.axis, axes,
                      {static_cast<int32_t>(slot * rank + i), static_cast<int32_t>(which)});
}

Value BufferStack::number(attn::SizeAttr formula) {
  return LLVM::TruncOp::create(code.builder, code.loc, code.types.int32, code.evaluate(formula));
}

} // namespace attnc
