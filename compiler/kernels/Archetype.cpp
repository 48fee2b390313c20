//===- Archetype.cpp - which kind of kernel a region is ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Matchers over the operations of a kernel's region.

#include "compiler/kernels/Archetype.h"

namespace attnc {

static mlir::ValueRange yielded(attn::KernelOp kernel) {
  return kernel.getBody().front().getTerminator()->getOperands();
}

bool dependsOn(mlir::Value value, mlir::Operation *origin) {
  mlir::Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  return op == origin ||
         llvm::any_of(op->getOperands(), [&](mlir::Value operand) { return dependsOn(operand, origin); });
}

static bool isPointwise(mlir::Operation *op) {
  return llvm::isa<attn::ScaleOp, attn::AddOp, attn::MulOp, attn::ActivationOp>(op);
}

static bool reachesMatmul(mlir::Value value) {
  mlir::Operation *op = value.getDefiningOp();
  return op && (llvm::isa<attn::MatmulOp>(op) || llvm::any_of(op->getOperands(), reachesMatmul));
}

// Walks from the scores up to the product and notes what limits the keys. Masks further from the product than
// an operation with two operands still hold: adding to a masked score leaves it masked.
static bool walkScores(mlir::Value scores, AttentionMatch &match) {
  mlir::Operation *op = scores.getDefiningOp();
  if (!op)
    return false;
  if (auto products = llvm::dyn_cast<attn::MatmulOp>(op)) {
    match.products = products;
    match.scaled = products.getResult();
    return products.getTransposed();
  }
  if (llvm::isa<attn::CausalMaskOp>(op))
    match.causal = true;
  else if (auto mask = llvm::dyn_cast<attn::PaddingMaskOp>(op)) {
    if (match.lengths && match.lengths != mask.getLengths())
      return false;
    match.lengths = mask.getLengths();
  } else if (!isPointwise(op)) {
    return false;
  }
  bool fromRight = isPointwise(op) && !reachesMatmul(op->getOperand(0));
  if (fromRight && op->getNumOperands() < 2)
    return false;
  return walkScores(op->getOperand(fromRight ? 1 : 0), match);
}

std::optional<AttentionMatch> matchAttention(attn::KernelOp kernel) {
  AttentionMatch match;
  match.softmax = findOnly<attn::SoftmaxOp>(kernel);
  if (!match.softmax || !match.softmax->hasOneUse() || yielded(kernel).size() != 1)
    return std::nullopt;
  match.context = llvm::dyn_cast<attn::MatmulOp>(*match.softmax->user_begin());
  bool rightPlace = match.context && match.context.getLhs() == match.softmax.getWeights() &&
                    !match.context.getTransposed() && yielded(kernel)[0] == match.context.getResult();
  if (!rightPlace || !walkScores(match.softmax.getScores(), match))
    return std::nullopt;
  auto widthOf = [](mlir::Value value) {
    return llvm::cast<mlir::RankedTensorType>(value.getType()).getShape().back();
  };
  if (std::max(widthOf(match.products.getLhs()), widthOf(match.context.getRhs())) > WidestHead)
    return std::nullopt;
  if (match.products->hasOneUse())
    if (auto scale = llvm::dyn_cast<attn::ScaleOp>(*match.products->user_begin())) {
      match.scaled = scale.getResult();
      match.factor = scale.getFactor().convertToFloat();
    }
  return match;
}

std::optional<MatmulMatch> matchMatmul(attn::KernelOp kernel) {
  MatmulMatch match{findOnly<attn::LinearOp>(kernel)};
  if (!match.linear)
    return std::nullopt;
  for (mlir::Operation &op : kernel.getBody().front().without_terminator()) {
    bool isNorm = llvm::isa<attn::LayerNormOp, attn::RmsNormOp>(op);
    if (isNorm && match.norm)
      return std::nullopt;
    if (isNorm)
      match.norm = &op;
    else if (&op != match.linear && !isPointwise(&op))
      return std::nullopt;
  }
  if (match.norm && !llvm::is_contained(yielded(kernel), match.norm->getOperand(0)))
    return std::nullopt;
  if (dependsOn(match.linear.getInput(), match.norm) && match.norm)
    return std::nullopt;
  return match;
}

std::optional<VocabularyMatch> matchVocabulary(attn::KernelOp kernel) {
  VocabularyMatch match{findOnly<attn::LinearOp>(kernel), findOnly<attn::LogSoftmaxOp>(kernel),
                        findOnly<attn::TopKOp>(kernel), findOnly<attn::PickOp>(kernel)};
  size_t operations = 2 + (match.top ? 1 : 0) + (match.pick ? 1 : 0);
  bool right = match.linear && match.logSoftmax && match.logSoftmax.getLogits() == match.linear.getResult() &&
               llvm::range_size(kernel.getBody().front().without_terminator()) == operations &&
               llvm::cast<mlir::RankedTensorType>(match.linear.getType()).getRank() == 2 &&
               !(match.top && match.pick);
  if (!right)
    return std::nullopt;
  return match;
}

} // namespace attnc
