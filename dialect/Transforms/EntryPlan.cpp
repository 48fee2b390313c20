//===- EntryPlan.cpp - places of one entry's values ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Entries are straight lines but for the bodies of recurrences, so a value lives from its call to the last
// call that reads it or a view of it. What a body reads from outside lives until the recurrence's end; what
// it computes lives within one position, but for the states, which have a place of their own.

#include "dialect/Transforms/EntryPlan.h"

#include "dialect/Transforms/Fusion.h"

#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace attn {

static Value throughViews(Value value) {
  while (isView(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return value;
}

/// What the dynamic axes of a kernel are for one call of it: `row` is `batch * source`.
static llvm::StringMap<SizeAttr> bindSizes(CallOp call, KernelOp kernel) {
  llvm::StringMap<SizeAttr> sizes;
  for (auto [argument, input] : llvm::zip(kernel.getBody().getArguments(), call.getInputs())) {
    SmallVector<StringRef> names = axisNames(tensorOf(argument));
    for (auto [axis, name] : llvm::enumerate(names))
      if (!name.empty() && tensorOf(argument).isDynamicDim(axis))
        sizes[name] = extentOf(tensorOf(input), axis);
  }
  return sizes;
}

/// Bytes of a scratch buffer of `type` for one call.
static SizeAttr scratchBytes(RankedTensorType type, const llvm::StringMap<SizeAttr> &sizes) {
  SizeAttr bytes = SizeAttr::getConstant(type.getContext(), type.getElementTypeBitWidth() / 8);
  for (auto [axis, name] : llvm::enumerate(axisNames(type))) {
    SizeAttr extent = type.isDynamicDim(axis) ? sizes.lookup(name) : extentOf(type, axis);
    if (!extent)
      return {};
    bytes = bytes.times(extent);
  }
  return bytes;
}

/// The cache that a call appends to, or null where it does something else.
Value EntryPlan::findAppendedCache(CallOp call) {
  for (auto append : kernelOf(call).getBody().front().getOps<AppendOp>())
    if (auto argument = dyn_cast<BlockArgument>(append.getCache()))
      return call.getInputs()[argument.getArgNumber()];
  return {};
}

/// Whether heads are merged by a view.
static bool isMerged(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation *user) { return isa<MergeHeadsOp>(user); });
}

/// Axes of one row: the last, and of what is merged the heads.
static SmallVector<unsigned> rowAxes(Value value) {
  unsigned last = tensorOf(value).getRank() - 1;
  return isMerged(value) ? SmallVector<unsigned>{1, last} : SmallVector<unsigned>{last};
}

/// Elements from one row of a value in the arena to the next, or 0 where rows follow each other. Lines of
/// long rows fall into few sets of the caches where a row is a multiple of many lines: one line more spreads
/// them.
static int64_t rowsApart(Value value) {
  constexpr int64_t line = 64, longRow = 64 * line, manyLines = 16 * line; // bytes
  RankedTensorType type = tensorOf(value);
  int64_t bytes = type.getElementTypeBitWidth() / 8, elements = 1;
  if (type.getRank() < 2)
    return 0;
  for (unsigned axis : rowAxes(value)) {
    if (type.isDynamicDim(axis))
      return 0;
    elements *= type.getDimSize(axis);
  }
  bool followEachOther = elements * bytes < longRow || elements * bytes % manyLines != 0;
  return followEachOther ? 0 : elements + line / bytes;
}

/// Bytes that a value takes in the arena; null where an extent is not known.
static SizeAttr arenaBytes(Value value) {
  RankedTensorType type = tensorOf(value);
  int64_t apart = rowsApart(value);
  if (apart == 0)
    return bytesOf(type);
  SizeAttr bytes = SizeAttr::getConstant(type.getContext(), apart * type.getElementTypeBitWidth() / 8);
  for (unsigned axis = 0; bytes && axis < type.getRank(); ++axis) {
    SizeAttr extent = extentOf(type, axis);
    if (!llvm::is_contained(rowAxes(value), axis))
      bytes = extent ? bytes.times(extent) : extent;
  }
  return bytes;
}

