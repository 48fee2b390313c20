//===- AttnInfer.cpp - result types of attn operations -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What each result's type follows from. Inference never fails: operands that break a rule give some type
// here, and an error with the rule's label in the verifier, so a builder may build first and verify
// afterwards.

#include "dialect/IR/Attn.h"

using namespace mlir;

namespace attn {
namespace {

/// A tensor type as lists of extents and names; an axis that is not there reads as an unnamed axis of extent
/// one.
struct Axes {
  SmallVector<int64_t> shape;
  SmallVector<StringRef> names;
  Type element;

  Axes() = default;
  explicit Axes(Value value) : Axes(cast<RankedTensorType>(value.getType())) {}
  explicit Axes(RankedTensorType type) {
    shape.assign(type.getShape().begin(), type.getShape().end());
    names = axisNames(type);
    element = type.getElementType();
  }

  /// The place of `axis`, which counts from the end where it is negative; -1 where there is no such axis.
  int place(int axis) const {
    int rank = shape.size(), at = axis < 0 ? rank + axis : axis;
    return at < rank ? std::max(at, -1) : -1;
  }
  int64_t extent(int axis) const { return place(axis) < 0 ? 1 : shape[place(axis)]; }

  void push(const Axes &from, int axis) {
    shape.push_back(from.extent(axis));
    names.push_back(from.place(axis) < 0 ? StringRef() : from.names[from.place(axis)]);
  }

  void push(int64_t extent, StringRef name) {
    shape.push_back(extent);
    names.push_back(name);
  }

