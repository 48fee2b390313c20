//===- LowerEntries.cpp - planned entries as LLVM functions ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/emit/LowerEntries.h"

#include "attnrt/bundle.h"
#include "compiler/emit/BinaryInterface.h"
#include "compiler/emit/BufferView.h"
#include "compiler/emit/KernelWork.h"
#include "compiler/emit/PlannedModule.h"

using namespace mlir;

namespace attnc {
namespace {

/// Writes code at the end of a block that grows; knows where the sizes are.
class CodeWriter {
public:
  CodeWriter(Block *block, Location loc, const std::vector<std::string> &sizeNames)
      : builder(OpBuilder::atBlockEnd(block)), types(builder.getContext()), loc(loc), sizeNames(sizeNames) {}

  OpBuilder builder;
  InterfaceTypes types;
  Location loc;

  Value constant(Type type, int64_t value) {
    return LLVM::ConstantOp::create(builder, loc, type, builder.getIntegerAttr(type, value));
  }
  Value address(Type type, Value base, ArrayRef<LLVM::GEPArg> indices) {
    return LLVM::GEPOp::create(builder, loc, types.pointer, type, base, indices);
  }
  Value load(Type type, Value from) { return LLVM::LoadOp::create(builder, loc, type, from); }
  void store(Value value, Value to) { LLVM::StoreOp::create(builder, loc, value, to); }

  /// The vector of sizes, before the first call of evaluate().
  void setSizes(Value pointer) { sizes = pointer; }

  /// A formula's value as i64. A value computed once serves from there on, but for what a loop computes: see
  /// forget().
  Value evaluate(attn::SizeAttr formula) {
    if (Value known = values.lookup(formula))
      return known;
    Value sum = constant(types.int64, 0);
    for (const attn::SizeTerm &term : formula.getTerms()) {
      Value product = constant(types.int64, term.coefficient);
      for (StringAttr name : term.names.getAsRange<StringAttr>())
        product = LLVM::MulOp::create(builder, loc, product, size(name));
      sum = LLVM::AddOp::create(builder, loc, sum, product);
    }
    return values[formula] = sum;
  }

  using Known = llvm::DenseMap<Attribute, Value>;
  const Known &known() const { return values; }
  /// Forgets what was computed since, where that does not come before what follows.
  void forget(Known before) { values = std::move(before); }

  /// Whether `formula` is above `bound.most`, or a size in it below 0. An empty axis counts as one of 1, so
  /// that one product can stand for its factors. Doubles cannot overflow, and are exact up to 2^53, which is
  /// above all bounds.
  Value isBroken(const SizeBound &bound) {
    Type float64 = builder.getF64Type();
    auto number = [&](double value) -> Value {
      return LLVM::ConstantOp::create(builder, loc, float64, builder.getF64FloatAttr(value));
    };
    Value sum = number(0), broken = constant(builder.getI1Type(), 0), zero = constant(types.int64, 0);
    for (const attn::SizeTerm &term : bound.formula.getTerms()) {
      Value product = number(double(term.coefficient));
      for (StringAttr name : term.names.getAsRange<StringAttr>()) {
        Value isBelow = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::slt, size(name), zero);
        broken = LLVM::OrOp::create(builder, loc, broken, isBelow);
        Value extent = LLVM::SMaxOp::create(builder, loc, size(name), constant(types.int64, 1));
        product = LLVM::FMulOp::create(builder, loc, product,
                                       LLVM::SIToFPOp::create(builder, loc, float64, extent));
      }
      sum = LLVM::FAddOp::create(builder, loc, sum, product);
    }
    Value isAbove =
        LLVM::FCmpOp::create(builder, loc, LLVM::FCmpPredicate::ogt, sum, number(double(bound.most)));
    return LLVM::OrOp::create(builder, loc, broken, isAbove);
  }

private:
  const std::vector<std::string> &sizeNames;
  Value sizes;
  Known values; // of formulas, and of sizes by name

