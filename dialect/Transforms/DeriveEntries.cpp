//===- DeriveEntries.cpp - encode and decode to the entries of a bundle ------===//
// SPDX-License-Identifier: Apache-2.0
//
// `decode` runs over many positions; from it come the step over one new position, scoring, and attention
// weights.

#include "dialect/Transforms/BodyAttention.h"
#include "dialect/Transforms/Passes.h"
#include "dialect/Transforms/SourceValues.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace attn {

#define GEN_PASS_DEF_DERIVEENTRIES
#include "dialect/Transforms/Passes.h.inc"

namespace {

/// An argument or a result as the manifest knows it.
struct Named {
  StringRef name;
  Type type;
};

/// Erases operations whose results nobody reads.
void eraseDeadOperations(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
}

LogicalResult checkSignature(func::FuncOp func, unsigned arguments, unsigned results) {
  if (func.getNumArguments() != arguments || func.getNumResults() != results ||
      !llvm::hasSingleElement(func.getBody()))
    return func.emitOpError() << "needs " << arguments << " arguments, " << results
                              << " results and one block, but has " << func.getNumArguments() << ", "
                              << func.getNumResults() << " and " << func.getBody().getBlocks().size();
  for (Type type : func.getArgumentTypes())
    if (!isa<RankedTensorType>(type) || llvm::is_contained(axisNames(cast<RankedTensorType>(type)), ""))
      return func.emitOpError() << "needs arguments that are tensors with named axes, but one is " << type;
  return success();
}

/// The operation that mixes positions into `scores`, if nothing causal stands between.
Operation *findMixing(Value scores) {
  while (Operation *op = scores.getDefiningOp()) {
    auto queryAxis = dyn_cast<QueryAxisInterface>(op);
    QueryBehaviour behaviour = queryAxis ? queryAxis.getQueryBehaviour() : QueryBehaviour::RowByRow;
    if (behaviour == QueryBehaviour::Mixing)
      return op;
    if (behaviour != QueryBehaviour::RowByRow || op->getNumOperands() == 0)
      return nullptr;
    scores = scoresOperand(op);
  }
  return nullptr;
}

/// A step sees no later positions, so neither may `decode`.
LogicalResult checkCausality(func::FuncOp decode, const SourceValues &values) {
  LogicalResult result = success();
  decode.walk([&](SoftmaxOp softmax) {
    Operation *mixing = findMixing(softmax.getScores());
    if (!mixing || !values.dependsOnTarget(mixing->getOperand(1)))
      return;
    InFlightDiagnostic error = softmax.emitOpError()
                               << "of the decoder's self-attention is not causal, so no step can be derived";
    error.attachNote(mixing->getLoc()) << "these scores reach later positions; a causal mask would hide them";
    result = failure();
  });
  return result;
}

/// What a row's logits say, with the results' names.
struct Choice {
  SmallVector<Value> values;
  SmallVector<StringRef> names;
};

using Choose = Choice (*)(OpBuilder &builder, Location loc, Value logits);

/// The row's best tokens.
Choice chooseBest(OpBuilder &builder, Location loc, Value logits) {
  Value probabilities = LogSoftmaxOp::create(builder, loc, logits);
  auto best = TopKOp::create(builder, loc, probabilities);
  return {{best.getValues(), best.getIds()}, {"scores", "candidates"}};
}

/// All tokens: some rules act on logits, others on the log-probabilities that the sum makes of them.
Choice keepAll(OpBuilder &builder, Location loc, Value logits) {
  return {{logits, LogSumExpOp::create(builder, loc, logits)}, {"logits", "log_sums"}};
}

void setResults(func::FuncOp func, ArrayRef<Value> results, ArrayRef<StringRef> names) {
  Builder builder(func.getContext());
  func.removeResAttrsAttr();
  func.setFunctionType(builder.getFunctionType(func.getArgumentTypes(), TypeRange(ValueRange(results))));
  for (auto [number, name] : llvm::enumerate(names))
    func.setResultAttr(number, "attn.name", builder.getStringAttr(name));
}

/// True for `predict` of an encoder that stands alone: logits of the tokens that the last argument names.
bool predictsTokens(func::FuncOp func) {
  auto named = [](Attribute name, StringRef wanted) {
    auto text = dyn_cast_or_null<StringAttr>(name);
    return text && text.getValue() == wanted;
  };
  return func && func.getNumResults() == 1 && func.getNumArguments() > 0 &&
         named(func.getResultAttr(0, "attn.name"), "logits") &&
         named(func.getArgAttr(func.getNumArguments() - 1, "attn.name"), "rows");
}

/// `predict` gives the best tokens, `logits` those of all tokens.
void derivePredictions(func::FuncOp predict, SymbolTable &symbols) {
  func::FuncOp all = predict.clone();
  all.setName("logits");
  symbols.insert(all);
  for (func::FuncOp func : {predict, all}) {
    Operation *end = func.getBody().front().getTerminator();
    OpBuilder builder(end);
    Value logits = end->getOperand(0);
    Choose choose = func == predict ? chooseBest : keepAll;
    Choice choice = choose(builder, logits.getLoc(), logits);
    end->setOperands(choice.values);
    setResults(func, choice.values, choice.names);
  }
}

/// Builds one entry after another from `decode`.
class EntryBuilder {
public:
  EntryBuilder(func::FuncOp decode, const SourceValues &values, SymbolTable &symbols)
      : decode(decode), values(values), symbols(symbols), builder(decode), context(decode.getContext()),
        index(builder.getI32Type()) {}

