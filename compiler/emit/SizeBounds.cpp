//===- SizeBounds.cpp - how large the sizes of an entry may be --------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/emit/SizeBounds.h"

#include "compiler/kernels/Archetype.h"

using namespace mlir;
using attn::SizeAttr;
using attn::SizeTerm;

namespace attnc {
namespace {

constexpr int64_t MostElements = INT32_MAX;

/// Every factor of `a` is one of `b`.
bool divides(ArrayAttr a, ArrayAttr b) {
  auto before = [](Attribute left, Attribute right) {
    return cast<StringAttr>(left).getValue() < cast<StringAttr>(right).getValue();
  };
  return std::includes(b.begin(), b.end(), a.begin(), a.end(), before);
}

/// True where `a` is never above `b`, whatever the sizes are (1 or more each). May be false where it is
/// so.
bool isBelow(SizeAttr a, SizeAttr b) {
  if (a == b)
    return true;
  if (a.getTerms().size() != 1)
    return false;
  const SizeTerm &term = a.getTerms().front();
  return llvm::any_of(b.getTerms(), [&](const SizeTerm &other) {
    return term.coefficient <= other.coefficient && divides(term.names, other.names);
  });
}

/// Elements from the first one of a view to past its last one, or more. Of axes that enclose each other, as
/// those of dense tensors do in some order, the outermost has all of them; the reaches of others, which
/// strides of the caller may make, add up.
SizeAttr reachOf(const BufferView &view) {
  const SizeAttr one = SizeAttr::getConstant(view.offset.getContext(), 1);
  SmallVector<std::pair<SizeAttr, SizeAttr>, 4> axes; // extents and strides
  for (auto [extent, stride] : llvm::zip_equal(view.extents, view.strides))
    if (extent != one)
      axes.emplace_back(extent, stride);
  SizeAttr reach = one;
  for (;;) {
    auto next = axes.end(); // the innermost of those that enclose what there is
    for (auto axis = axes.begin(); axis != axes.end(); ++axis)
      if (isBelow(reach, axis->second) && (next == axes.end() || isBelow(axis->second, next->second)))
        next = axis;
    if (next == axes.end())
      break;
    reach = next->first.times(next->second);
    axes.erase(next);
  }
  for (auto [extent, stride] : axes)
    reach = reach.plus(extent.times(stride));
  return reach;
}

class BoundFinder {
public:
  explicit BoundFinder(const PlannedSymbols &symbols) : symbols(symbols) {}

  LogicalResult add(const CallBuffers &call) {
    attn::CallOp op = call.call;
    for (const BufferView &view : call.buffers)
      if (failed(add(reachOf(view), MostElements, op, "elements of a buffer")))
        return failure();
    attn::KernelOp kernel = symbols.kernels.lookup(op.getKernelAttr().getAttr()).first;
    std::optional<AttentionMatch> attention = matchAttention(kernel);
    if (!attention)
      return success();
    auto scores = cast<RankedTensorType>(attention->softmax.getScores().getType()); // batch, head, query, key
    return add(extentsInCall(scores, kernel, call.buffers)[3], MostKeys, op, "keys of attention");
  }

  std::vector<SizeBound> take() { return std::move(bounds); }

private:
  const PlannedSymbols &symbols;
  std::vector<SizeBound> bounds;

  LogicalResult add(SizeAttr formula, int64_t most, attn::CallOp call, StringRef what) {
    for (const SizeTerm &term : formula.getTerms())
      if (term.names.empty() && term.coefficient > most)
        return call.emitError("there are ") << term.coefficient << " " << what << ", the most is " << most;
    if (llvm::all_of(formula.getTerms(), [](const SizeTerm &term) { return term.names.empty(); }))
      return success();
    auto covers = [&](const SizeBound &bound) {
      return bound.most <= most && isBelow(formula, bound.formula);
    };
    auto isCovered = [&](const SizeBound &bound) {
      return most <= bound.most && isBelow(bound.formula, formula);
    };
    if (llvm::any_of(bounds, covers))
      return success();
    llvm::erase_if(bounds, isCovered);
    bounds.push_back({formula, most});
    return success();
  }
};

} // namespace

FailureOr<std::vector<SizeBound>> findBounds(ArrayRef<CallBuffers> calls, const PlannedSymbols &symbols) {
  BoundFinder finder(symbols);
  for (const CallBuffers &call : calls)
    if (failed(finder.add(call)))
      return failure();
  return finder.take();
}

} // namespace attnc
