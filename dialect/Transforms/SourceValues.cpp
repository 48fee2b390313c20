//===- SourceValues.cpp - what a decoder computes from its source alone ------===//
// SPDX-License-Identifier: Apache-2.0
//
// The cut between `encode` and the entries that decode: the last values before views are kept in states.

#include "dialect/Transforms/SourceValues.h"

using namespace mlir;

namespace attn {

SourceValues::SourceValues(func::FuncOp decode) : decode(decode) {
  target.insert(decode.getArgument(0));
  for (BlockArgument argument : decode.getArguments().drop_front())
    source.insert(argument);
  for (Operation &op : decode.getBody().front())
    for (Value operand : op.getOperands()) {
      if (source.contains(operand))
        source.insert(op.result_begin(), op.result_end());
      if (target.contains(operand))
        target.insert(op.result_begin(), op.result_end());
    }
  for (Operation &op : decode.getBody().front())
    for (Value operand : op.getOperands()) {
      bool isNeeded = op.getNumResults() == 0 || dependsOnTarget(op.getResult(0));
      if (isNeeded && isFromSource(operand) && operand != getLengths())
        addRoot(operand);
    }
}

void SourceValues::addRoot(Value needed) {
  Value root = needed;
  while (isView(root.getDefiningOp()))
    root = root.getDefiningOp()->getOperand(0);
  if (llvm::none_of(roots, [&](auto &known) { return known.first == root; }))
    roots.push_back({root, needed});
}

Value SourceValues::computeInEncoder(Value value, OpBuilder &builder, IRMapping &mapping) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  Operation *op = value.getDefiningOp();
  for (Value operand : op->getOperands())
    computeInEncoder(operand, builder, mapping);
  builder.clone(*op, mapping);
  return mapping.lookup(value);
}

/// Says what attention does with the value: `cross_keys_0`, `cross_values_0`; otherwise `source_0`.
std::string SourceValues::nameOf(Value root) {
  StringRef stem = "source";
  for (auto [known, view] : roots)
    for (OpOperand &use : view.getUses())
      if (makesScores(use.getOwner()) && known == root && use.getOperandNumber() == 1) {
        auto matmul = dyn_cast<MatmulOp>(use.getOwner());
        stem = !matmul || matmul.getTransposed() ? "cross_keys" : "cross_values";
      }
  return (stem + "_" + Twine(nameCount[stem]++)).str();
}

void SourceValues::moveToEncoder(func::FuncOp encode, SymbolTable &symbols) {
  Operation *end = encode.getBody().front().getTerminator();
  OpBuilder builder(end);
  IRMapping mapping;
  for (auto [argument, encoded] : llvm::zip(decode.getArguments().drop_front(), end->getOperands()))
    mapping.map(argument, encoded);
  mapping.map(getLengths(), encode.getArgument(1));
  for (auto [root, view] : roots) {
    OpBuilder atModule(encode);
    auto state = StateOp::create(atModule, root.getLoc(), nameOf(root),
                                 cast<RankedTensorType>(root.getType()), SizeAttr());
    symbols.insert(state);
    states[root] = state;
    Value value = computeInEncoder(root, builder, mapping);
    WriteStateOp::create(builder, root.getLoc(), value, state.getSymName());
  }
  end->setOperands({});
  encode.setFunctionType(FunctionType::get(encode.getContext(), encode.getArgumentTypes(), {}));
  encode.removeResAttrsAttr();
}

Value EntrySource::read(OpBuilder &builder, Value decoded) {
  if (Value known = mapping.lookupOrNull(decoded))
    return known;
  if (StateOp state = values.getState(decoded)) {
    Value content = ReadStateOp::create(builder, decoded.getLoc(), state.getType(), state.getSymName());
    mapping.map(decoded, content);
    return content;
  }
  Operation *view = decoded.getDefiningOp();
  read(builder, view->getOperand(0));
  builder.clone(*view, mapping);
  return mapping.lookup(decoded);
}

} // namespace attn