  /// `step` with the best tokens, or `logits` with those of all tokens.
  LogicalResult buildStep(StringRef name, Choose choose);
  /// Only fills the caches with whole prompts: a decoder without a source begins there.
  LogicalResult buildPrefill();
  void buildScore();
  /// Only where the decoder attends to the source.
  void buildAttend();

private:
  func::FuncOp begin(StringRef name, ArrayRef<Named> arguments);
  void finish(func::FuncOp func, ArrayRef<Value> results, ArrayRef<StringRef> names);
  LogicalResult buildOperations(StepBuilder &step);
  void buildPositions(EntrySource &source, IRMapping &mapping);
  SoftmaxOp findLastCrossAttention();

  RankedTensorType ids(ArrayRef<int64_t> shape, ArrayRef<StringRef> names) {
    return namedTensor(context, shape, names, index);
  }
  Value getLogits() { return decode.getBody().front().getTerminator()->getOperand(0); }

  func::FuncOp decode;
  const SourceValues &values;
  SymbolTable &symbols;
  OpBuilder builder;
  MLIRContext *context;
  Type index;
};

func::FuncOp EntryBuilder::begin(StringRef name, ArrayRef<Named> arguments) {
  builder.setInsertionPoint(decode);
  SmallVector<Type> types =
      llvm::map_to_vector(arguments, [](const Named &argument) { return argument.type; });
  auto func = func::FuncOp::create(builder, decode.getLoc(), name, builder.getFunctionType(types, {}));
  symbols.insert(func);
  for (auto [number, argument] : llvm::enumerate(arguments))
    func.setArgAttr(number, "attn.name", builder.getStringAttr(argument.name));
  builder.setInsertionPointToStart(func.addEntryBlock());
  return func;
}

void EntryBuilder::finish(func::FuncOp func, ArrayRef<Value> results, ArrayRef<StringRef> names) {
  func::ReturnOp::create(builder, decode.getLoc(), results);
  setResults(func, results, names);
  eraseDeadOperations(func.getBody().front());
}

LogicalResult EntryBuilder::buildStep(StringRef name, Choose choose) {
  constexpr int64_t dynamic = ShapedType::kDynamic;
  SmallVector<Named> arguments{{"ids", ids({dynamic, 1}, {"row", "query"})},
                               {"positions", ids({dynamic}, {"row"})},
                               {"ancestors", ids({dynamic, dynamic}, {"row", "capacity"})}};
  if (values.hasSource()) {
    arguments.insert(arguments.begin() + 2, Named{"sources", ids({dynamic}, {"row"})});
    arguments.push_back({"source_lengths", values.getLengths().getType()});
  }
  func::FuncOp func = begin(name, arguments);
  StepInputs inputs{func.getArgument(1), func.getArgument(2), Value()};
  if (values.hasSource())
    inputs = {func.getArgument(1), func.getArgument(3), func.getArgument(2)};
  EntrySource source(values, values.hasSource() ? Value(func.getArgument(4)) : Value());
  StepBuilder step(builder, inputs, source, symbols);
  step.map(decode.getArgument(0), func.getArgument(0));
  if (failed(buildOperations(step)))
    return failure();
  Choice choice = choose(builder, getLogits().getLoc(), step.lookup(getLogits()));
  finish(func, choice.values, choice.names);
  return success();
}

LogicalResult EntryBuilder::buildPrefill() {
  constexpr int64_t dynamic = ShapedType::kDynamic;
  func::FuncOp func = begin("prefill", {{"source_ids", ids({dynamic, dynamic}, {"batch", "source"})},
                                        {"positions", ids({dynamic}, {"batch"})}});
  EntrySource source(values, Value());
  StepBuilder step(builder, {func.getArgument(1), Value(), Value()}, source, symbols);
  step.map(decode.getArgument(0), func.getArgument(0));
  if (failed(buildOperations(step)))
    return failure();
  finish(func, {}, {});
  return success();
}

LogicalResult EntryBuilder::buildOperations(StepBuilder &step) {
  for (Operation &op : decode.getBody().front().without_terminator()) {
    if (llvm::any_of(op.getResults(), [&](Value result) { return values.isFromSource(result); }))
      continue;
    auto queryAxis = dyn_cast<QueryAxisInterface>(op);
    bool isAlongQueries =
        llvm::any_of(op.getResults(), [&](Value result) { return values.dependsOnTarget(result); });
    if (!queryAxis || !isAlongQueries)
      step.buildRowByRow(op);
    else if (failed(queryAxis.buildStep(step)))
      return failure();
  }
  return success();
}

/// Clones `decode` as it is, but for what comes from the source.
void EntryBuilder::buildPositions(EntrySource &source, IRMapping &mapping) {
  for (Operation &op : decode.getBody().front().without_terminator()) {
    if (llvm::any_of(op.getResults(), [&](Value result) { return values.isFromSource(result); }))
      continue;
    for (Value operand : op.getOperands())
      if (values.isFromSource(operand) && !mapping.contains(operand))
        mapping.map(operand, source.read(builder, operand));
    builder.clone(op, mapping);
  }
}

void EntryBuilder::buildScore() {
  Type targetIds = decode.getArgument(0).getType();
  SmallVector<Named> arguments{{"target_ids", targetIds}, {"labels", targetIds}};
  if (values.hasSource())
    arguments.push_back({"source_lengths", values.getLengths().getType()});
  func::FuncOp func = begin("score", arguments);
  EntrySource source(values, values.hasSource() ? Value(func.getArgument(2)) : Value());
  IRMapping mapping;
  mapping.map(decode.getArgument(0), func.getArgument(0));
  buildPositions(source, mapping);
  Location loc = getLogits().getLoc();
  Value probabilities = LogSoftmaxOp::create(builder, loc, mapping.lookup(getLogits()));
  Value picked = PickOp::create(builder, loc, probabilities, func.getArgument(1));
  finish(func, {picked}, {"log_probabilities"});
}

SoftmaxOp EntryBuilder::findLastCrossAttention() {
  SoftmaxOp last;
  decode.walk([&](SoftmaxOp softmax) {
    Operation *scores = findScores(softmax.getScores());
    if (scores && values.isFromSource(findOutside(scores->getOperand(1))))
      last = softmax;
  });
  return last;
}

void EntryBuilder::buildAttend() {
  SoftmaxOp attention = findLastCrossAttention();
  if (!attention)
    return;
  func::FuncOp func = begin("attend", {{"target_ids", decode.getArgument(0).getType()},
                                       {"source_lengths", values.getLengths().getType()}});
  EntrySource source(values, func.getArgument(1));
  IRMapping mapping;
  mapping.map(decode.getArgument(0), func.getArgument(0));
  buildPositions(source, mapping);
  auto built = mapping.lookup(attention.getWeights()).getDefiningOp<SoftmaxOp>();
  auto recurrence = dyn_cast<RecurrenceOp>(built->getParentOp());
  Value mean = recurrence ? addMeanOutput(recurrence, built)
                          : Value(MeanHeadsOp::create(builder, built.getLoc(), built.getWeights()));
  finish(func, {mean}, {"attention"});
}

struct DeriveEntries : impl::DeriveEntriesBase<DeriveEntries> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    auto isOfGraph = [](func::FuncOp func) { return func->hasAttr("attn.graph"); };
    if (llvm::any_of(getOperation().getOps<func::FuncOp>(), isOfGraph))
      return; // which may have any name
    auto encode = symbols.lookup<func::FuncOp>("encode"), decode = symbols.lookup<func::FuncOp>("decode");
    if (auto predict = symbols.lookup<func::FuncOp>("predict"); predictsTokens(predict)) {
      if (failed(checkSignature(predict, predict.getNumArguments(), 1)))
        return signalPassFailure();
      derivePredictions(predict, symbols);
    }
    if (!decode)
      return;
    if (!encode && decode.getNumArguments() > 1) {
      decode.emitOpError("has no 'encode' beside it");
      return signalPassFailure();
    }
    if (failed(encode ? deriveWithSource(encode, decode, symbols) : deriveAlone(decode, symbols)))
      signalPassFailure();
  }

  LogicalResult deriveWithSource(func::FuncOp encode, func::FuncOp decode, SymbolTable &symbols) {
    unsigned encoded = std::max(encode.getNumResults(), 1u);
    if (failed(checkSignature(encode, 2, encoded)) || failed(checkSignature(decode, 2 + encoded, 1)))
      return failure();
    for (auto [taken, given] : llvm::zip(decode.getArgumentTypes().drop_front(), encode.getResultTypes()))
      if (taken != given)
        return decode.emitOpError() << "takes a memory of type " << taken << ", but 'encode' returns "
                                    << given;
    SourceValues values(decode);
    if (failed(checkCausality(decode, values)))
      return failure();
    encode.setArgAttr(0, "attn.name", StringAttr::get(&getContext(), "source_ids"));
    encode.setArgAttr(1, "attn.name", StringAttr::get(&getContext(), "source_lengths"));
    values.moveToEncoder(encode, symbols);
    eraseDeadOperations(encode.getBody().front());
    numSourceStates += values.size();
    EntryBuilder entries(decode, values, symbols);
    return deriveEntries(entries, decode, values, symbols);
  }

  LogicalResult deriveAlone(func::FuncOp decode, SymbolTable &symbols) {
    if (failed(checkSignature(decode, 1, 1)))
      return failure();
    SourceValues values(decode);
    if (failed(checkCausality(decode, values)))
      return failure();
    EntryBuilder entries(decode, values, symbols);
    if (failed(entries.buildPrefill()))
      return failure();
    return deriveEntries(entries, decode, values, symbols);
  }

  /// What decoders have with a source and without one.
  LogicalResult deriveEntries(EntryBuilder &entries, func::FuncOp decode, const SourceValues &values,
                              SymbolTable &symbols) {
    if (failed(entries.buildStep("step", chooseBest)) || failed(entries.buildStep("logits", keepAll)))
      return failure();
    entries.buildScore();
    entries.buildAttend();
    symbols.erase(decode);
    numCaches += llvm::range_size(getOperation().getOps<StateOp>()) - values.size();
    return success();
  }
};

} // namespace
} // namespace attn
