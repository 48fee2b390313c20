//===- Region.cpp - a kernel's region as Halide sees it ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Arguments and their layout, and the dispatch from an operation to what builds its elements.

#include "compiler/kernels/Region.h"

#include "compiler/kernels/Math.h"

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

static Halide::Type halideType(mlir::Type element) {
  if (element.isF32())
    return Halide::Float(32);
  if (element.isBF16()) // its bits
    return Halide::UInt(16);
  int bits = element.getIntOrFloatBitWidth();
  return element.isUnsignedInteger() ? Halide::UInt(bits) : Halide::Int(bits);
}

/// Ids and lengths may lie apart: those of one position of sequences do.
static bool mayLieApart(RankedTensorType type) {
  return type.getElementType().isInteger(32) && type.getRank() == 1;
}

void Region::declare(mlir::BlockArgument argument) {
  RankedTensorType type = typeOf(argument);
  std::string name = "input" + std::to_string(argument.getArgNumber());
  if (isPanels(type))
    return declarePanels(type, name);
  int rank = type.getRank();
  Halide::ImageParam param(halideType(type.getElementType()), rank, name);
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

// A pair of bfloat16 weights is one word.
void Region::declarePanels(RankedTensorType type, const std::string &name) {
  llvm::SmallVector<int64_t> extents = attn::panelExtents(type);
  bool isPairs = type.getElementType().isBF16();
  if (isPairs)
    extents.pop_back();
  Halide::ImageParam param(isPairs ? Halide::Int(32) : halideType(type.getElementType()), int(extents.size()),
                           name);
  int stride = 1;
  for (auto [axis, extent] : llvm::enumerate(llvm::reverse(extents))) {
    param.dim(int(axis)).set_bounds(0, int(extent)).set_stride(stride);
    stride *= int(extent);
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
    int group = matrix.group = int(llvm::cast<attn::PanelsAttr>(type.getEncoding()).getGroup());
    if (type.getElementType().isInteger())
      matrix.at = [=](Expr lane, Expr k, Expr panel) { return param(k % group, lane, k / group, panel); };
    else if (type.getElementType().isBF16())
      matrix.at = [=](Expr lane, Expr k, Expr panel) {
        Expr pair = param(lane, k / 2, panel); // the first of the two in the low half
        return Halide::reinterpret<float>(Halide::select(k % 2 == 0, pair << 16, pair & int32_t(0xffff0000)));
      };
    else
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

LinearInputs Region::linear(attn::LinearOp op) {
  LinearInputs linear{tensor(op.getInput()), panels(op.getWeight()), vector(op.getBias()), {}, {}, {}};
  linear.areRounded = typeOf(op.getInput()).getElementType().isBF16();
  auto rows = llvm::dyn_cast<mlir::BlockArgument>(op.getInput());
  auto weight = llvm::dyn_cast<mlir::BlockArgument>(op.getWeight());
  if (rows && weight && isPanels(typeOf(weight)) && typeOf(rows).getRank() == 2)
    linear.external = {inputs[rows.getArgNumber()], inputs[weight.getArgNumber()]};
  if (!op.getInputScales())
    return linear;
  Tensor scales = tensor(op.getWeightScales());
  auto row = [&](int number) { return [=](Expr column) { return scales.at({column, number}); }; };
  linear.scales = {tensor(op.getInputScales()), row(0), row(1)};
  return linear;
}

std::vector<Halide::ImageParam> Region::memory(mlir::ValueRange values) {
  std::vector<Halide::ImageParam> found;
  for (mlir::Value value : values) {
    auto argument = llvm::dyn_cast<mlir::BlockArgument>(value);
    if (!argument || isPanels(typeOf(value)))
      return {};
    found.push_back(inputs[argument.getArgNumber()]);
  }
  return found;
}

std::vector<Halide::ImageParam> Region::cachedMemory(mlir::Value key, mlir::Value value) {
  mlir::Operation *keys = key.getDefiningOp(), *values = value.getDefiningOp();
  if (!llvm::isa_and_nonnull<attn::TakeOp, attn::LookupOp>(keys) || !values ||
      keys->getName() != values->getName() || keys->getOperand(1) != values->getOperand(1))
    return {};
  return memory({keys->getOperand(0), values->getOperand(0), keys->getOperand(1)});
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
    auto element = panels(argument).at;
    return {extents, [=](const Coordinates &at) {
              return element(at[1] % PanelColumns, at[0], at[1] / PanelColumns);
            }};
  }
  Coordinates extents;
  for (int axis = 0; axis < param.dimensions(); ++axis)
    extents.push_back(param.dim(axis).extent());
  Tensor held = {extents, [=](const Coordinates &at) { return param(std::vector<Expr>(at)); }};
  return loaded(argument, held);
}

Tensor loaded(mlir::Value value, const Tensor &held) {
  if (!typeOf(value).getElementType().isBF16())
    return held;
  return {held.extents, [held](const Coordinates &at) { return fromBfloat(held.at(at)); }};
}

Expr storable(mlir::Value value, const Expr &element) {
  if (!typeOf(value).getElementType().isBF16())
    return element;
  return Halide::cast<uint16_t>(Halide::reinterpret<uint32_t>(element) >> 16);
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
      .Case([&](attn::SoftmaxOp op) { return buildSoftmax(op); })
      .Case([&](attn::LogSoftmaxOp op) { return buildLogSoftmax(tensor(op.getLogits())); })
      .Case([&](attn::LogSumExpOp op) { return buildLogSum(tensor(op.getLogits())); })
      .Default([&](mlir::Operation *op) { return buildPointwise(op); });
}

} // namespace attnc
