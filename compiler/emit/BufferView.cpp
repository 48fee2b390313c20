//===- BufferView.cpp - where each value of a planned entry lies -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/emit/BufferView.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using attn::SizeAttr;

namespace attnc {
namespace {

using Sizes = SmallVector<SizeAttr, 4>;

Sizes extentsOf(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  Sizes extents;
  for (int64_t axis = 0; axis < tensor.getRank(); ++axis)
    extents.push_back(attn::extentOf(tensor, axis));
  return extents;
}

/// How the axes of a value lie: `order` lists them slowest first, empty means in order; `rows` are the
/// elements from one row to the next, 0 means without gaps (as in PlaceAttr).
struct Layout {
  ArrayRef<int64_t> order;
  int64_t rows = 0;
};

Sizes stridesOf(const Sizes &extents, const Layout &layout, MLIRContext *context) {
  size_t axesOfRow = layout.order.empty() ? 1 : 2;
  Sizes strides(extents.size());
  SizeAttr stride = SizeAttr::getConstant(context, 1);
  for (size_t i = extents.size(); i-- > 0;) {
    size_t axis = layout.order.empty() ? i : layout.order[i];
    strides[axis] = stride;
    stride = stride.times(extents[axis]);
    if (layout.rows != 0 && extents.size() - i == axesOfRow)
      stride = SizeAttr::getConstant(context, layout.rows);
  }
  return strides;
}

class ViewFollower {
public:
  ViewFollower(func::FuncOp entry, const PlannedSymbols &symbols)
      : entry(entry), symbols(symbols), one(SizeAttr::getConstant(entry.getContext(), 1)) {}

  FailureOr<EntryCalls> run() {
    for (BlockArgument argument : entry.getArguments()) {
      BufferView view = dense(attn::Memory::argument, argument.getType());
      view.tensor = argument.getArgNumber();
      if (auto strides = entry.getArgAttrOfType<ArrayAttr>(argument.getArgNumber(), "attn.strides"))
        view.strides = Sizes(strides.getAsRange<SizeAttr>());
      views[argument] = view;
    }
    for (Operation &op : entry.getBody().front())
      if (failed(follow(op)))
        return failure();
    return std::move(code);
  }

private:
  func::FuncOp entry;
  const PlannedSymbols &symbols;
  SizeAttr one;
  llvm::DenseMap<Value, BufferView> views;
  EntryCalls code;
  std::vector<BufferView> outputs; // of the recurrence that is followed

  BufferView laidOut(attn::Memory memory, Sizes extents, Type element, const Layout &layout) {
    BufferView view;
    view.memory = memory;
    view.offset = SizeAttr::getConstant(entry.getContext(), 0);
    view.strides = stridesOf(extents, layout, entry.getContext());
    view.extents = std::move(extents);
    view.element = element;
    return view;
  }
  BufferView dense(attn::Memory memory, Type type) {
    return laidOut(memory, extentsOf(type), cast<RankedTensorType>(type).getElementType(), {});
  }

  LogicalResult follow(Operation &op) {
    return llvm::TypeSwitch<Operation *, LogicalResult>(&op)
        .Case<attn::SplitHeadsOp>([&](auto view) { return splitHeads(view); })
        .Case<attn::MergeHeadsOp>([&](auto view) { return mergeHeads(view); })
        .Case<attn::SliceOp>([&](auto view) { return slice(view); })
        .Case<attn::SelectOp>([&](auto view) { return select(view); })
        .Case<attn::CollapseOp>([&](auto view) { return collapse(view); })
        .Case<attn::ExpandOp>([&](auto view) { return expand(view); })
        .Case<attn::ReadStateOp>([&](auto read) { return readState(read); })
        .Case<attn::WriteStateOp>([&](auto write) { return writeState(write); })
        .Case<attn::GetWeightOp>([&](auto get) { return getWeight(get); })
        .Case<attn::CallOp>([&](auto call) { return this->call(call); })
        .Case<func::ReturnOp>([&](auto result) { return leave(result); })
        .Case<attn::RecurrenceOp>([&](auto recurrence) { return this->recurrence(recurrence); })
        .Case<attn::YieldOp>([&](auto yield) { return leavePosition(yield); })
        .Default([](Operation *other) { return other->emitError("has no place in a planned entry"); });
  }

