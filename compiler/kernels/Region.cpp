//===- Region.cpp - a kernel's region as Halide sees it ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Arguments and their layout, and the dispatch from an operation to what builds its elements.

#include "compiler/kernels/Region.h"

#include "llvm/ADT/TypeSwitch.h"

using Halide::Expr;
using mlir::RankedTensorType;

namespace attnc {

static RankedTensorType typeOf(mlir::Value value) { return llvm::cast<RankedTensorType>(value.getType()); }

static bool isPanels(RankedTensorType type) {
  return llvm::isa_and_nonnull<attn::PanelsAttr>(type.getEncoding());
}

Region::Region(attn::KernelOp kernel) : kernelOp(kernel) {
  for (mlir::BlockArgument argument : kernel.getBody().getArguments())
    declare(argument);
}

/// Ids and lengths may lie apart: those of one position of sequences do.
static bool mayLieApart(RankedTensorType type) {
  return type.getElementType().isInteger() && type.getRank() == 1;
}

void Region::declare(mlir::BlockArgument argument) {
  RankedTensorType type = typeOf(argument);
  Halide::Type element = type.getElementType().isF32() ? Halide::Float(32) : Halide::Int(32);
  std::string name = "input" + std::to_string(argument.getArgNumber());
  if (isPanels(type)) {
    int out = type.getDimSize(0), in = type.getDimSize(1);
    Halide::ImageParam param(element, 3, name);
    param.dim(0).set_bounds(0, PanelColumns);
    param.dim(1).set_bounds(0, in).set_stride(PanelColumns);
    param.dim(2).set_bounds(0, (out + PanelColumns - 1) / PanelColumns).set_stride(PanelColumns * in);
    inputs.push_back(param);
    return;
  }
  int rank = type.getRank();
  Halide::ImageParam param(element, rank, name);
  llvm::SmallVector<llvm::StringRef> names = attn::axisNames(type);
  if (mayLieApart(type))
    param.dim(0).set_stride(Expr());
  for (int axis = 0; axis < rank; ++axis) {
    Halide::Internal::Dimension dim = param.dim(axis);
    int64_t extent = type.getDimSize(rank - 1 - axis);
    llvm::StringRef size = names[rank - 1 - axis];
    if (!mlir::ShapedType::isDynamic(extent))
      dim.set_bounds(0, int(extent));
    else if (Expr known = size.empty() ? Expr() : sizes.lookup(size); known.defined())
      dim.set_bounds(0, known);
    else if (dim.set_min(0); !size.empty())
      sizes[size] = dim.extent();
  }
  inputs.push_back(param);
}

Coordinates Region::extentsOf(RankedTensorType type) {
  Coordinates extents;
  llvm::SmallVector<llvm::StringRef> names = attn::axisNames(type);
  for (int axis = type.getRank() - 1; axis >= 0; --axis) {
    int64_t extent = type.getDimSize(axis);
    extents.push_back(mlir::ShapedType::isDynamic(extent) ? sizes.lookup(names[axis]) : Expr(int(extent)));
  }
  return extents;
}

void Region::constrain(Halide::Func result, RankedTensorType type) {
  Halide::OutputImageParam buffer = result.output_buffers()[0];
  Coordinates extents = extentsOf(type);
  if (mayLieApart(type))
    buffer.dim(0).set_stride(Expr());
  for (size_t axis = 0; axis < extents.size(); ++axis) {
    if (extents[axis].defined())
      buffer.dim(axis).set_bounds(0, extents[axis]);
    else
      buffer.dim(axis).set_min(0);
  }
}

mlir::ValueRange Region::results() {
  return llvm::cast<attn::YieldOp>(kernelOp.getBody().front().getTerminator()).getValues();
}

std::vector<Halide::Argument> Region::arguments() const { return {inputs.begin(), inputs.end()}; }

void Region::bind(mlir::Value value, Tensor tensor) {
  if (tensor.defined())
    bound[value] = std::move(tensor);
  else
    bound.erase(value);
}

PanelMatrix Region::panels(mlir::Value weight) {
  RankedTensorType type = typeOf(weight);
  PanelMatrix matrix{int(type.getDimSize(1)), int(type.getDimSize(0)), {}};
  auto argument = llvm::dyn_cast<mlir::BlockArgument>(weight);
  if (argument && isPanels(type)) {
    Halide::ImageParam param = inputs[argument.getArgNumber()];
    matrix.at = [=](Expr lane, Expr k, Expr panel) { return param(lane, k, panel); };
    return matrix;
  }
  Tensor dense = tensor(weight);
  int last = matrix.out - 1;
  matrix.at = [=](Expr lane, Expr k, Expr panel) {
    return dense.at({k, Halide::min(panel * PanelColumns + lane, last)});
  };
  return matrix;
}

std::function<Expr(Expr)> Region::vector(mlir::Value value) {
  if (!value)
    return {};
  Tensor dense = tensor(value);
  return [=](Expr column) { return dense.at({column}); };
}

Tensor Region::inputTensor(mlir::BlockArgument argument) {
  RankedTensorType type = typeOf(argument);
  Halide::ImageParam param = inputs[argument.getArgNumber()];
  if (isPanels(type)) {
    Coordinates extents = {int(type.getDimSize(1)), int(type.getDimSize(0))};
    return {extents,
            [=](const Coordinates &at) { return param(at[1] % PanelColumns, at[0], at[1] / PanelColumns); }};
  }
  Coordinates extents;
  for (int axis = 0; axis < param.dimensions(); ++axis)
    extents.push_back(param.dim(axis).extent());
  return {extents, [=](const Coordinates &at) { return param(std::vector<Expr>(at)); }};
}

Tensor Region::tensor(mlir::Value value) {
  if (auto found = bound.find(value); found != bound.end())
    return found->second;
  if (auto argument = llvm::dyn_cast<mlir::BlockArgument>(value))
    return inputTensor(argument);
  return build(value);
}

Tensor Region::build(mlir::Value value) {
  mlir::Operation *op = value.getDefiningOp();
  if (attn::isView(op))
    return buildView(op);
  return llvm::TypeSwitch<mlir::Operation *, Tensor>(op)
      .Case<attn::EmbedOp, attn::TakeOp, attn::LookupOp, attn::RecallOp, attn::AddPositionsOp, attn::RotaryOp,
            attn::PickOp>([&](auto op) { return buildIndirection(op); })
      .Case<attn::LinearOp, attn::MatmulOp, attn::AdditiveScoresOp, attn::MeanHeadsOp>(
          [&](auto op) { return buildReduction(op); })
      .Case<attn::CausalMaskOp, attn::PaddingMaskOp, attn::WindowMaskOp, attn::PrefixMaskOp>(
          [&](auto op) { return buildMask(op); })
      .Case([&](attn::ScoreMapOp op) { return buildScoreMap(op); })
      .Case([&](attn::L2NormOp op) { return buildL2Norm(op); })
      .Case<attn::LayerNormOp, attn::RmsNormOp>([&](auto op) { return buildNorm(op); })
      .Case([&](attn::SoftmaxOp op) { return buildSoftmax(op.getScores(), false); })
      .Case([&](attn::LogSoftmaxOp op) { return buildSoftmax(op.getLogits(), true); })
      .Default([&](mlir::Operation *op) { return buildPointwise(op); });
}

} // namespace attnc
