//===- StepBuilder.cpp - values of a decoder at one new position -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Default ways of building a step: row by row, from a source's state, through a cache.

#include "dialect/IR/StepBuilder.h"

using namespace mlir;

namespace attn {

void inferResultTypes(Operation *op) {
  if (auto map = dyn_cast<ScoreMapOp>(op))
    for (auto [number, table] : llvm::enumerate(map.getTables()))
      map.getBody().getArgument(ScoreMapOp::indexArguments + number).setType(table.getType());
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

StateOp StepBuilder::findOrCreateCache(RankedTensorType type, Location loc, StringRef name) {
  std::string symbol = (name + "_" + Twine(cacheCount[name]++)).str();
  if (auto known = symbols.lookup<StateOp>(symbol))
    return known;
  OpBuilder::InsertionGuard guard(builder);
  auto module = cast<ModuleOp>(symbols.getOp());
  builder.setInsertionPoint(*module.getOps<func::FuncOp>().begin());
  auto state = StateOp::create(builder, loc, symbol, type, SizeAttr());
  symbols.insert(state);
  return state;
}

/// Writes `fresh` (row, head, query, width) to the cache and gives the cache after it.
Value StepBuilder::append(Value fresh, StateOp cache) {
  Location loc = fresh.getLoc();
  Value before = ReadStateOp::create(builder, loc, cache.getType(), cache.getSymName());
  Value after = AppendOp::create(builder, loc, fresh, before, inputs.positions);
  WriteStateOp::create(builder, loc, after, cache.getSymName());
  return after;
}

Value StepBuilder::appendToCache(Value fresh, StringRef name) {
  auto type = cast<RankedTensorType>(fresh.getType());
  auto cache = namedTensor(
      type.getContext(), {ShapedType::kDynamic, ShapedType::kDynamic, type.getDimSize(1), type.getDimSize(3)},
      {"slot", "capacity", "head", "width"}, type.getElementType());
  Value after = append(fresh, findOrCreateCache(cache, fresh.getLoc(), name));
  if (isPrefill())
    return fresh;
  return LookupOp::create(builder, fresh.getLoc(), after, inputs.ancestors);
}

StateOp StepBuilder::findOrCreateStateCache(Value initial) {
  auto type = cast<RankedTensorType>(initial.getType());
  constexpr int64_t positions = 2; // the one that is read and the one that is written
  auto cache = namedTensor(type.getContext(), {ShapedType::kDynamic, positions, 1, type.getDimSize(2)},
                           {"slot", "ring", "head", "width"}, type.getElementType());
  return findOrCreateCache(cache, initial.getLoc(), "recurrent");
}

Value StepBuilder::recall(StateOp cache, Value initial) {
  Location loc = initial.getLoc();
  Value before = ReadStateOp::create(builder, loc, cache.getType(), cache.getSymName());
  return RecallOp::create(builder, loc, before, inputs.ancestors, inputs.positions, initial);
}

void StepBuilder::keep(Value fresh, StateOp cache) {
  append(SplitHeadsOp::create(builder, fresh.getLoc(), fresh, 1), cache);
}

FailureOr<Value> StepBuilder::buildKeys(Operation *op, Value keys, StringRef name) {
  Value fresh = lookup(keys);
  if (isFromSource(keys))
    return fresh;
  if (cast<RankedTensorType>(fresh.getType()).getRank() != 4)
    return op->emitOpError("has no head axis, so its right side cannot be cached in a step");
  return appendToCache(fresh, name);
}

Operation *StepBuilder::buildRowByRow(Operation &op) {
  for (Value operand : op.getOperands())
    lookup(operand);
  return cloneInferred(builder, op, mapping);
}

} // namespace attn
