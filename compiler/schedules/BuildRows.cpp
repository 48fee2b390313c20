//===- BuildRows.cpp - products, norms and what is done row by row ---------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/schedules/PipelineBuilder.h"

#include "compiler/kernels/Math.h"

using Halide::Expr;
using Halide::Func;
using Halide::Var;
using mlir::RankedTensorType;

namespace attnc {

/// Adds what `element` makes of `value`, which is made of a product.
void PipelineBuilder::addProduct(attn::MatmulOp matmul, mlir::Value value) {
  auto known = [](int64_t extent) { return mlir::ShapedType::isDynamic(extent) ? 0 : int(extent); };
  ProductInputs inputs;
  inputs.lhs = region.tensor(matmul.getLhs());
  inputs.rhs = region.tensor(matmul.getRhs());
  inputs.isTransposed = matmul.getTransposed();
  inputs.group = headsPerGroup(matmul.getLhs(), matmul.getRhs());
  inputs.terms = known(typeOf(matmul.getLhs()).getShape().back());
  inputs.columns = known(typeOf(matmul.getResult()).getShape().back());
  inputs.element = [&](const Tensor &product, const Coordinates &at) {
    region.bind(matmul.getResult(), product);
    Expr element = elementOf(value, at);
    region.bind(matmul.getResult(), {});
    return element;
  };
  const ProductTiles tiles = chooseProduct(cpu, inputs);
  ProductStages stages = buildProduct(inputs, tiles, "result" + std::to_string(pipeline.outputs.size()));
  scheduleProduct(stages, tiles);
  addResult(stages.result, value);
}

/// Scores are the result's memory first, weights then.
void PipelineBuilder::buildWeightsKernel(attn::SoftmaxOp softmax) {
  mlir::Value scores = softmax.getScores();
  if (auto product = matchProduct(scores))
    addProduct(*product, scores);
  else
    addRows(scores);
  addRows(softmax.getWeights());
  pipeline.firstSharesSecond = true;
}

/// The norm may be written where the sum lies that it reads (EntryPlan::findOnlyNorm): a row's statistics
/// come before its elements, each of which is read once, before it is written.
void PipelineBuilder::addNormResult(mlir::Operation *norm, mlir::Value value) {
  auto layer = llvm::dyn_cast<attn::LayerNormOp>(norm);
  int width = widthOf(norm->getResult(0));
  RowNormInputs inputs;
  inputs.input = region.tensor(norm->getOperand(0));
  inputs.weight = region.vector(norm->getOperand(1));
  inputs.bias = layer ? region.vector(layer.getBias()) : nullptr;
  inputs.epsilon = norm->getAttrOfType<mlir::FloatAttr>("epsilon").getValue().convertToFloat();
  inputs.centred = static_cast<bool>(layer);
  inputs.width = width;
  inputs.lanes = lanesDividing(width, cpu.lanes);
  std::string name = "result" + std::to_string(pipeline.outputs.size());
  RowNormStages stages = buildRowNorm(inputs, name);
  region.bind(norm->getResult(0), stages.result);
  std::vector<Var> vars = axisVars(value);
  Func result(name);
  result(vars) = elementOf(value, {vars.begin(), vars.end()});
  scheduleRows(result.compute_root(), vars, cpu.lanes);
  scheduleRowNorm(stages, inputs.lanes, result, vars[1]);
  region.bind(norm->getResult(0), {});
  addResult(result, value);
}

// Only the new positions are written; the rest of the cache is the same memory as the input.
void PipelineBuilder::buildAppend(attn::AppendOp append) {
  Tensor fresh = region.tensor(append.getFresh()), positions = region.tensor(append.getPositions());
  Tensor cache = region.tensor(append.getCache());
  Var width("width"), key("key"), head("head"), row("row");
  Halide::RDom written(0, fresh.extents[1], 0, positions.extents[0], "written"); // query x row
  // Never outside, whatever the position.
  Expr position = (positions.at({written.y}) + written.x) % cache.extents[2];
  Func result("cache");
  Expr element = storable(append.getResult(), fresh.at({width, written.x, head, written.y}));
  result(width, head, key, row) = Halide::undef(element.type());
  result(width, head, position, written.y) = element;
  result.update()
      .reorder(width, head, written.x, written.y)
      .vectorize(width, lanesDividing(widthOf(append.getFresh()), cpu.lanes));
  scheduleAppendedRows(result.update(), written.x, written.y);
  addResult(result, append.getResult());
}

void PipelineBuilder::buildQuantise(attn::QuantiseOp quantise) {
  Tensor input = region.tensor(quantise.getInput());
  int width = widthOf(quantise.getInput());
  QuantisedRowsStages stages =
      buildQuantisedRows(input, width, widthOf(quantise.getBytes()), lanesDividing(width, cpu.lanes));
  scheduleQuantisedRows(stages, cpu.lanes);
  addResult(stages.scales, quantise.getScales());
  addResult(stages.bytes, quantise.getBytes());
  std::swap(pipeline.outputs[0], pipeline.outputs[1]);
}

void PipelineBuilder::buildConcat(attn::ConcatOp concat) {
  std::vector<Var> vars = axisVars(concat.getResult());
  Func result("concat");
  result(vars) = Halide::undef<float>();
  int offset = 0;
  for (auto [number, input] : llvm::enumerate(concat.getInputs())) {
    Tensor part = region.tensor(input);
    Halide::RDom column(0, widthOf(input), "column" + std::to_string(number));
    Coordinates to(vars.begin(), vars.end()), from = to;
    to[0] = column + offset;
    from[0] = column;
    result(to) = part.at(from);
    result.update(number).vectorize(column, lanesDividing(widthOf(input), cpu.lanes));
    scheduleRowGroups(result.update(number), vars);
    offset += widthOf(input);
  }
  addResult(result, concat.getResult());
}

/// The element of a result as memory holds it: masked scores are minus infinity there, made as bits because
/// the compiler may assume that no float is infinite.
Expr PipelineBuilder::elementOf(mlir::Value value, const Coordinates &at) {
  Expr element = region.tensor(value).at(at);
  if (mayBeMasked(value)) {
    Expr bits = Halide::reinterpret<int32_t>(element);
    element =
        Halide::reinterpret<float>(Halide::select(element < 0.5f * MaskedScore, int32_t(0xff800000), bits));
  }
  return storable(value, element);
}

/// Elements one by one, but for rows' values.
void PipelineBuilder::addRows(mlir::Value value) {
  std::vector<Var> vars = axisVars(value);
  Func result("result" + std::to_string(pipeline.outputs.size()));
  region.rowStages.clear();
  region.laneStages.clear();
  result(vars) = elementOf(value, {vars.begin(), vars.end()});
  scheduleRows(result, vars, cpu.lanes);
  const Var row = vars.size() > 1 ? vars[1] : vars[0];
  for (Func stage : region.rowStages)
    stage.compute_at(result, row).store_in(Halide::MemoryType::Stack);
  for (Func stage : region.laneStages)
    scheduleLaneReduction(stage, cpu.lanes, result, row);
  result.compute_root();
  addResult(result, value);
}

void PipelineBuilder::buildRows() {
  for (mlir::Value value : region.results()) {
    mlir::Operation *norm = nullptr;
    kernel.walk([&](mlir::Operation *op) {
      if (!llvm::isa<attn::LayerNormOp, attn::RmsNormOp>(op) || !dependsOn(value, op))
        return mlir::WalkResult::advance();
      norm = op;
      return mlir::WalkResult::interrupt();
    });
    assert((!norm || typeOf(value).getRank() > 1) && "a norm gives rows");
    if (norm)
      addNormResult(norm, value);
    else if (auto product = matchProduct(value))
      addProduct(*product, value);
    else
      addRows(value);
  }
}

} // namespace attnc
