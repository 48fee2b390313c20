//===- CheckOperands.cpp - operands of an op of a graph --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The number of axes and the type that each op takes; how extents belong together is for the verifiers.

#include "compiler/import/CheckOperands.h"

#include "compiler/spec/ReadGraph.h"

using namespace mlir;

namespace attnc {
namespace {

/// What one operand has to be. Without `axes` it may have any.
struct OperandRule {
  int64_t least = 1, most = 4;
  StringRef axes = "";
  bool isInteger = false, isAnyType = false;
};

const OperandRule anything{.isAnyType = true}, numbers, ids{.isInteger = true};
const OperandRule idsOfRows{1, 2, "batch, query", true};
const OperandRule rows{2, 3, "batch, query, width"};
const OperandRule heads{4, 4, "batch, head, query, width"};
const OperandRule scores{4, 4, "batch, head, query, key"};
const OperandRule matrix{2, 2, "out, in"};
const OperandRule vectorOrMatrix{1, 2, "head, width"};
const OperandRule vector{1, 1, "width"};
const OperandRule perSentence{1, 1, "batch", true};

/// The rules of an op's operands in order; the last one holds for those after it as well.
SmallVector<OperandRule> rulesOf(GraphOpKind kind) {
  switch (kind) {
  case GraphOpKind::Linear:
    return {rows, matrix, vector};
  case GraphOpKind::Matmul:
    return {{2, 4}};
  case GraphOpKind::Scale:
  case GraphOpKind::Add:
  case GraphOpKind::Mul:
  case GraphOpKind::Activation:
  case GraphOpKind::L2Norm:
  case GraphOpKind::Slice:
    return {numbers};
  case GraphOpKind::LayerNorm:
  case GraphOpKind::RmsNorm:
    return {rows, vector};
  case GraphOpKind::Rotary:
    return {heads, matrix, perSentence};
  case GraphOpKind::SplitHeads:
    return {{3, 3, rows.axes}};
  case GraphOpKind::MergeHeads:
    return {heads};
  case GraphOpKind::AdditiveScores:
    return {heads, heads, vectorOrMatrix};
  case GraphOpKind::ScoreMap:
    return {scores, anything};
  case GraphOpKind::CausalMask:
  case GraphOpKind::Softmax:
  case GraphOpKind::MeanHeads:
    return {scores};
  case GraphOpKind::PaddingMask:
  case GraphOpKind::WindowMask:
  case GraphOpKind::PrefixMask:
    return {scores, perSentence};
  case GraphOpKind::Embed:
    return {idsOfRows, matrix};
  case GraphOpKind::AddPositions:
    return {{3, 3, rows.axes}, matrix};
  case GraphOpKind::LogSoftmax:
    return {rows};
  case GraphOpKind::Pick:
    return {rows, ids};
  case GraphOpKind::Take:
    return {anything, perSentence};
  }
  llvm_unreachable("every op is listed");
}

RankedTensorType tensorOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// `3 axes (batch, query, width: 64)`; of weights, whose axes have no names, `2 (40, 20)`.
std::string describeAxes(RankedTensorType type) {
  std::string text;
  SmallVector<StringRef> names = attn::axisNames(type);
  for (int64_t axis = 0; axis < type.getRank(); ++axis) {
    std::string extent = type.isDynamicDim(axis) ? "" : std::to_string(type.getDimSize(axis));
    bool isBoth = !names[axis].empty() && !extent.empty();
    text += (axis == 0 ? "" : ", ") + names[axis].str() + (isBoth ? ": " : "") + extent;
  }
  return text;
}

std::string nameOf(GraphOpKind kind) {
  for (const GraphOpRule &rule : graphOpRules())
    if (rule.kind == kind)
      return std::string(rule.key);
  llvm_unreachable("every op is listed");
}

class OperandChecker {
public:
  OperandChecker(SpecBuilder &build, const GraphOp &op) : build(build), op(op) {}

  /// The number of axes and the type of one operand.
  bool check(unsigned number, const OperandRule &rule, RankedTensorType type) {
    const Located<std::string> &name = op.operands[number];
    int64_t rank = type.getRank();
    if (rank < rule.least || rank > rule.most) {
      InFlightDiagnostic error = start(name) << " takes " << rule.least;
      if (rule.least != rule.most)
        error << (rule.most == rule.least + 1 ? " or " : " to ") << rule.most;
      error << (rule.most == 1 ? " axis" : " axes");
      if (!rule.axes.empty())
        error << " (" << rule.axes << ")";
      error << "; '" << *name << "' has " << rank << " (" << describeAxes(type) << ")";
      return false;
    }
    bool isInteger = type.getElementType().isInteger();
    if (rule.isAnyType || isInteger == rule.isInteger)
      return true;
    start(name) << " takes " << (rule.isInteger ? "i32" : "f32") << " here; '" << *name << "' is "
                << (isInteger ? "i32" : "f32");
    return false;
  }

  bool checkSameShape(RankedTensorType first, RankedTensorType second) {
    if (first.getEncoding() == second.getEncoding() && first.getShape() == second.getShape())
      return true;
    start(op.operands[1]) << " takes two values of one shape; '" << *op.operands[0] << "' has ("
                          << describeAxes(first) << "), '" << *op.operands[1] << "' (" << describeAxes(second)
                          << ")";
    return false;
  }

private:
  InFlightDiagnostic start(const Located<std::string> &name) {
    return emitError(build.at(name.where)) << "'" << nameOf(*op.kind) << "'";
  }

  SpecBuilder &build;
  const GraphOp &op;
};

} // namespace

bool checkOperands(SpecBuilder &build, const GraphOp &op, ArrayRef<Value> values) {
  OperandChecker checker(build, op);
  SmallVector<OperandRule> rules = rulesOf(*op.kind);
  bool isRight = true;
  for (auto [number, value] : llvm::enumerate(values))
    isRight &= checker.check(number, rules[std::min(number, rules.size() - 1)], tensorOf(value));
  if (!isRight || (*op.kind != GraphOpKind::Add && *op.kind != GraphOpKind::Mul))
    return isRight;
  return checker.checkSameShape(tensorOf(values[0]), tensorOf(values[1]));
}

} // namespace attnc