/// A context that is merged is stored as `(batch, query, head, width)`, so that merging is a view.
PlaceAttr EntryPlan::makePlace(Memory memory, SizeAttr offset, Value value) {
  int64_t mergedOrder[] = {0, 2, 1, 3};
  return PlaceAttr::get(func.getContext(), memory, memory == Memory::arena ? rowsApart(value) : 0, offset,
                        isMerged(value) ? ArrayRef<int64_t>(mergedOrder) : ArrayRef<int64_t>());
}

void EntryPlan::placeResults() {
  for (OpOperand &operand : func.getBody().front().getTerminator()->getOpOperands()) {
    Value value = throughViews(operand.get());
    SizeAttr number = SizeAttr::getConstant(func.getContext(), operand.getOperandNumber());
    planned[value].place = makePlace(Memory::result, number, value);
  }
}

/// Outputs are written to the present position of the sequence, states to the place of the initial ones.
void EntryPlan::placeYielded(RecurrenceOp recurrence) {
  size_t outputs = recurrence.getOutputs().size();
  for (auto [number, yielded] : llvm::enumerate(recurrence.getYielded())) {
    Planned &plan = planned[throughViews(yielded)];
    if (number < outputs)
      plan.place = PlaceAttr::get(func.getContext(), Memory::output, 0,
                                  SizeAttr::getConstant(func.getContext(), number), {});
    else
      plan.shared = throughViews(recurrence.getInitial()[number - outputs]);
  }
}

LogicalResult EntryPlan::planOutputs(RecurrenceOp recurrence) {
  unsigned begin = order[&recurrence.getBody().front().front()];
  for (Value output : recurrence.getOutputs()) {
    FailureOr<unsigned> number =
        addToArena(recurrence, arenaBytes(output), begin, std::max(order[recurrence], findLastUse(output)));
    if (failed(number))
      return failure();
    planned[output].number = *number;
  }
  return success();
}

LogicalResult EntryPlan::placeWrites() {
  for (auto write : func.getOps<WriteStateOp>()) {
    Value value = throughViews(write.getValue());
    auto call = value.getDefiningOp<CallOp>();
    if (call && findAppendedCache(call))
      continue; // written where the cache is
    auto state = symbols.lookup<StateOp>(write.getState());
    Planned &plan = planned[value];
    if (!call || plan.place)
      return write.emitOpError("writes a value that already has a place; attn-insert-copies has not run");
    plan.place = makePlace(Memory::state, state.beginOf(write.getValue().getType()), value);
  }
  return success();
}

LogicalResult EntryPlan::placeInState(CallOp call, Value cache) {
  auto read = cache.getDefiningOp<ReadStateOp>();
  if (!read)
    return call.emitOpError("appends to a value that is not a state");
  auto state = symbols.lookup<StateOp>(read.getState());
  planned[call.getResult(0)].place =
      makePlace(Memory::state, state.beginOf(read.getType()), call.getResult(0));
  return success();
}

unsigned EntryPlan::findLastUse(Value value) {
  unsigned last = 0;
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    last = std::max(last, isView(user) ? findLastUse(user->getResult(0)) : order.lookup(user));
    auto recurrence = dyn_cast<RecurrenceOp>(user);
    unsigned first = recurrence ? recurrence.getSequences().size() : 0;
    if (recurrence && use.getOperandNumber() - first < recurrence.getInitial().size())
      last = std::max(last, findLastUse(recurrence.getLast()[use.getOperandNumber() - first]));
  }
  return last;
}

FailureOr<unsigned> EntryPlan::addToArena(Operation *op, SizeAttr bytes, unsigned begin, unsigned end) {
  if (!bytes)
    return op->emitOpError("has a dynamic axis without a name, so its memory cannot be planned");
  return arena.add(bytes, begin, end);
}

