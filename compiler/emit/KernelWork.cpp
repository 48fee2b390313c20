//===- KernelWork.cpp - how much a call of a kernel does -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/emit/KernelWork.h"

#include "compiler/kernels/Archetype.h"

#include "llvm/ADT/StringMap.h"

using namespace mlir;
using attn::SizeAttr;

namespace attnc {
namespace {

/// Counts the operations of one kernel's region with the extents that a call gives its axes.
class WorkCounter {
public:
  WorkCounter(const CallBuffers &call, attn::KernelOp kernel, ArrayRef<std::string> sizes)
      : call(call), kernel(kernel), sizes(sizes), one(SizeAttr::getConstant(kernel.getContext(), 1)) {
    for (auto [number, argument] : llvm::enumerate(kernel.getBody().getArguments())) {
      auto type = cast<RankedTensorType>(argument.getType());
      for (auto [axis, name] : llvm::enumerate(attn::axisNames(type)))
        if (type.isDynamicDim(axis))
          extents[name] = call.buffers[number].extents[axis];
    }
  }

  KernelWork count() {
    KernelWork work{one.times(0), one.times(0), {}};
    for (auto [number, view] : llvm::enumerate(call.buffers))
      if (!isTouchedInParts(number))
        work.bytes = work.bytes.plus(bytesOf(view));
    for (Operation &op : kernel.getBody().front().without_terminator()) {
      if (auto append = dyn_cast<attn::AppendOp>(op))
        work.bytes = work.bytes.plus(elements(append.getFresh()).times(bytesOfElement(append.getCache())));
      else if (isReadInRows(&op))
        work.rows.push_back({bytesOfRows(&op), bytesOfWhole(&op)});
      work.operations = work.operations.plus(operationsOf(&op));
    }
    return work;
  }

private:
  const CallBuffers &call;
  attn::KernelOp kernel;
  ArrayRef<std::string> sizes;
  SizeAttr one;
  llvm::StringMap<SizeAttr> extents; // of axes, by name

  static bool isReadInRows(Operation *op) {
    return isa<attn::EmbedOp, attn::AddPositionsOp, attn::RotaryOp, attn::AppendOp, attn::LookupOp,
               attn::TakeOp>(op);
  }

  /// The table or cache that such an operation has.
  static Value wholeOf(Operation *op) {
    return op->getOperand(isa<attn::LookupOp, attn::TakeOp>(op) ? 0 : 1);
  }

  SizeAttr bytesOfRows(Operation *op) {
    if (auto rotary = dyn_cast<attn::RotaryOp>(op)) { // all heads of a position read one row
      auto heads = cast<RankedTensorType>(rotary.getType()),
           table = cast<RankedTensorType>(rotary.getTable().getType());
      return extent(heads, 0)
          .times(extent(heads, 2))
          .times(table.getDimSize(1) * bytesOfElement(rotary.getTable()));
    }
    return elements(op->getResult(0)).times(bytesOfElement(wholeOf(op)));
  }
  SizeAttr bytesOfWhole(Operation *op) { return elements(wholeOf(op)).times(bytesOfElement(wholeOf(op))); }

  static int64_t bytesOfElement(Value value) {
    return cast<RankedTensorType>(value.getType()).getElementTypeBitWidth() / 8;
  }

  /// A table or cache of which some rows are read, or the cache that a row is appended to.
  bool isTouchedInParts(size_t number) {
    auto isPart = [](OpOperand &use) {
      Operation *op = use.getOwner();
      return isReadInRows(op) &&
             (use.get() == wholeOf(op) || (isa<attn::EmbedOp>(op) && use.getOperandNumber() > 1));
    };
    size_t arguments = kernel.getBody().getNumArguments();
    if (number < arguments)
      return llvm::all_of(kernel.getBody().getArgument(number).getUses(), isPart);
    Operation *yield = kernel.getBody().front().getTerminator();
    size_t result = number - arguments;
    return result < yield->getNumOperands() && yield->getOperand(result).getDefiningOp<attn::AppendOp>();
  }

  SizeAttr bytesOf(const BufferView &view) {
    SizeAttr bytes = one.times(view.element.getIntOrFloatBitWidth() / 8);
    for (SizeAttr extent : view.extents)
      bytes = bytes.times(extent);
    return bytes;
  }

  SizeAttr extent(RankedTensorType type, unsigned axis) {
    if (!type.isDynamicDim(axis))
      return one.times(type.getDimSize(axis));
    StringRef name = attn::axisNames(type)[axis];
    if (SizeAttr known = extents.lookup(name))
      return known;
    return llvm::is_contained(sizes, name) ? SizeAttr::getNamed(kernel.getContext(), name) : one;
  }
  SizeAttr elements(Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    SizeAttr product = one;
    for (int64_t axis = 0; axis < type.getRank(); ++axis)
      product = product.times(extent(type, axis));
    return product;
  }

  SizeAttr operationsOf(Operation *op) {
    if (auto linear = dyn_cast<attn::LinearOp>(op)) {
      const int64_t inputs =
          cast<RankedTensorType>(linear.getWeight().getType()).getDimSize(1); // rows of bytes are filled up
      return elements(linear.getResult()).times(2 * inputs);
    }
    auto matmul = dyn_cast<attn::MatmulOp>(op);
    if (!matmul)
      return one.times(0);
    auto left = cast<RankedTensorType>(matmul.getLhs().getType());
    // Attention skips blocks of keys that causal masks hide.
    bool causal = matchAttention(kernel) && !kernel.getBody().getOps<attn::CausalMaskOp>().empty();
    return elements(matmul.getResult()).times(extent(left, left.getRank() - 1)).times(causal ? 1 : 2);
  }
};

} // namespace

KernelWork countWork(const CallBuffers &call, attn::KernelOp kernel, ArrayRef<std::string> sizes) {
  return WorkCounter(call, kernel, sizes).count();
}

} // namespace attnc