  Value size(StringAttr name) {
    Value &known = values[name];
    if (!known) {
      auto found = llvm::find(sizeNames, name.getValue());
      assert(found != sizeNames.end() && "checked before lowering");
      int32_t index = static_cast<int32_t>(found - sizeNames.begin());
      known = load(types.int64, address(types.int64, sizes, {index}));
    }
    return known;
  }
};

/// Halide buffers on an entry's stack: one set that every call fills anew.
class BufferStack {
public:
  BufferStack(CodeWriter &code, ArrayRef<CallBuffers> calls) : code(code) {
    for (const CallBuffers &call : calls) {
      count = std::max<int64_t>(count, call.buffers.size());
      for (const BufferView &view : call.buffers)
        rank = std::max<int64_t>(rank, view.extents.size());
    }
    if (count == 0)
      return;
    buffers = allocate(code.types.buffer, count);
    axes = allocate(code.types.axis, count * rank);
    // What no call changes: minima and flags are zero, lanes one, axes at their place.
    for (int32_t slot = 0; slot < count; ++slot) {
      code.store(axis(slot, 0), field(slot, BufferField::Axes));
      code.store(code.constant(code.types.int16, 1), field(slot, BufferField::Type, 2));
    }
  }

  /// A halide_type_code_t.
  static int64_t typeCodeOf(Type element) {
    constexpr int64_t signedInteger = 0, unsignedInteger = 1, floatingPoint = 2;
    if (isa<FloatType>(element))
      return floatingPoint;
    return element.isUnsignedInteger() ? unsignedInteger : signedInteger;
  }

  /// Describes `view` in buffer `slot`; its elements start at `host`.
  Value fill(int32_t slot, const BufferView &view, Value host) {
    const InterfaceTypes &types = code.types;
    code.store(host, field(slot, BufferField::Host));
    code.store(code.constant(types.int8, typeCodeOf(view.element)), field(slot, BufferField::Type, 0));
    code.store(code.constant(types.int8, view.element.getIntOrFloatBitWidth()),
               field(slot, BufferField::Type, 1));
    code.store(code.constant(types.int32, view.extents.size()), field(slot, BufferField::Rank));
    for (int32_t i = 0, last = view.extents.size() - 1; i <= last; ++i) {
      code.store(number(view.extents[last - i]), axisField(slot, i, AxisField::Extent));
      code.store(number(view.strides[last - i]), axisField(slot, i, AxisField::Stride));
    }
    return code.address(types.buffer, buffers, {slot});
  }

private:
  CodeWriter &code;
  int64_t count = 0, rank = 0;
  Value buffers, axes;

  Value allocate(Type type, int64_t number) {
    OpBuilder &b = code.builder;
    Type array = LLVM::LLVMArrayType::get(type, number);
    Value memory = LLVM::AllocaOp::create(b, code.loc, code.types.pointer, array,
                                          code.constant(code.types.int32, 1), 16);
    int64_t bytes = number * (type == Type(code.types.buffer) ? 56 : 16);
    LLVM::MemsetOp::create(b, code.loc, memory, code.constant(code.types.int8, 0),
                           code.constant(code.types.int64, bytes), /*isVolatile=*/false);
    return memory;
  }
  Value field(int32_t slot, BufferField which) {
    return code.address(code.types.buffer, buffers, {slot, static_cast<int32_t>(which)});
  }
  Value field(int32_t slot, BufferField which, int32_t inner) {
    return code.address(code.types.buffer, buffers, {slot, static_cast<int32_t>(which), inner});
  }
  Value axis(int32_t slot, int32_t i) {
    return code.address(code.types.axis, axes, {static_cast<int32_t>(slot * rank + i)});
  }
  Value axisField(int32_t slot, int32_t i, AxisField which) {
    return code.address(code.types.axis, axes,
                        {static_cast<int32_t>(slot * rank + i), static_cast<int32_t>(which)});
  }
  Value number(attn::SizeAttr formula) {
    return LLVM::TruncOp::create(code.builder, code.loc, code.types.int32, code.evaluate(formula));
  }
};

/// Lowers one entry.
class EntryLowering {
public:
  EntryLowering(LLVM::LLVMFuncOp function, Block *body, func::FuncOp entry, const PlannedModule &planned)
      : function(function), entry(entry), sizes(planned.sizes), code(body, entry.getLoc(), planned.sizes) {}