/// The result in whose place `result` may lie: its norm, if nothing else reads it. A kernel has read a row
/// before it writes the row's norm.
Value EntryPlan::findOnlyNorm(CallOp call, OpResult result) {
  ValueRange yielded = cast<YieldOp>(kernelOf(call).getBody().front().getTerminator()).getValues();
  Value inside = yielded[result.getResultNumber()];
  if (!result.use_empty() || !inside.hasNUses(2)) // the yield and the norm
    return {};
  for (auto [other, value] : llvm::zip(call.getResults(), yielded))
    if (isNorm(value.getDefiningOp()) && value.hasOneUse() && value.getDefiningOp()->getOperand(0) == inside)
      return other;
  return {};
}

LogicalResult EntryPlan::planCall(CallOp call, unsigned at) {
  KernelOp kernel = kernelOf(call);
  if (Value cache = findAppendedCache(call))
    return placeInState(call, cache);
  for (OpResult result : call.getResults()) {
    Planned &plan = planned[result];
    if (!plan.place && !plan.shared)
      plan.shared = findOnlyNorm(call, result);
    if (plan.place || plan.shared)
      continue;
    FailureOr<unsigned> number = addToArena(call, arenaBytes(result), at, std::max(at, findLastUse(result)));
    if (failed(number))
      return failure();
    plan.number = *number;
  }
  if (!kernel.getScratchAttr())
    return success();
  llvm::StringMap<SizeAttr> sizes = bindSizes(call, kernel);
  for (Type type : kernel.getScratch()->getAsValueRange<TypeAttr>()) {
    FailureOr<unsigned> number = addToArena(call, scratchBytes(cast<RankedTensorType>(type), sizes), at, at);
    if (failed(number))
      return failure();
    scratch[call].push_back(*number);
  }
  return success();
}

PlaceAttr EntryPlan::findPlace(Value value) {
  const Planned &plan = planned[value];
  if (plan.place)
    return plan.place;
  return plan.shared ? findPlace(plan.shared) : makePlace(Memory::arena, arena.getOffset(plan.number), value);
}

void EntryPlan::annotate(CallOp call) {
  Builder builder(func.getContext());
  SmallVector<Attribute> places, scratchPlaces;
  for (Value result : call.getResults())
    places.push_back(findPlace(result));
  for (unsigned number : scratch[call])
    scratchPlaces.push_back(PlaceAttr::get(func.getContext(), Memory::arena, 0, arena.getOffset(number), {}));
  call.setPlacesAttr(builder.getArrayAttr(places));
  if (!scratchPlaces.empty())
    call.setScratchAttr(builder.getArrayAttr(scratchPlaces));
}

/// Counts operations in the order in which they run.
void EntryPlan::number(Block &block) {
  for (Operation &op : block) {
    if (auto recurrence = dyn_cast<RecurrenceOp>(op))
      number(recurrence.getBody().front());
    unsigned next = order.size();
    order[&op] = next;
  }
}

LogicalResult EntryPlan::run() {
  number(func.getBody().front());
  placeResults();
  SmallVector<CallOp> calls;
  func.walk([&](CallOp call) { calls.push_back(call); });
  auto recurrences = llvm::to_vector(func.getOps<RecurrenceOp>());
  for (RecurrenceOp recurrence : recurrences)
    placeYielded(recurrence);
  if (failed(placeWrites()))
    return failure();
  for (CallOp call : calls)
    if (failed(planCall(call, order[call])))
      return failure();
  for (RecurrenceOp recurrence : recurrences)
    if (failed(planOutputs(recurrence)))
      return failure();
  arena.solve();
  for (CallOp call : calls)
    annotate(call);
  for (RecurrenceOp recurrence : recurrences)
    recurrence.setPlacesAttr(
        Builder(func.getContext())
            .getArrayAttr(llvm::map_to_vector(recurrence.getOutputs(),
                                              [&](Value output) -> Attribute { return findPlace(output); })));
  func->setAttr("attn.arena", arena.getTotal());
  return success();
}

} // namespace attn
