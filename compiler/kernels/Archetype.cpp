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
  return llvm::isa<attn::ScaleOp, attn::AddOp, attn::MulOp, attn::ActivationOp, attn::RoundOp>(op);
}

static bool isMask(mlir::Operation *op) {
  return llvm::isa<attn::CausalMaskOp, attn::PaddingMaskOp, attn::WindowMaskOp, attn::PrefixMaskOp>(op);
}

// Walks from the scores up to what makes them and notes what limits the keys. What a score map, a scale or an
// addition makes of a masked score is masked; what an activation or a product makes of it may not be.
static bool walkScores(mlir::Value scores, AttentionMatch &match) {
  mlir::Operation *op = scores.getDefiningOp();
  bool staysMasked = true;
  while (op && !attn::makesScores(op)) {
    if (!attn::actsOnScores(op))
      return false;
    if (isMask(op) && staysMasked)
      match.masks.push_back(op);
    staysMasked &= !llvm::isa<attn::ActivationOp, attn::MulOp>(op);
    op = attn::scoresOperand(op).getDefiningOp();
  }
  match.products = op;
  auto matmul = llvm::dyn_cast_or_null<attn::MatmulOp>(op);
  return op && (!matmul || matmul.getTransposed());
}

std::optional<AttentionMatch> matchAttention(attn::KernelOp kernel) {
  AttentionMatch match;
  match.softmax = findOnly<attn::SoftmaxOp>(kernel);
  if (!match.softmax || !match.softmax->hasOneUse() || yielded(kernel).size() != 1)
    return std::nullopt;
  match.context = llvm::dyn_cast<attn::MatmulOp>(*match.softmax->user_begin());
  match.result = yielded(kernel)[0];
  auto round = match.result.getDefiningOp<attn::RoundOp>();
  mlir::Value exact = round ? round.getInput() : match.result;
  bool rightPlace = match.context && match.context.getLhs() == match.softmax.getWeights() &&
                    !match.context.getTransposed() && exact == match.context.getResult();
  if (!rightPlace || !walkScores(match.softmax.getScores(), match))
    return std::nullopt;
  auto widthOf = [](mlir::Value value) {
    return llvm::cast<mlir::RankedTensorType>(value.getType()).getShape().back();
  };
  if (std::max(widthOf(match.products->getOperand(0)), widthOf(match.context.getRhs())) > attn::widestHead)
    return std::nullopt;
  match.scaled = match.products->getResult(0);
  // Additive scores are not proportional to their queries.
  if (match.products->hasOneUse() && llvm::isa<attn::MatmulOp>(match.products))
    if (auto scale = llvm::dyn_cast<attn::ScaleOp>(*match.products->user_begin())) {
      match.scaled = scale.getResult();
      match.factor = scale.getFactor().convertToFloat();
    }
  match.onlyBounded = llvm::isa<attn::MatmulOp>(match.products);
  for (mlir::Value score = match.softmax.getScores(); score != match.scaled;
       score = attn::scoresOperand(score.getDefiningOp()))
    match.onlyBounded &= isMask(score.getDefiningOp());
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

std::optional<attn::MatmulOp> matchProduct(mlir::Value value) {
  if (auto round = value.getDefiningOp<attn::RoundOp>())
    value = round.getInput();
  auto product = llvm::dyn_cast_or_null<attn::MatmulOp>(attn::findScores(value));
  if (!product)
    return std::nullopt;
  auto type = llvm::cast<mlir::RankedTensorType>(product.getType());
  if (type.getDimSize(type.getRank() - 2) == 1)
    return std::nullopt;
  for (mlir::Operation &op : product->getBlock()->without_terminator())
    if (&op != product && !attn::actsOnScores(&op) &&
        !llvm::isa<attn::TakeOp, attn::LookupOp, attn::SoftmaxOp, attn::RoundOp>(op))
      return std::nullopt;
  return product;
}

std::optional<attn::SoftmaxOp> matchWeights(attn::KernelOp kernel) {
  auto softmax = findOnly<attn::SoftmaxOp>(kernel);
  if (!softmax || yielded(kernel).size() != 1 || yielded(kernel)[0] != softmax.getWeights() ||
      !attn::findScores(softmax.getScores()))
    return std::nullopt;
  return softmax;
}

/// The linears on the way to a value, counted along the longest way.
static unsigned depthOf(mlir::Value value) {
  mlir::Operation *op = value.getDefiningOp();
  unsigned depth = 0;
  if (op)
    for (mlir::Value operand : op->getOperands())
      depth = std::max(depth, depthOf(operand));
  return llvm::isa_and_nonnull<attn::LinearOp>(op) ? depth + 1 : depth;
}

static bool isGate(mlir::Operation *op) {
  auto slice = llvm::dyn_cast<attn::SliceOp>(op);
  return llvm::isa<attn::LinearOp>(op) || (slice && slice.getInput().getDefiningOp<attn::LinearOp>());
}

/// Adds the gates that `value` needs, but for what is in memory by then.
static void collectGates(mlir::Value value, llvm::ArrayRef<CellStage> before, CellStage &stage) {
  mlir::Operation *op = value.getDefiningOp();
  bool isInMemory =
      llvm::any_of(before, [&](const CellStage &other) { return llvm::is_contained(other.results, value); });
  if (!op || isInMemory)
    return;
  if (!isGate(op)) {
    for (mlir::Value operand : op->getOperands())
      collectGates(operand, before, stage);
  } else if (!llvm::is_contained(stage.gates, value)) {
    stage.gates.push_back(value);
  }
}

/// What a linear of `stage` reads must be in memory: an input of the kernel, or a result of an earlier stage.
static bool canSum(llvm::ArrayRef<CellStage> before, const CellStage &stage) {
  return llvm::all_of(stage.gates, [&](mlir::Value gate) {
    auto slice = gate.getDefiningOp<attn::SliceOp>();
    mlir::Value input = (slice ? slice.getInput() : gate).getDefiningOp<attn::LinearOp>().getInput();
    return llvm::isa<mlir::BlockArgument>(input) || llvm::any_of(before, [&](const CellStage &other) {
             return llvm::is_contained(other.results, input);
           });
  });
}

std::optional<CellMatch> matchCell(attn::KernelOp kernel) {
  mlir::Block &body = kernel.getBody().front();
  auto linears = body.getOps<attn::LinearOp>();
  bool hasGates = llvm::range_size(linears) > 1 || !body.getOps<attn::SliceOp>().empty();
  bool isCell = !linears.empty() && hasGates;
  for (mlir::Operation &op : body.without_terminator())
    isCell &= isPointwise(&op) || llvm::isa<attn::LinearOp, attn::SliceOp, attn::WhereOp>(op);
  if (!isCell)
    return std::nullopt;
  CellMatch match;
  unsigned depth = 0;
  for (mlir::Value value : yielded(kernel)) {
    auto type = llvm::cast<mlir::RankedTensorType>(value.getType());
    bool isNext = depthOf(value) > depth;
    if (type.getRank() != 2 || depthOf(value) < depth || value.getType() != yielded(kernel)[0].getType() ||
        !value.getDefiningOp() || llvm::count(yielded(kernel), value) > 1)
      return std::nullopt;
    depth = depthOf(value);
    if (isNext)
      match.stages.emplace_back();
    if (match.stages.empty())
      return std::nullopt;
    match.stages.back().results.push_back(value);
  }
  for (auto [number, stage] : llvm::enumerate(match.stages)) {
    auto before = llvm::ArrayRef(match.stages).take_front(number);
    for (mlir::Value value : stage.results)
      collectGates(value, before, stage);
    if (!canSum(before, stage))
      return std::nullopt;
  }
  return match;
}

std::optional<VocabularyMatch> matchVocabulary(attn::KernelOp kernel) {
  VocabularyMatch match{findOnly<attn::LinearOp>(kernel), findOnly<attn::LogSoftmaxOp>(kernel),
                        findOnly<attn::LogSumExpOp>(kernel), findOnly<attn::TopKOp>(kernel),
                        findOnly<attn::PickOp>(kernel)};
  size_t operations = 2 + (match.top ? 1 : 0) + (match.pick ? 1 : 0);
  mlir::Value logits = match.logSoftmax ? match.logSoftmax.getLogits()
                       : match.logSum   ? match.logSum.getLogits()
                                        : mlir::Value();
  bool right = match.linear && logits == match.linear.getResult() &&
               llvm::range_size(kernel.getBody().front().without_terminator()) == operations &&
               llvm::cast<mlir::RankedTensorType>(match.linear.getType()).getRank() == 2 &&
               !(match.top && match.pick);
  if (!right)
    return std::nullopt;
  return match;
}

} // namespace attnc