  void run(const PlannedEntry &planned) {
    invocation = function.getArgument(0);
    context = invocationField(InvocationField::Context);
    tensors = invocationField(InvocationField::Tensors);
    code.setSizes(invocationField(InvocationField::Sizes));
    kernels = invocationField(InvocationField::Kernels);
    exit = code.builder.createBlock(&function.getBody(), function.getBody().end(), {code.types.int32},
                                    {entry.getLoc()});
    LLVM::ReturnOp::create(code.builder, entry.getLoc(), exit->getArgument(0));
    code.builder.setInsertionPointToEnd(&function.getBody().front());
    loadWatcher();
    BufferStack stack(code, planned.code.calls);
    checkBounds(planned.bounds);
    ArrayRef<CallBuffers> calls = planned.code.calls;
    size_t done = 0;
    for (const CallLoop &loop : planned.code.loops) {
      lowerCalls(calls.slice(done, loop.begin - done), stack);
      lowerLoop(loop, calls.slice(loop.begin, loop.end - loop.begin), stack);
      done = loop.end;
    }
    lowerCalls(calls.drop_front(done), stack);
    LLVM::BrOp::create(code.builder, code.loc, ValueRange(code.constant(code.types.int32, 0)), exit);
  }

private:
  LLVM::LLVMFuncOp function;
  func::FuncOp entry;
  ArrayRef<std::string> sizes;
  CodeWriter code;
  Value invocation, context, tensors, kernels, watcher, isWatched;
  Value position; // in a loop
  Block *exit = nullptr;
  llvm::DenseMap<int64_t, Value> bases;

  Value invocationField(InvocationField field) {
    return code.load(code.types.pointer,
                     code.address(code.types.invocation, invocation, {0, static_cast<int32_t>(field)}));
  }

  /// Start of the memory that `view` lies in, loaded where it is first needed.
  Value base(const BufferView &view) {
    switch (view.memory) {
    case attn::Memory::arena:
      return cachedBase(-1, [&] { return invocationField(InvocationField::Arena); });
    case attn::Memory::state:
      return cachedBase(-2, [&] { return invocationField(InvocationField::State); });
    case attn::Memory::weights:
      return cachedBase(-3, [&] { return invocationField(InvocationField::Weights); });
    case attn::Memory::argument:
      return tensor(view.tensor);
    case attn::Memory::result:
      return tensor(entry.getNumArguments() + view.tensor);
    case attn::Memory::output:
      break; // following the views has put the output's own memory in its place
    }
    llvm_unreachable("all memories are listed");
  }
  Value tensor(int64_t index) {
    return cachedBase(index, [&] {
      return code.load(code.types.pointer,
                       code.address(code.types.pointer, tensors, {static_cast<int32_t>(index)}));
    });
  }
  template <typename Load> Value cachedBase(int64_t key, Load load) {
    Value &known = bases[key];
    if (!known)
      known = load();
    return known;
  }

  /// Leaves the entry with `result` where `failed` holds.
  void leaveWhere(Value failed, Value result) {
    Block *next = newBlock();
    LLVM::CondBrOp::create(code.builder, code.loc, failed, exit, ValueRange(result), next, ValueRange());
    code.builder.setInsertionPointToEnd(next);
  }

  void checkBounds(ArrayRef<SizeBound> bounds) {
    Value broken = code.constant(code.builder.getI1Type(), 0);
    for (const SizeBound &bound : bounds)
      broken = LLVM::OrOp::create(code.builder, code.loc, broken, code.isBroken(bound));
    leaveWhere(broken, code.constant(code.types.int32, ATTNRT_SIZES_OUT_OF_RANGE));
  }

  void lowerCalls(ArrayRef<CallBuffers> calls, BufferStack &stack) {
    for (const CallBuffers &call : calls)
      lowerCall(call, stack);
  }

