//===- Interpret.cpp - runs an attn.kernel's region with the reference ops --===//
// SPDX-License-Identifier: Apache-2.0
//
// One case per operation; an operation without one aborts the test.

#include "tests/reference/Interpret.h"

#include "tests/reference/InterpretScalars.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

namespace reference {

namespace {
class Interpreter {
public:
  explicit Interpreter(int64_t candidates) : candidates(candidates) {}

  void set(mlir::Value value, Array array) { values[value] = std::move(array); }
  const Array &get(mlir::Value value) const { return values.find(value)->second; }
  void run(mlir::Operation *op);

private:
  const Array *optional(mlir::Value value) const { return value ? &get(value) : nullptr; }
  Array runRows(mlir::Operation *op);
  Array runAttention(mlir::Operation *op);
  Array runScoreMap(attn::ScoreMapOp op);
  Array runView(mlir::Operation *op);

  llvm::DenseMap<mlir::Value, Array> values;
  int64_t candidates;
};
} // namespace

static double activate(attn::ActivationKind kind, double x) {
  switch (kind) {
  case attn::ActivationKind::relu:
    return std::max(x, 0.0);
  case attn::ActivationKind::gelu:
    return gelu(x);
  case attn::ActivationKind::gelu_tanh:
    return geluTanh(x);
  case attn::ActivationKind::silu:
    return x / (1 + std::exp(-x));
  case attn::ActivationKind::tanh:
    return std::tanh(x);
  case attn::ActivationKind::sigmoid:
    return 1 / (1 + std::exp(-x));
  }
  llvm_unreachable("unknown activation");
}

Array Interpreter::runRows(mlir::Operation *op) {
  return llvm::TypeSwitch<mlir::Operation *, Array>(op)
      .Case([&](attn::EmbedOp op) {
        const Array &table = get(op.getTable());
        return embed(get(op.getIds()), op.getScales() ? scaleOutputs(table, get(op.getScales())) : table);
      })
      .Case([&](attn::AddPositionsOp op) {
        return addPositions(get(op.getInput()), get(op.getTable()), optional(op.getStarts()), op.getOffset());
      })
      .Case([&](attn::ScaleOp op) {
        double factor = op.getFactor().convertToFloat();
        return map(get(op.getInput()), [=](double x) { return x * factor; });
      })
      .Case([&](attn::RoundOp op) { return map(get(op.getInput()), roundToBfloat); })
      .Case([&](attn::AddOp op) { return zip(get(op.getLhs()), get(op.getRhs()), std::plus<>()); })
      .Case([&](attn::MulOp op) { return zip(get(op.getLhs()), get(op.getRhs()), std::multiplies<>()); })
      .Case([&](attn::LinearOp op) {
        if (op.getInputScales())
          return linear(
              fromBytes(get(op.getInput()), get(op.getInputScales()), get(op.getWeight()).extent(1)),
              scaleOutputs(get(op.getWeight()), get(op.getWeightScales())), optional(op.getBias()));
        return linear(get(op.getInput()), get(op.getWeight()), optional(op.getBias()));
      })
      .Case([&](attn::ActivationOp op) {
        return map(get(op.getInput()), [kind = op.getKind()](double x) { return activate(kind, x); });
      })
      .Case([&](attn::LayerNormOp op) {
        return layerNorm(get(op.getInput()), get(op.getWeight()), optional(op.getBias()),
                         op.getEpsilon().convertToFloat());
      })
      .Case([&](attn::RmsNormOp op) {
        return rmsNorm(get(op.getInput()), get(op.getWeight()), op.getEpsilon().convertToFloat());
      })
      .Case([&](attn::ConcatOp op) {
        std::vector<Array> parts;
        for (mlir::Value input : op.getInputs())
          parts.push_back(get(input));
        return concat(parts);
      })
      .Case([&](attn::WhereOp op) {
        return where(get(op.getLive()), get(op.getFresh()), optional(op.getKept()));
      })
      .Case([&](attn::LiveOp op) { return live(get(op.getSequence()), get(op.getLengths())); })
      .Case(
          [&](attn::ZerosOp op) { return zeros({get(op.getBatch()).extent(0), 1, int64_t(op.getWidth())}); })
      .Case([&](attn::L2NormOp op) { return l2Norm(get(op.getInput()), op.getEpsilon().convertToFloat()); })
      .Case([&](attn::RotaryOp op) {
        return rotary(get(op.getInput()), get(op.getTable()), optional(op.getStarts()), op.getInterleaved());
      })
      .Case([&](attn::IncrementOp op) { return map(get(op.getInput()), [](double x) { return x + 1; }); })
      .Case([&](attn::LogSoftmaxOp op) { return logSoftmax(get(op.getLogits())); })
      .Case([&](attn::LogSumExpOp op) { return logSumExp(get(op.getLogits())); })
      .Case([&](attn::PickOp op) { return pick(get(op.getInput()), get(op.getIds())); })
      .Default([&](mlir::Operation *op) { return runAttention(op); });
}

Array Interpreter::runAttention(mlir::Operation *op) {
  return llvm::TypeSwitch<mlir::Operation *, Array>(op)
      .Case([&](attn::MatmulOp op) { return matmul(get(op.getLhs()), get(op.getRhs()), op.getTransposed()); })
      .Case([&](attn::AdditiveScoresOp op) {
        return additiveScores(get(op.getQuery()), get(op.getKey()), get(op.getWeight()));
      })
      .Case([&](attn::ScoreMapOp op) { return runScoreMap(op); })
      .Case([&](attn::WindowMaskOp op) {
        return windowMask(get(op.getScores()), optional(op.getStarts()), op.getBefore().value_or(-1),
                          op.getAfter().value_or(-1));
      })
      .Case([&](attn::PrefixMaskOp op) { return prefixMask(get(op.getScores()), get(op.getLengths())); })
      .Case([&](attn::CausalMaskOp op) { return causalMask(get(op.getScores())); })
      .Case([&](attn::PaddingMaskOp op) { return paddingMask(get(op.getScores()), get(op.getLengths())); })
      .Case([&](attn::SoftmaxOp op) { return softmax(get(op.getScores())); })
      .Case([&](attn::MeanHeadsOp op) { return meanHeads(get(op.getWeights())); })
      .Case([&](attn::AppendOp op) {
        return append(get(op.getFresh()), get(op.getCache()), get(op.getPositions()));
      })
      .Case([&](attn::RecallOp op) {
        return recall(get(op.getCache()), get(op.getAncestors()), get(op.getPositions()),
                      get(op.getInitial()));
      })
      .Case([&](attn::LookupOp op) { return lookup(get(op.getCache()), get(op.getAncestors())); })
      .Case([&](attn::TakeOp op) { return take(get(op.getInput()), get(op.getIndex())); })
      .Default([&](mlir::Operation *op) { return runView(op); });
}

Array Interpreter::runScoreMap(attn::ScoreMapOp op) {
  std::vector<const Array *> tables;
  for (mlir::Value table : op.getTables())
    tables.push_back(&get(table));
  return mapScores(get(op.getScores()), optional(op.getStarts()),
                   [&](double score, const std::array<int64_t, 4> &at) {
                     return evaluateScore(op.getBody().front(), score, at, tables);
                   });
}

Array Interpreter::runView(mlir::Operation *op) {
  return llvm::TypeSwitch<mlir::Operation *, Array>(op)
      .Case([&](attn::SplitHeadsOp op) {
        return splitHeads(get(op.getInput()), llvm::cast<mlir::RankedTensorType>(op.getType()).getDimSize(1));
      })
      .Case([&](attn::MergeHeadsOp op) { return mergeHeads(get(op.getInput())); })
      .Case([&](attn::SliceOp op) {
        return slice(get(op.getInput()), op.getOffset(),
                     llvm::cast<mlir::RankedTensorType>(op.getType()).getShape().back());
      })
      .Case([&](attn::SelectOp op) { return select(get(op.getInput()), op.getPosition()); })
      .Case([&](attn::CollapseOp op) {
        const Array &x = get(op.getInput());
        std::vector<int64_t> shape(x.shape.begin() + 1, x.shape.end());
        shape[0] *= x.shape[0];
        return reshape(x, shape);
      });
}

void Interpreter::run(mlir::Operation *op) {
  if (auto quantised = llvm::dyn_cast<attn::QuantiseOp>(op)) {
    int64_t stored = llvm::cast<mlir::RankedTensorType>(quantised.getBytes().getType()).getShape().back();
    auto [bytes, scales] = quantise(get(quantised.getInput()), stored);
    set(quantised.getBytes(), bytes);
    set(quantised.getScales(), scales);
    return;
  }
  if (auto top = llvm::dyn_cast<attn::TopKOp>(op)) {
    auto [best, ids] = topK(get(top.getInput()), candidates);
    set(top.getValues(), best);
    set(top.getIds(), ids);
    return;
  }
  set(op->getResult(0), runRows(op));
}

static Interpreter interpretAll(attn::KernelOp kernel, const std::vector<Array> &inputs, int64_t candidates) {
  Interpreter interpreter(candidates);
  mlir::Block &body = kernel.getBody().front();
  for (auto [argument, input] : llvm::zip_equal(body.getArguments(), inputs))
    interpreter.set(argument, input);
  for (mlir::Operation &op : body.without_terminator())
    interpreter.run(&op);
  return interpreter;
}

std::vector<Array> interpret(attn::KernelOp kernel, const std::vector<Array> &inputs, int64_t candidates) {
  Interpreter interpreter = interpretAll(kernel, inputs, candidates);
  std::vector<Array> results;
  for (mlir::Value value : kernel.getBody().front().getTerminator()->getOperands())
    results.push_back(interpreter.get(value));
  return results;
}

Array interpretValue(attn::KernelOp kernel, const std::vector<Array> &inputs, mlir::Value value) {
  return interpretAll(kernel, inputs, 1).get(value);
}

} // namespace reference
