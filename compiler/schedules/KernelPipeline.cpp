//===- KernelPipeline.cpp - a scheduled kernel, ready to be compiled --------===//
// SPDX-License-Identifier: Apache-2.0
//
// Finds a kernel's archetype, whose function makes the pipeline.

#include "compiler/schedules/KernelPipeline.h"

#include "compiler/kernels/ScalarBuilder.h"
#include "compiler/schedules/PipelineBuilder.h"

using Halide::Expr;
using Halide::Func;

namespace attnc {

int widthOf(mlir::Value value) {
  int64_t width = typeOf(value).getShape().back();
  assert(!mlir::ShapedType::isDynamic(width));
  return int(width);
}

std::vector<Halide::Var> axisVars(mlir::Value value) {
  std::vector<Halide::Var> vars;
  for (int axis = 0; axis < typeOf(value).getRank(); ++axis)
    vars.push_back(Halide::Var("axis" + std::to_string(axis)));
  return vars;
}

void PipelineBuilder::addResults(Func result, llvm::ArrayRef<mlir::Value> values) {
  region.constrain(result, typeOf(values.front()));
  pipeline.outputs.push_back(result);
  for (auto [number, value] : llvm::enumerate(values)) {
    Tensor stored = region.tensor(value);
    int element = values.size() > 1 ? int(number) : -1;
    stored.at = [result, element](const Coordinates &at) -> Expr {
      Halide::FuncRef found = result(std::vector<Expr>(at));
      return element < 0 ? Expr(found) : found[element];
    };
    region.bind(value, loaded(value, stored));
  }
}

static bool isSupported(mlir::Operation *op) {
  return attn::isView(op) || attn::makesScores(op) || attn::actsOnScores(op) ||
         llvm::isa<attn::EmbedOp, attn::RoundOp, attn::AddPositionsOp, attn::RotaryOp, attn::LinearOp,
                   attn::LayerNormOp, attn::RmsNormOp, attn::L2NormOp, attn::SoftmaxOp, attn::MeanHeadsOp,
                   attn::AppendOp, attn::RecallOp, attn::LiveOp, attn::WhereOp, attn::QuantiseOp,
                   attn::ZerosOp, attn::ConcatOp, attn::LookupOp, attn::TakeOp, attn::IncrementOp,
                   attn::LogSoftmaxOp, attn::LogSumExpOp, attn::PickOp, attn::TopKOp>(op);
}

/// The first operation that no kernel can be built for, or null; bodies of score maps are looked into.
static mlir::Operation *findUnsupported(attn::KernelOp kernel) {
  for (mlir::Operation &op : kernel.getBody().front().without_terminator()) {
    if (!isSupported(&op))
      return &op;
    if (auto map = llvm::dyn_cast<attn::ScoreMapOp>(op))
      for (mlir::Operation &scalar : map.getBody().front())
        if (!isScalarSupported(&scalar))
          return &scalar;
  }
  return nullptr;
}

static bool isAlone(mlir::Operation *op) {
  return llvm::hasSingleElement(op->getBlock()->without_terminator());
}

llvm::Expected<KernelPipeline> PipelineBuilder::build() {
  if (mlir::Operation *op = findUnsupported(kernel))
    return llvm::createStringError("no kernel can be built for '" + op->getName().getStringRef() + "' yet");
  if (auto match = matchVocabulary(kernel)) {
    if (llvm::Error error = buildVocabularyKernel(*match))
      return error;
  } else if (findOnly<attn::TopKOp>(kernel)) {
    return llvm::createStringError("'attn.top_k' needs the linear and log_softmax before it");
  } else if (auto match = matchMatmul(kernel)) {
    buildMatmul(*match);
  } else if (auto match = matchCell(kernel)) {
    buildCellKernel(*match);
  } else if (auto quantise = findOnly<attn::QuantiseOp>(kernel); quantise && isAlone(quantise)) {
    buildQuantise(quantise);
  } else if (!kernel.getBody().front().getOps<attn::QuantiseOp>().empty()) {
    return llvm::createStringError("'attn.quantise' must stand alone");
  } else if (auto concat = findOnly<attn::ConcatOp>(kernel); concat && isAlone(concat)) {
    buildConcat(concat);
  } else if (!kernel.getBody().front().getOps<attn::ConcatOp>().empty()) {
    return llvm::createStringError("'attn.concat' must stand alone");
  } else if (auto match = matchAttention(kernel)) {
    buildAttentionKernel(*match);
  } else if (auto softmax = matchWeights(kernel)) {
    buildWeightsKernel(*softmax);
  } else if (llvm::all_of(region.results(),
                          [](mlir::Value value) { return value.getDefiningOp<attn::AppendOp>(); })) {
    for (mlir::Value value : region.results())
      buildAppend(value.getDefiningOp<attn::AppendOp>());
  } else if (!kernel.getBody().front().getOps<attn::AppendOp>().empty()) {
    return llvm::createStringError("'attn.append' must be the last operation of each result");
  } else {
    buildRows();
  }
  return std::move(pipeline);
}

llvm::Expected<KernelPipeline> buildKernelPipeline(attn::KernelOp kernel, const CpuTarget &cpu,
                                                   const ScheduleChoice &choice) {
  return PipelineBuilder(kernel, cpu, choice).build();
}

} // namespace attnc