  /// Makes the calls for each position, in a loop that may run zero times.
  void lowerLoop(const CallLoop &loop, ArrayRef<CallBuffers> calls, BufferStack &stack) {
    OpBuilder &b = code.builder;
    Type index = code.types.int64;
    Value positions = code.evaluate(loop.positions), one = code.constant(index, 1);
    Block *before = b.getInsertionBlock();
    Block *head = b.createBlock(exit, {index}, {code.loc});
    Block *body = b.createBlock(exit);
    b.setInsertionPointToEnd(before);
    LLVM::BrOp::create(b, code.loc, ValueRange(code.constant(index, 0)), head);
    auto known = code.known();
    auto knownBases = bases;
    b.setInsertionPointToEnd(body);
    Value count = head->getArgument(0), next = LLVM::AddOp::create(b, code.loc, count, one);
    position = loop.isReversed ? Value(LLVM::SubOp::create(b, code.loc, positions, next)) : count;
    lowerCalls(calls, stack);
    LLVM::BrOp::create(b, code.loc, ValueRange(next), head);
    code.forget(std::move(known));
    bases = std::move(knownBases);
    Block *after = b.createBlock(exit);
    b.setInsertionPointToEnd(head);
    Value isLeft = LLVM::ICmpOp::create(b, code.loc, LLVM::ICmpPredicate::slt, count, positions);
    LLVM::CondBrOp::create(b, code.loc, isLeft, body, ValueRange(), after, ValueRange());
    b.setInsertionPointToEnd(after);
    position = Value();
  }

  /// Where the elements of `view` start, at the present position of a loop.
  Value startOf(const BufferView &view) {
    Value offset = code.evaluate(view.offset);
    if (view.pace) {
      Value moved = LLVM::MulOp::create(code.builder, code.loc, position, code.evaluate(view.pace));
      offset = LLVM::AddOp::create(code.builder, code.loc, offset, moved);
    }
    return code.address(code.types.int8, base(view), {offset});
  }

  void lowerCall(const CallBuffers &call, BufferStack &stack) {
    code.loc = call.call->getLoc();
    const InterfaceTypes &types = code.types;
    Value function =
        code.load(types.pointer, code.address(types.pointer, kernels, {static_cast<int32_t>(call.kernel)}));
    SmallVector<Value> arguments = {function, context};
    for (auto [slot, view] : llvm::enumerate(call.buffers))
      arguments.push_back(stack.fill(slot, view, startOf(view)));
    SmallVector<Type> parameters(arguments.size() - 1, types.pointer);
    auto type = LLVM::LLVMFunctionType::get(types.int32, parameters);
    Value result = LLVM::CallOp::create(code.builder, code.loc, type, arguments).getResult();
    Value failed = LLVM::ICmpOp::create(code.builder, code.loc, LLVM::ICmpPredicate::ne, result,
                                        code.constant(types.int32, 0));
    leaveWhere(failed, result);
    attn::CallOp op = call.call;
    auto kernel = SymbolTable::lookupNearestSymbolFrom<attn::KernelOp>(op, op.getKernelAttr());
    tellWatcher(call, countWork(call, kernel, sizes));
  }

  /// Blocks stand in the order in which they are made, `exit` last.
  Block *newBlock() {
    OpBuilder::InsertionGuard guard(code.builder);
    return code.builder.createBlock(exit);
  }

  /// The context may be null, and so may its watcher.
  void loadWatcher() {
    const InterfaceTypes &types = code.types;
    Value none = LLVM::ZeroOp::create(code.builder, code.loc, types.pointer);
    Value hasContext = LLVM::ICmpOp::create(code.builder, code.loc, LLVM::ICmpPredicate::ne, context, none);
    Block *load = newBlock(), *next = newBlock();
    watcher = next->addArgument(types.pointer, code.loc);
    LLVM::CondBrOp::create(code.builder, code.loc, hasContext, load, ValueRange(), next, ValueRange(none));
    code.builder.setInsertionPointToEnd(load);
    Value loaded = code.load(types.pointer, code.address(types.kernelContext, context,
                                                         {0, static_cast<int32_t>(ContextField::Watcher)}));
    LLVM::BrOp::create(code.builder, code.loc, ValueRange(loaded), next);
    code.builder.setInsertionPointToEnd(next);
    isWatched = LLVM::ICmpOp::create(code.builder, code.loc, LLVM::ICmpPredicate::ne, watcher, none);
  }

