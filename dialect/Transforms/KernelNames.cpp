//===- KernelNames.cpp - names that say what a kernel does --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The first operation gives the stem and the static extents, those after it a suffix each.

#include "dialect/Transforms/KernelNames.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace attn {

static std::string dimension(int64_t extent) {
  return ShapedType::isDynamic(extent) ? "any" : std::to_string(extent);
}

/// Heads and width of a head: `8x64`.
static std::string headsOf(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return type.getRank() == 4 ? dimension(type.getDimSize(1)) + "x" + dimension(type.getDimSize(3))
                             : std::string();
}

static std::string suffixOf(Operation &op) {
  if (auto positions = dyn_cast<AddPositionsOp>(op))
    return positions.getStarts() ? "positions_step" : "positions";
  if (auto activation = dyn_cast<ActivationOp>(op))
    return stringifyActivationKind(activation.getKind()).str();
  return op.getName().stripDialect().str();
}

static std::string describeAttention(Block &body) {
  auto makers = llvm::make_filter_range(body, [](Operation &op) { return makesScores(&op); });
  std::string name = llvm::range_size(makers) > 1 ? "attention" : "attention_weights";
  if (!body.getOps<LookupOp>().empty())
    name += "_step";
  else if (!body.getOps<TakeOp>().empty())
    name += "_shared";
  name += "_" + headsOf((*makers.begin()).getOperand(0));
  if (llvm::any_of(body.getOps<MatmulOp>(), [](MatmulOp product) { return product.getRounded(); }))
    name += "_bf16";
  for (Operation &op : body.without_terminator())
    if (!isa<MatmulOp, SoftmaxOp, ScaleOp, TakeOp, LookupOp>(op))
      name += "_" + StringRef(suffixOf(op)).split("_mask").first.split("_scores").first.str();
  return name;
}

/// In and out of a linear, and the type of its weight where it is not f32: `512x2048_i8`.
static std::string matrixOf(LinearOp linear) {
  auto weight = cast<RankedTensorType>(linear.getWeight().getType());
  std::string name = dimension(weight.getDimSize(1)) + "x" + dimension(weight.getDimSize(0));
  if (!weight.getElementType().isF32())
    llvm::raw_string_ostream(name) << '_' << weight.getElementType();
  return name;
}

/// The matrices of a cell, and `masked` where rows may have ended.
static std::string describeCell(Block &body) {
  std::string name = "cell";
  for (auto linear : body.getOps<LinearOp>())
    name += "_" + matrixOf(linear);
  return body.getOps<WhereOp>().empty() ? name : name + "_masked";
}

static std::string stemOf(Operation &op) {
  if (auto linear = dyn_cast<LinearOp>(op))
    return "linear_" + matrixOf(linear);
  auto type = cast<RankedTensorType>(op.getResult(0).getType());
  auto append = dyn_cast<AppendOp>(op);
  std::string heads = headsOf(append ? Value(append.getFresh()) : op.getResult(0));
  if (!heads.empty())
    return suffixOf(op) + "_" + heads;
  int64_t width = type.getRank() == 0 ? ShapedType::kDynamic : type.getShape().back();
  return suffixOf(op) + (ShapedType::isDynamic(width) ? std::string() : "_" + std::to_string(width));
}

static std::string describeWhole(KernelOp kernel) {
  Block &body = kernel.getBody().front();
  if (isa<YieldOp>(body.front()))
    return "copy";
  if (!body.getOps<SoftmaxOp>().empty() && llvm::any_of(body, [](Operation &op) { return makesScores(&op); }))
    return describeAttention(body);
  if (!body.getOps<LinearOp>().empty() && !body.getOps<SliceOp>().empty())
    return describeCell(body);
  std::string name = stemOf(body.front());
  for (Operation &op : llvm::drop_begin(body.without_terminator()))
    name += "_" + suffixOf(op);
  return name;
}

// Names become names of files, which may not be longer than 255 bytes with all that is added.
std::string describeKernel(KernelOp kernel) {
  constexpr size_t longest = 100;
  std::string name = describeWhole(kernel);
  return name.size() > longest ? name.substr(0, name.rfind('_', longest)) + "_and_more" : name;
}

} // namespace attn
