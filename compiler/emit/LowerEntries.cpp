//===- LowerEntries.cpp - planned entries as LLVM functions ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/emit/LowerEntries.h"

#include "attnrt/bundle.h"
#include "compiler/emit/BufferStack.h"
#include "compiler/emit/KernelWork.h"
#include "compiler/emit/PlannedModule.h"
#include "compiler/kernels/Archetype.h"

using namespace mlir;

namespace attnc {
namespace {

/// The function of SpreadSentences.c that spreads what was computed of some sentences.
constexpr StringLiteral SpreadSentences = "attnc_spread_sentences";

void declareSpread(OpBuilder &builder, Location loc) {
  InterfaceTypes types(builder.getContext());
  auto type =
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(builder.getContext()),
                                  {types.pointer, types.int64, types.int64, types.int64, types.int64});
  LLVM::LLVMFuncOp::create(builder, loc, SpreadSentences, type);
}

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
    for (const SpreadRows &rows : planned.code.spread)
      spread(rows);
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

  void spread(const SpreadRows &rows) {
    const BufferView &view = rows.computed;
    const int64_t bytes = view.element.getIntOrFloatBitWidth() / 8;
    Value arguments[] = {startOf(view), code.evaluate(view.extents[0]),
                         code.evaluate(view.strides[0].times(bytes)), code.evaluate(rows.apart),
                         code.evaluate(view.strides[1].times(bytes * KeysPerBlock))};
    LLVM::CallOp::create(code.builder, code.loc, TypeRange(), SpreadSentences, arguments);
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
    for (const KernelWork::Rows &rows : work.rows) {
      Value touched =
          LLVM::SMinOp::create(code.builder, code.loc, code.evaluate(rows.lookedUp), code.evaluate(rows.all));
      bytes = LLVM::AddOp::create(code.builder, code.loc, bytes, touched);
    }
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
  for (const SpreadRows &rows : entry.code.spread)
    if (failed(checkSizes(source, rows.apart, planned)))
      return failure();
  for (const SizeBound &bound : entry.bounds)
    if (failed(checkSizes(source, bound.formula, planned)))
      return failure();
  InterfaceTypes types(builder.getContext());
  Location loc = source.getLoc();
  auto function = LLVM::LLVMFuncOp::create(builder, loc, localSymbol(bundle, "run." + entry.name),
                                           LLVM::LLVMFunctionType::get(types.int32, {types.pointer}),
                                           LLVM::Linkage::Internal);
  Block *body = function.addEntryBlock(builder);
  EntryLowering(function, body, source, planned).run(entry);
  builder.setInsertionPointAfter(function);
  lowerFormula(builder, loc, localSymbol(bundle, "arena_bytes." + entry.name), entry.arena, planned);
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
  declareSpread(builder, module.getLoc());
  for (const PlannedEntry &entry : planned->entries)
    if (failed(lowerEntry(builder, entry, *planned, bundle)))
      return nullptr;
  lowerFormula(builder, module.getLoc(), localSymbol(bundle, "state_bytes"), planned->state, *planned);
  return lowered;
}

} // namespace attnc