  void tellWatcher(const CallBuffers &call, const KernelWork &work) {
    const InterfaceTypes &types = code.types;
    Value operations = code.evaluate(work.operations), bytes = code.evaluate(work.bytes);
    Block *tell = newBlock(), *next = newBlock();
    LLVM::CondBrOp::create(code.builder, code.loc, isWatched, tell, next);
    code.builder.setInsertionPointToEnd(tell);
    auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(code.builder.getContext()),
                                            {types.pointer, types.int32, types.int64, types.int64});
    LLVM::CallOp::create(code.builder, code.loc, type,
                         {watcher, context, code.constant(types.int32, call.kernel), operations, bytes});
    LLVM::BrOp::create(code.builder, code.loc, ValueRange(), next);
    code.builder.setInsertionPointToEnd(next);
  }
};

/// `int64_t NAME(const int64_t *sizes)`, which evaluates `formula`.
void lowerFormula(OpBuilder &builder, Location loc, const std::string &name, attn::SizeAttr formula,
                  const PlannedModule &planned) {
  InterfaceTypes types(builder.getContext());
  auto function = LLVM::LLVMFuncOp::create(
      builder, loc, name, LLVM::LLVMFunctionType::get(types.int64, {types.pointer}), LLVM::Linkage::Internal);
  Block *body = function.addEntryBlock(builder);
  CodeWriter code(body, loc, planned.sizes);
  code.setSizes(function.getArgument(0));
  Value bytes = code.evaluate(formula);
  LLVM::ReturnOp::create(code.builder, loc, bytes);
  builder.setInsertionPointAfter(function);
}

/// Every size that `formula` names is one of the module's.
LogicalResult checkSizes(Operation *op, attn::SizeAttr formula, const PlannedModule &planned) {
  for (const attn::SizeTerm &term : formula.getTerms())
    for (StringAttr name : term.names.getAsRange<StringAttr>())
      if (!llvm::is_contained(planned.sizes, name.getValue()))
        return op->emitError("depends on '") << name.getValue() << "', which is not a size of this model";
  return success();
}

LogicalResult checkSizes(const CallBuffers &call, const PlannedModule &planned) {
  for (const BufferView &view : call.buffers) {
    if (failed(checkSizes(call.call, view.offset, planned)) ||
        (view.pace && failed(checkSizes(call.call, view.pace, planned))))
      return failure();
    for (const auto &formulas : {view.extents, view.strides})
      for (attn::SizeAttr formula : formulas)
        if (failed(checkSizes(call.call, formula, planned)))
          return failure();
  }
  return success();
}

LogicalResult lowerEntry(OpBuilder &builder, const PlannedEntry &entry, const PlannedModule &planned,
                         StringRef bundle) {
  func::FuncOp source = entry.function;
  if (failed(checkSizes(source, entry.arena, planned)))
    return failure();
  for (const CallBuffers &call : entry.code.calls)
    if (failed(checkSizes(call, planned)))
      return failure();
  for (const CallLoop &loop : entry.code.loops)
    if (failed(checkSizes(source, loop.positions, planned)))
      return failure();
  for (const SizeBound &bound : entry.bounds)
    if (failed(checkSizes(source, bound.formula, planned)))
      return failure();
  InterfaceTypes types(builder.getContext());
  std::string name = (bundle + "_" + entry.name).str();
  Location loc = source.getLoc();
  auto function =
      LLVM::LLVMFuncOp::create(builder, loc, name, LLVM::LLVMFunctionType::get(types.int32, {types.pointer}));
  Block *body = function.addEntryBlock(builder);
  EntryLowering(function, body, source, planned).run(entry);
  builder.setInsertionPointAfter(function);
  lowerFormula(builder, loc, name + "_arena_bytes", entry.arena, planned);
  return success();
}

} // namespace

OwningOpRef<ModuleOp> lowerEntries(ModuleOp module, StringRef bundle) {
  FailureOr<PlannedModule> planned = readPlannedModule(module);
  if (failed(planned) || failed(checkSizes(module, planned->state, *planned)))
    return nullptr;
  module.getContext()->loadDialect<LLVM::LLVMDialect>();
  OwningOpRef<ModuleOp> lowered = ModuleOp::create(module.getLoc());
  OpBuilder builder = OpBuilder::atBlockEnd(lowered->getBody());
  for (const PlannedEntry &entry : planned->entries)
    if (failed(lowerEntry(builder, entry, *planned, bundle)))
      return nullptr;
  lowerFormula(builder, module.getLoc(), (bundle + "_state_bytes").str(), planned->state, *planned);
  return lowered;
}

} // namespace attnc
