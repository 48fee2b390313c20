//===- SpecBuilder.cpp - what importing models and graphs has in common ----===//
// SPDX-License-Identifier: Apache-2.0
//
// Locations, weights and functions; and the way in.

#include "compiler/import/SpecBuilder.h"
#include "compiler/import/ImportSpec.h"
#include "compiler/spec/WeightNames.h"

#include "mlir/IR/Verifier.h"

using namespace mlir;

namespace attnc {

SpecBuilder::SpecBuilder(const Spec &spec, ModuleOp module)
    : OpBuilder(module.getContext()), spec(spec), file(getStringAttr(spec.file)), module(module) {}

mlir::Location SpecBuilder::at(Location where) { return FileLineColLoc::get(file, where.line, where.column); }

attn::WeightOp SpecBuilder::declareWeight(mlir::Location where, StringRef symbol, ArrayRef<int64_t> shape) {
  InsertionGuard guard(*this);
  setInsertionPointToEnd(module.getBody());
  return attn::WeightOp::create(*this, where, getStringAttr(symbol),
                                TypeAttr::get(RankedTensorType::get(shape, getF32Type())), nullptr, nullptr,
                                nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
}

llvm::StringMap<attn::WeightOp> SpecBuilder::declareWeights(const ModelSpec &model) {
  llvm::StringMap<attn::WeightOp> weights;
  for (const WeightUse &use : weightsOf(model)) {
    const Located<std::string> &pattern = spec.weights.names[size_t(use.role)];
    std::string symbol = symbolOf(use);
    attn::WeightOp weight = declareWeight(at(pattern.given ? pattern.where : model.where), symbol, use.shape);
    weight.setTensorsAttr(getStrArrayAttr({expandPattern(*pattern, use)}));
    bool isMatrix = use.shape.size() == 2;
    weight.setTransposed(isMatrix && isLinear(use.role) && *spec.weights.transposed);
    if (isMatrixOfLinear(model, use))
      setStorage(weight, expandPattern(*pattern, use));
    weights[symbol] = weight;
  }
  return weights;
}

void SpecBuilder::setStorage(attn::WeightOp weight, StringRef tensor) {
  WeightType type = spec.types.typeOf(tensor);
  if (type != WeightType::F32)
    weight.setStorage(type == WeightType::Int8 ? attn::Storage::int8 : attn::Storage::bf16);
}

attn::RecurrenceOp
SpecBuilder::createRecurrence(mlir::Location where, TypeRange results, const RecurrenceInputs &inputs,
                              llvm::function_ref<SmallVector<Value>(attn::RecurrenceOp)> writeBody) {
  auto loop = attn::RecurrenceOp::create(*this, where, results, inputs.sequences, inputs.initial,
                                         inputs.constants, inputs.lengths, inputs.isReversed, ArrayAttr());
  InsertionGuard guard(*this);
  Block *body = createBlock(&loop.getBody());
  for (Value sequence : inputs.sequences)
    body->addArgument(attn::positionOf(cast<RankedTensorType>(sequence.getType())), where);
  for (const SmallVector<Value> *values : {&inputs.initial, &inputs.constants})
    for (Value value : *values)
      body->addArgument(value.getType(), where);
  attn::YieldOp::create(*this, where, writeBody(loop));
  return loop;
}

func::FuncOp SpecBuilder::startEntry(mlir::Location where, StringRef name, ArrayRef<EntryValue> arguments) {
  SmallVector<Type> types;
  for (const EntryValue &argument : arguments)
    types.push_back(argument.type);
  setInsertionPointToEnd(module.getBody());
  auto entry = func::FuncOp::create(*this, where, name, getFunctionType(types, {}));
  for (auto [index, argument] : llvm::enumerate(arguments))
    entry.setArgAttr(index, "attn.name", getStringAttr(argument.name));
  setInsertionPointToStart(entry.addEntryBlock());
  return entry;
}

void SpecBuilder::finishEntry(func::FuncOp entry, ValueRange values, ArrayRef<StringRef> names) {
  func::ReturnOp::create(*this, entry.getLoc(), values);
  entry.setFunctionType(getFunctionType(entry.getArgumentTypes(), values.getTypes()));
  for (auto [index, name] : llvm::enumerate(names))
    entry.setResultAttr(index, "attn.name", getStringAttr(name));
}

Value SpecBuilder::getWeight(mlir::Location where, attn::WeightOp weight) {
  return attn::GetWeightOp::create(*this, where, weight.getType(), weight.getSymName());
}

OwningOpRef<ModuleOp> importSpec(const Spec &spec, MLIRContext &context) {
  context.loadDialect<attn::AttnDialect, func::FuncDialect>();
  auto where = FileLineColLoc::get(StringAttr::get(&context, spec.file), 1, 1);
  OwningOpRef<ModuleOp> module = ModuleOp::create(where);
  if (spec.types.roundsCaches())
    module->getOperation()->setAttr(attn::roundsCaches, UnitAttr::get(&context));
  if (spec.model)
    isRecurrent(*spec.model) ? importRecurrent(spec, *module) : importModel(spec, *module);
  bool isWhole = true;
  for (const GraphSpec &graph : spec.graphs)
    isWhole &= succeeded(importGraph(spec, graph, *module));
  if (!isWhole || failed(verify(*module)))
    return nullptr;
  return module;
}

} // namespace attnc