  /// Axes are named when all of them are, or when all sizes are: what a weight brings in has extents alone.
  RankedTensorType type() const {
    bool isNamed = true, hasSize = false, areSizesNamed = true;
    SmallVector<StringRef> all;
    for (auto [extent, name] : llvm::zip(shape, names)) {
      isNamed &= !name.empty();
      hasSize |= ShapedType::isDynamic(extent);
      areSizesNamed &= !name.empty() || !ShapedType::isDynamic(extent);
      all.push_back(name.empty() ? StringRef("width") : name);
    }
    if (names.empty() || !(isNamed || (hasSize && areSizesNamed)))
      return RankedTensorType::get(shape, element);
    return namedTensor(element.getContext(), shape, all, element);
  }
};

/// Stands for the name of a new axis of a value whose other axes have no names.
StringRef nameIf(const Axes &axes, StringRef name) {
  return llvm::all_of(axes.names, [](StringRef other) { return !other.empty(); }) ? name : StringRef();
}

/// `input`'s rows with another width.
RankedTensorType withWidth(const Axes &input, int64_t width) {
  Axes result;
  result.element = input.element;
  for (size_t axis = 0; axis + 1 < input.shape.size(); ++axis)
    result.push(input, axis);
  result.push(width, nameIf(input, "width"));
  return result.type();
}

int64_t productOfExtents(int64_t a, int64_t b) {
  return ShapedType::isDynamic(a) || ShapedType::isDynamic(b) ? ShapedType::kDynamic : a * b;
}

} // namespace

RankedTensorType collapsedType(RankedTensorType type) {
  Axes input(type), result;
  result.element = input.element;
  std::string rows; // must outlive `result`
  if (input.shape.size() >= 2) {
    int64_t extent = productOfExtents(input.shape[0], input.shape[1]);
    bool isNamed = !nameIf(input, "row").empty();
    if (isNamed)
      rows = ShapedType::isDynamic(extent) ? extentOf(type, 0).times(extentOf(type, 1)).str() : "row";
    result.push(extent, rows);
  }
  for (size_t axis = 2; axis < input.shape.size(); ++axis)
    result.push(input, axis);
  return result.type();
}

RankedTensorType positionOf(RankedTensorType sequence) {
  Axes input(sequence), result;
  result.element = input.element;
  for (size_t axis = 0; axis < input.shape.size(); ++axis)
    if (axis == 1)
      result.push(1, nameIf(input, "query"));
    else
      result.push(input, axis);
  return result.type();
}

using Types = SmallVectorImpl<Type>;
using Where = std::optional<Location>;

LogicalResult EmbedOp::inferReturnTypes(MLIRContext *context, Where, Adaptor op, Types &types) {
  Axes ids(op.getIds()), table(op.getTable()), result;
  result.element = Float32Type::get(context);
  for (size_t axis = 0; axis < ids.shape.size(); ++axis)
    result.push(ids, axis);
  result.push(table.extent(1), nameIf(ids, "width"));
  types.push_back(result.type());
  return success();
}

LogicalResult AddPositionsOp::inferReturnTypes(MLIRContext *, Where, Adaptor op, Types &types) {
  types.push_back(op.getInput().getType());
  return success();
}

LogicalResult LinearOp::inferReturnTypes(MLIRContext *context, Where, Adaptor op, Types &types) {
  Axes input(op.getInput());
  input.element = Float32Type::get(context);
  types.push_back(withWidth(input, Axes(op.getWeight()).extent(0)));
  return success();
}

LogicalResult QuantiseOp::inferReturnTypes(MLIRContext *context, Where, Adaptor op, Types &types) {
  Axes input(op.getInput());
  int64_t width = input.shape.back();
  input.element = IntegerType::get(context, 8, IntegerType::Unsigned);
  types.push_back(withWidth(input, ShapedType::isDynamic(width) ? width : llvm::alignTo(width, rowBytes)));
  input.element = Float32Type::get(context);
  types.push_back(withWidth(input, 2));
  return success();
}

LogicalResult ConcatOp::inferReturnTypes(MLIRContext *context, Where, Adaptor op, Types &types) {
  if (op.getInputs().empty()) {
    types.push_back(RankedTensorType::get({1, 1}, Float32Type::get(context)));
    return success();
  }
  int64_t width = 0;
  for (Value input : op.getInputs()) {
    int64_t part = Axes(input).shape.back();
    width = ShapedType::isDynamic(width) || ShapedType::isDynamic(part) ? ShapedType::kDynamic : width + part;
  }
  types.push_back(withWidth(Axes(op.getInputs().front()), width));
  return success();
}

LogicalResult LayerNormOp::inferReturnTypes(MLIRContext *, Where, Adaptor op, Types &types) {
  types.push_back(op.getInput().getType());
  return success();
}

LogicalResult RmsNormOp::inferReturnTypes(MLIRContext *, Where, Adaptor op, Types &types) {
  types.push_back(op.getInput().getType());
  return success();
}

LogicalResult SplitHeadsOp::inferReturnTypes(MLIRContext *, Where, Adaptor op, Types &types) {
  Axes input(op.getInput()), result;
  result.element = input.element;
  int64_t heads = std::max<int64_t>(op.getHeads(), 1), width = input.extent(-1);
  result.push(input, 0);
  result.push(heads, nameIf(input, "head"));
  result.push(input, 1);
  result.push(ShapedType::isDynamic(width) ? width : width / heads, nameIf(input, "width"));
  types.push_back(result.type());
  return success();
}

LogicalResult SliceOp::inferReturnTypes(MLIRContext *, Where, Adaptor op, Types &types) {
  types.push_back(withWidth(Axes(op.getInput()), op.getWidth()));
  return success();
}

LogicalResult SelectOp::inferReturnTypes(MLIRContext *, Where, Adaptor op, Types &types) {
  Axes input(op.getInput()), result;
  result.element = input.element;
  result.push(input, 0);
  result.push(input, -1);
  types.push_back(result.type());
  return success();
}

LogicalResult MergeHeadsOp::inferReturnTypes(MLIRContext *, Where, Adaptor op, Types &types) {
  Axes input(op.getInput()), result;
  result.element = input.element;
  result.push(input, 0);
  result.push(input, 2);
  result.push(productOfExtents(input.extent(1), input.extent(3)), nameIf(input, "width"));
  types.push_back(result.type());
  return success();
}

LogicalResult CollapseOp::inferReturnTypes(MLIRContext *, Where, Adaptor op, Types &types) {
  types.push_back(collapsedType(cast<RankedTensorType>(op.getInput().getType())));
  return success();
}

LogicalResult RoundOp::inferReturnTypes(MLIRContext *context, Where, Adaptor op, Types &types) {
  types.push_back(cast<RankedTensorType>(op.getInput().getType()).clone(BFloat16Type::get(context)));
  return success();
}

LogicalResult MatmulOp::inferReturnTypes(MLIRContext *context, Where, Adaptor op, Types &types) {
  Axes lhs(op.getLhs()), rhs(op.getRhs()), result;
  result.element = Float32Type::get(context);
  for (size_t axis = 0; axis + 1 < lhs.shape.size(); ++axis)
    result.push(lhs, axis);
  result.push(rhs, op.getTransposed() ? -2 : -1);
  types.push_back(result.type());
  return success();
}

LogicalResult AdditiveScoresOp::inferReturnTypes(MLIRContext *, Where, Adaptor op, Types &types) {
  Axes query(op.getQuery()), key(op.getKey()), result;
  result.element = query.element;
  for (int axis : {0, 1, 2})
    result.push(query, axis);
  result.push(key, 2);
  types.push_back(result.type());
  return success();
}

LogicalResult ScoreMapOp::inferReturnTypes(MLIRContext *, Where, Adaptor op, Types &types) {
  types.push_back(op.getScores().getType());
  return success();
}

LogicalResult ElementOp::inferReturnTypes(MLIRContext *, Where, Adaptor op, Types &types) {
  types.push_back(cast<RankedTensorType>(op.getTable().getType()).getElementType());
  return success();
}

LogicalResult RotaryOp::inferReturnTypes(MLIRContext *, Where, Adaptor op, Types &types) {
  types.push_back(op.getInput().getType());
  return success();
}

LogicalResult WindowMaskOp::inferReturnTypes(MLIRContext *, Where, Adaptor op, Types &types) {
  types.push_back(op.getScores().getType());
  return success();
}

LogicalResult PrefixMaskOp::inferReturnTypes(MLIRContext *, Where, Adaptor op, Types &types) {
  types.push_back(op.getScores().getType());
  return success();
}

LogicalResult PaddingMaskOp::inferReturnTypes(MLIRContext *, Where, Adaptor op, Types &types) {
  types.push_back(op.getScores().getType());
  return success();
}

LogicalResult MeanHeadsOp::inferReturnTypes(MLIRContext *, Where, Adaptor op, Types &types) {
  Axes weights(op.getWeights()), result;
  result.element = weights.element;
  for (int axis : {0, 2, 3})
    result.push(weights, axis);
  types.push_back(result.type());
  return success();
}

LogicalResult AppendOp::inferReturnTypes(MLIRContext *, Where, Adaptor op, Types &types) {
  types.push_back(op.getCache().getType());
  return success();
}

LogicalResult LookupOp::inferReturnTypes(MLIRContext *, Where, Adaptor op, Types &types) {
  Axes cache(op.getCache()), ancestors(op.getAncestors()), result;
  result.element = cache.element;
  result.push(ancestors, 0);
  result.push(cache, 2);
  result.push(ShapedType::kDynamic, nameIf(cache, "history"));
  result.push(cache, 3);
  types.push_back(result.type());
  return success();
}

LogicalResult RecallOp::inferReturnTypes(MLIRContext *, Where, Adaptor op, Types &types) {
  types.push_back(op.getInitial().getType());
  return success();
}

LogicalResult ZerosOp::inferReturnTypes(MLIRContext *context, Where, Adaptor op, Types &types) {
  Axes batch(op.getBatch()), result;
  result.element = Float32Type::get(context);
  result.push(batch, 0);
  result.push(1, nameIf(batch, "query"));
  result.push(op.getWidth(), nameIf(batch, "width"));
  types.push_back(result.type());
  return success();
}

LogicalResult LiveOp::inferReturnTypes(MLIRContext *context, Where, Adaptor op, Types &types) {
  Axes sequence(op.getSequence()), result;
  result.element = IntegerType::get(context, 32);
  result.push(sequence, 0);
  result.push(sequence, 1);
  types.push_back(result.type());
  return success();
}

LogicalResult WhereOp::inferReturnTypes(MLIRContext *, Where, Adaptor op, Types &types) {
  types.push_back(op.getFresh().getType());
  return success();
}

LogicalResult TakeOp::inferReturnTypes(MLIRContext *, Where, Adaptor op, Types &types) {
  Axes input(op.getInput()), index(op.getIndex()), result;
  result.element = input.element;
  result.push(index, 0);
  for (size_t axis = 1; axis < input.shape.size(); ++axis)
    result.push(input, axis);
  types.push_back(result.type());
  return success();
}

LogicalResult LogSumExpOp::inferReturnTypes(MLIRContext *, Where, Adaptor op, Types &types) {
  Axes input(op.getLogits()), result;
  result.element = input.element;
  for (size_t axis = 0; axis + 1 < input.shape.size(); ++axis)
    result.push(input, axis);
  types.push_back(result.type());
  return success();
}

LogicalResult PickOp::inferReturnTypes(MLIRContext *, Where, Adaptor op, Types &types) {
  Axes ids(op.getIds()), input(op.getInput());
  ids.element = input.element;
  types.push_back(ids.type());
  return success();
}

LogicalResult TopKOp::inferReturnTypes(MLIRContext *context, Where, Adaptor op, Types &types) {
  Axes input(op.getInput()), values;
  values.element = input.element;
  for (size_t axis = 0; axis + 1 < input.shape.size(); ++axis)
    values.push(input, axis);
  values.push(ShapedType::kDynamic, nameIf(input, "candidate"));
  types.push_back(values.type());
  values.element = IntegerType::get(context, 32);
  types.push_back(values.type());
  return success();
}

} // namespace attn
