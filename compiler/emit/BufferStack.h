//===- BufferStack.h - Halide buffers on an entry's stack ------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ATTNC_COMPILER_EMIT_BUFFERSTACK_H
#define ATTNC_COMPILER_EMIT_BUFFERSTACK_H

#include "compiler/emit/BufferView.h"
#include "compiler/emit/CodeWriter.h"

namespace attnc {

/// Halide buffers on an entry's stack: one set that every call fills anew.
class BufferStack {
public:
  /// Makes room for the buffers of each of `calls`.
  BufferStack(CodeWriter &code, mlir::ArrayRef<CallBuffers> calls);

  /// Describes `view` in buffer `slot`; its elements start at `host`. Gives the buffer's address.
  mlir::Value fill(int32_t slot, const BufferView &view, mlir::Value host);

private:
  CodeWriter &code;
  int64_t count = 0, rank = 0;
  mlir::Value buffers, axes;

  mlir::Value allocate(mlir::Type type, int64_t number);
  mlir::Value field(int32_t slot, BufferField which);
  mlir::Value field(int32_t slot, BufferField which, int32_t inner);
  mlir::Value axis(int32_t slot, int32_t i);
  mlir::Value axisField(int32_t slot, int32_t i, AxisField which);
  mlir::Value number(attn::SizeAttr formula);
};

} // namespace attnc

#endif // ATTNC_COMPILER_EMIT_BUFFERSTACK_H
