//===- StepBuilder.cpp - values of a decoder at one new position -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Default ways of building a step: row by row, from a source's state, through a cache.

#include "dialect/IR/StepBuilder.h"

using namespace mlir;

namespace attn {

void inferResultTypes(Operation *op) {
  auto inference = dyn_cast<InferTypeOpInterface>(op);
  if (!inference)
    return;
  SmallVector<Type> types;
  LogicalResult inferred =
      inference.inferReturnTypes(op->getContext(), op->getLoc(), op->getOperands(), op->getAttrDictionary(),
                                 op->getPropertiesStorage(), op->getRegions(), types);
  assert(succeeded(inferred) && "inference of attn operations does not fail");
  (void)inferred;
  for (auto [result, type] : llvm::zip(op->getResults(), types))
    result.setType(type);
}

Operation *cloneInferred(OpBuilder &builder, Operation &op, IRMapping &mapping) {
  Operation *clone = builder.clone(op, mapping);
  inferResultTypes(clone);
  return clone;
}

Value StepBuilder::getLengths(Location loc) {
  if (!lengths)
    lengths = IncrementOp::create(builder, loc, inputs.positions);
  return lengths;
}

Value StepBuilder::lookup(Value decoded) {
  if (Value known = mapping.lookupOrNull(decoded))
    return known;
  assert(isFromSource(decoded) && "operands are built before their users");
  Value shared = sources.read(builder, decoded);
  Value taken = TakeOp::create(builder, decoded.getLoc(), shared, inputs.sources);
  mapping.map(decoded, taken);
  return taken;
}

StateOp StepBuilder::findOrCreateCache(RankedTensorType fresh, Location loc, StringRef name) {
  std::string symbol = (name + "_" + Twine(cacheCount[name]++)).str();
  if (auto known = symbols.lookup<StateOp>(symbol))
    return known;
  auto type =
      namedTensor(fresh.getContext(),
                  {ShapedType::kDynamic, fresh.getDimSize(1), ShapedType::kDynamic, fresh.getDimSize(3)},
                  {"slot", "head", "capacity", "width"}, fresh.getElementType());
  OpBuilder::InsertionGuard guard(builder);
  auto module = cast<ModuleOp>(symbols.getOp());
  builder.setInsertionPoint(*module.getOps<func::FuncOp>().begin());
  auto state = StateOp::create(builder, loc, symbol, type, SizeAttr());
  symbols.insert(state);
  return state;
}

Value StepBuilder::appendToCache(Value fresh, StringRef name) {
  Location loc = fresh.getLoc();
  StateOp state = findOrCreateCache(cast<RankedTensorType>(fresh.getType()), loc, name);
  Value before = ReadStateOp::create(builder, loc, state.getType(), state.getSymName());
  Value after = AppendOp::create(builder, loc, fresh, before, inputs.positions);
  WriteStateOp::create(builder, loc, after, state.getSymName());
  return LookupOp::create(builder, loc, after, inputs.ancestors);
}

void StepBuilder::buildRowByRow(Operation &op) {
  for (Value operand : op.getOperands())
    lookup(operand);
  cloneInferred(builder, op, mapping);
}

} // namespace attn