  LogicalResult splitHeads(attn::SplitHeadsOp op);
  LogicalResult mergeHeads(attn::MergeHeadsOp op);
  LogicalResult slice(attn::SliceOp op);
  LogicalResult select(attn::SelectOp op);
  LogicalResult collapse(attn::CollapseOp op);
  LogicalResult expand(attn::ExpandOp op);
  LogicalResult readState(attn::ReadStateOp op);
  LogicalResult writeState(attn::WriteStateOp op);
  LogicalResult getWeight(attn::GetWeightOp op);
  LogicalResult call(attn::CallOp op);
  LogicalResult leave(func::ReturnOp op);
  LogicalResult recurrence(attn::RecurrenceOp op);
  LogicalResult leavePosition(attn::YieldOp op);

  BufferView positionOf(BufferView sequence);
  FailureOr<BufferView> placed(Operation *op, const Sizes &extents, Type element, Attribute where);
  FailureOr<BufferView> setStrides(Operation *op, const Sizes &strides, BufferView view);
  FailureOr<BufferView> placedAtPosition(Operation *op, const Sizes &extents, attn::PlaceAttr place);
  LogicalResult placeScratch(attn::CallOp op, attn::KernelOp kernel, CallBuffers &result);
};

// batch, query, head * width  ->  batch, head, query, width
LogicalResult ViewFollower::splitHeads(attn::SplitHeadsOp op) {
  BufferView view = views[op.getInput()];
  Sizes shape = extentsOf(op.getType());
  SizeAttr head = shape[1], width = shape[3];
  view.extents = {view.extents[0], head, view.extents[1], width};
  view.strides = {view.strides[0], width.times(view.strides[2]), view.strides[1], view.strides[2]};
  views[op.getResult()] = view;
  return success();
}

// batch, head, query, width  ->  batch, query, head * width
LogicalResult ViewFollower::mergeHeads(attn::MergeHeadsOp op) {
  BufferView view = views[op.getInput()];
  if (view.extents[1] != one && view.strides[1] != view.extents[3].times(view.strides[3]))
    return op.emitError("heads are not stored side by side, so they cannot be merged without a copy");
  view.extents = {view.extents[0], view.extents[2], view.extents[1].times(view.extents[3])};
  view.strides = {view.strides[0], view.strides[2], view.strides[3]};
  views[op.getResult()] = view;
  return success();
}

LogicalResult ViewFollower::slice(attn::SliceOp op) {
  BufferView view = views[op.getInput()];
  int64_t bytes = view.element.getIntOrFloatBitWidth() / 8;
  view.offset = view.offset.plus(view.strides.back().times(op.getOffset() * bytes));
  view.extents.back() = extentsOf(op.getType()).back();
  views[op.getResult()] = view;
  return success();
}

// batch, query, width  ->  batch, width
LogicalResult ViewFollower::select(attn::SelectOp op) {
  BufferView view = views[op.getInput()];
  int64_t bytes = view.element.getIntOrFloatBitWidth() / 8;
  view.offset = view.offset.plus(view.strides[1].times(op.getPosition() * bytes));
  view.extents.erase(view.extents.begin() + 1);
  view.strides.erase(view.strides.begin() + 1);
  views[op.getResult()] = view;
  return success();
}

// batch, query, rest...  ->  row, rest...
LogicalResult ViewFollower::collapse(attn::CollapseOp op) {
  BufferView view = views[op.getInput()];
  SizeAttr batch = view.extents[0], query = view.extents[1];
  SizeAttr stride = view.strides[1];
  if (query == one)
    stride = view.strides[0];
  else if (batch != one && view.strides[0] != query.times(stride))
    return op.emitError("is read row by row by a linear, a norm or an operation on elements, which need ")
           << "rows that are evenly spaced: a tensor with such strides cannot be their input";
  view.extents.erase(view.extents.begin());
  view.strides.erase(view.strides.begin());
  view.extents[0] = batch.times(query);
  view.strides[0] = stride;
  views[op.getResult()] = view;
  return success();
}

// row, rest...  ->  batch, query, rest...
LogicalResult ViewFollower::expand(attn::ExpandOp op) {
  BufferView view = views[op.getInput()];
  Sizes shape = extentsOf(op.getType());
  if (shape[0].times(shape[1]) != view.extents[0])
    return op.emitError("expands ") << view.extents[0].str() << " rows to " << shape[0].str() << " x "
                                    << shape[1].str();
  view.extents[0] = shape[1];
  view.extents.insert(view.extents.begin(), shape[0]);
  view.strides.insert(view.strides.begin(), shape[1].times(view.strides[0]));
  views[op.getResult()] = view;
  return success();
}

LogicalResult ViewFollower::readState(attn::ReadStateOp op) {
  attn::StateOp state = symbols.states.lookup(op.getStateAttr().getAttr());
  if (!state || !state.getOffset())
    return op.emitError("reads a state that has no place");
  BufferView view = dense(attn::Memory::state, op.getType());
  view.offset = state.beginOf(op.getType());
  views[op.getResult()] = view;
  return success();
}

/// Planned, the value was computed in the state's place. Sentences that may be shorter than the state has
/// room for are left to be spread.
LogicalResult ViewFollower::writeState(attn::WriteStateOp op) {
  attn::StateOp state = symbols.states.lookup(op.getStateAttr().getAttr());
  const BufferView &view = views[op.getValue()];
  if (!state || !state.getOffset() || view.memory != attn::Memory::state ||
      view.offset != state.beginOf(op.getValue().getType()))
    return op.emitError("stores a value that is not in the state's place");
  auto type = cast<RankedTensorType>(state.getType());
  if (type.getRank() < 2 || attn::extentOf(type, 1) == view.extents[1])
    return success();
  SizeAttr apart = SizeAttr::getConstant(op.getContext(), view.element.getIntOrFloatBitWidth() / 8);
  for (unsigned axis = 1; axis < type.getRank(); ++axis)
    apart = apart.times(attn::extentOf(type, axis));
  code.spread.push_back({view, apart});
  return success();
}

LogicalResult ViewFollower::getWeight(attn::GetWeightOp op) {
  attn::WeightOp weight = symbols.weights.lookup(op.getWeightAttr().getAttr());
  if (!weight || !weight.getOffset())
    return op.emitError("reads a weight that has no place");
  auto type = cast<RankedTensorType>(weight.getType());
  BufferView view = dense(attn::Memory::weights, type);
  if (isa_and_nonnull<attn::PanelsAttr>(type.getEncoding())) {
    SmallVector<int64_t> extents = attn::panelExtents(type);
    Type element = type.getElementType();
    if (element.isBF16()) { // kernels see a pair as one word
      extents.pop_back();
      element = IntegerType::get(op.getContext(), 32);
    }
    Sizes stored;
    for (int64_t extent : extents)
      stored.push_back(SizeAttr::getConstant(op.getContext(), extent));
    view = laidOut(attn::Memory::weights, stored, element, {});
  }
  view.offset = SizeAttr::getConstant(op.getContext(), *weight.getOffset());
  views[op.getResult()] = view;
  return success();
}

/// The window of a sequence (batch, query, ...) that moves with a loop's position.
BufferView ViewFollower::positionOf(BufferView sequence) {
  sequence.pace = sequence.strides[1].times(sequence.element.getIntOrFloatBitWidth() / 8);
  sequence.extents[1] = one;
  return sequence;
}

/// The present position of an output sequence, as a result (batch, 1, width), as rows (batch, width), or as
/// the heads (batch, head, 1, width) that are merged there.
FailureOr<BufferView> ViewFollower::placedAtPosition(Operation *op, const Sizes &extents,
                                                     attn::PlaceAttr place) {
  for (auto [number, output] : llvm::enumerate(outputs)) {
    if (place.getOffset() != SizeAttr::getConstant(op->getContext(), number))
      continue;
    BufferView view = positionOf(output);
    if (extents.size() + 1 == view.extents.size()) {
      view.extents.erase(view.extents.begin() + 1);
      view.strides.erase(view.strides.begin() + 1);
    } else if (extents.size() == 4) {
      view.strides = {view.strides[0], extents[3], view.strides[1], one};
      view.extents = {view.extents[0], extents[1], one, extents[3]};
    }
    if (view.extents == extents)
      return view;
  }
  return op->emitError("writes output ") << place.getOffset().str() << ", which is none of its recurrence";
}

/// A result with strides of its own, as it is or as the heads (batch, head, query, width) that are merged
/// there.
FailureOr<BufferView> ViewFollower::setStrides(Operation *op, const Sizes &strides, BufferView view) {
  if (view.extents.size() == strides.size())
    view.strides = strides;
  else if (view.extents.size() == 4 && strides.size() == 3)
    view.strides = {strides[0], view.extents[3], strides[1], one};
  else
    return op->emitError("computes rows, as linears, norms and operations on elements do: ")
           << "an output with strides of its own cannot be written so";
  return view;
}

FailureOr<BufferView> ViewFollower::placed(Operation *op, const Sizes &extents, Type element,
                                           Attribute where) {
  auto place = cast<attn::PlaceAttr>(where);
  if (place.getMemory() == attn::Memory::output)
    return placedAtPosition(op, extents, place);
  BufferView view = laidOut(place.getMemory(), extents, element, {place.getOrder(), place.getRows()});
  if (place.getMemory() != attn::Memory::result) {
    view.offset = place.getOffset();
    return view;
  }
  for (int64_t number = 0; number < entry.getNumResults(); ++number)
    if (place.getOffset() == SizeAttr::getConstant(op->getContext(), number)) {
      view.tensor = number;
      if (auto strides = entry.getResultAttrOfType<ArrayAttr>(number, "attn.strides"))
        return setStrides(op, Sizes(strides.getAsRange<SizeAttr>()), view);
      return view;
    }
  return op->emitError("writes result ")
         << place.getOffset().str() << " of an entry that has " << entry.getNumResults();
}

LogicalResult ViewFollower::placeScratch(attn::CallOp op, attn::KernelOp kernel, CallBuffers &result) {
  for (auto [declared, where] : llvm::zip_equal(*kernel.getScratch(), *op.getScratch())) {
    auto type = cast<RankedTensorType>(cast<TypeAttr>(declared).getValue());
    Sizes extents = extentsInCall(type, kernel, result.buffers);
    FailureOr<BufferView> view = placed(op, extents, type.getElementType(), where);
    if (failed(view))
      return failure();
    result.buffers.push_back(*view);
  }
  return success();
}

LogicalResult ViewFollower::call(attn::CallOp op) {
  auto [kernel, number] = symbols.kernels.lookup(op.getKernelAttr().getAttr());
  if (!kernel)
    return op.emitError("calls a kernel that the module does not have");
  size_t places = op.getPlaces() ? op.getPlaces()->size() : 0;
  size_t scratch = op.getScratch() ? op.getScratch()->size() : 0;
  if (places != op.getNumResults() || scratch != (kernel.getScratch() ? kernel.getScratch()->size() : 0))
    return op.emitError("is not planned: each result and scratch buffer needs a place");
  CallBuffers result{op, number, {}};
  for (Value input : op.getInputs())
    result.buffers.push_back(views[input]);
  for (auto [index, value] : llvm::enumerate(op.getResults())) {
    auto type = cast<RankedTensorType>(value.getType());
    FailureOr<BufferView> view = placed(op, extentsOf(type), type.getElementType(), (*op.getPlaces())[index]);
    if (failed(view))
      return failure();
    result.buffers.push_back(*view);
    views[value] = *view;
  }
  if (scratch != 0 && failed(placeScratch(op, kernel, result)))
    return failure();
  code.calls.push_back(std::move(result));
  return success();
}

/// The body's calls become a loop. Each state lies where its initial value does, before and after.
LogicalResult ViewFollower::recurrence(attn::RecurrenceOp op) {
  if (!op.getPlaces() || op.getPlaces()->size() != op.getOutputs().size())
    return op.emitError("is not planned: each output needs a place");
  outputs.clear();
  for (auto [output, where] : llvm::zip_equal(op.getOutputs(), *op.getPlaces())) {
    auto type = cast<RankedTensorType>(output.getType());
    FailureOr<BufferView> view = placed(op, extentsOf(type), type.getElementType(), where);
    if (failed(view))
      return failure();
    outputs.push_back(*view);
    views[output] = *view;
  }
  for (auto [argument, sequence] : llvm::zip_equal(op.getPositions(), op.getSequences()))
    views[argument] = positionOf(views.lookup(sequence));
  for (auto [argument, initial] : llvm::zip_equal(op.getStates(), op.getInitial()))
    views[argument] = views.lookup(initial);
  for (auto [argument, constant] : llvm::zip_equal(op.getShared(), op.getConstants()))
    views[argument] = views.lookup(constant);
  CallLoop loop{views[op.getSequences().front()].extents[1], op.getReverse(), code.calls.size(), 0};
  for (Operation &inner : op.getBody().front())
    if (failed(follow(inner)))
      return failure();
  loop.end = code.calls.size();
  code.loops.push_back(loop);
  for (auto [last, initial] : llvm::zip_equal(op.getLast(), op.getInitial()))
    views[last] = views.lookup(initial);
  return success();
}

/// Planned, what the body yields was computed where it belongs, so nothing is left to do.
LogicalResult ViewFollower::leavePosition(attn::YieldOp op) {
  auto recurrence = cast<attn::RecurrenceOp>(op->getParentOp());
  SmallVector<BufferView> wanted(outputs.begin(), outputs.end());
  for (Value initial : recurrence.getInitial())
    wanted.push_back(views[initial]);
  for (auto [number, value] : llvm::enumerate(op.getOperands())) {
    const BufferView &view = views[value];
    if (view.memory != wanted[number].memory || view.offset != wanted[number].offset ||
        bool(view.pace) != (number < outputs.size()))
      return op.emitError("yields a value that is not in the place of result ") << number;
  }
  return success();
}

LogicalResult ViewFollower::leave(func::ReturnOp op) {
  for (auto [number, value] : llvm::enumerate(op.getOperands())) {
    const BufferView &view = views[value];
    if (view.memory != attn::Memory::result || view.tensor != static_cast<int64_t>(number))
      return op.emitError("returns a value that is not in the place of result ") << number;
  }
  return success();
}

} // namespace

Sizes extentsInCall(RankedTensorType type, attn::KernelOp kernel, ArrayRef<BufferView> buffers) {
  llvm::StringMap<SizeAttr> known;
  for (BlockArgument argument : kernel.getBody().getArguments()) {
    auto input = cast<RankedTensorType>(argument.getType());
    for (auto [axis, name] : llvm::enumerate(attn::axisNames(input)))
      if (input.isDynamicDim(axis))
        known[name] = buffers[argument.getArgNumber()].extents[axis];
  }
  Sizes extents = extentsOf(type);
  for (auto [axis, name] : llvm::enumerate(attn::axisNames(type)))
    if (type.isDynamicDim(axis) && known.contains(name))
      extents[axis] = known[name];
  return extents;
}

PlannedSymbols::PlannedSymbols(ModuleOp module) {
  for (attn::WeightOp weight : module.getOps<attn::WeightOp>())
    weights[weight.getSymNameAttr()] = weight;
  for (attn::StateOp state : module.getOps<attn::StateOp>())
    states[state.getSymNameAttr()] = state;
  for (auto [number, kernel] : llvm::enumerate(module.getOps<attn::KernelOp>()))
    kernels[kernel.getSymNameAttr()] = {kernel, static_cast<int64_t>(number)};
}

FailureOr<EntryCalls> followViews(func::FuncOp entry, const PlannedSymbols &symbols) {
  return ViewFollower(entry, symbols).run();
}

} // namespace attnc
