//===- ImportGraph.cpp - `graph:` to attn module ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Writes each graph as one function. Extents are checked by the ops' own verifiers, which speak of the YAML.

#include "compiler/import/CheckOperands.h"

#include "mlir/IR/Verifier.h"

using namespace mlir;

namespace attnc {
namespace {

class GraphImporter {
public:
  GraphImporter(const Spec &spec, const GraphSpec &graph, ModuleOp module)
      : graph(graph), build(spec, module) {}

  LogicalResult import();

private:
  void declareWeights();
  func::FuncOp startEntry();
  Value operand(const GraphOp &op, unsigned index);
  Operation *create(const GraphOp &op);
  Operation *createRows(const GraphOp &op);
  Operation *createAttention(const GraphOp &op);
  Operation *createScoreMap(const GraphOp &op);
  LogicalResult setStrides(func::FuncOp entry);
  bool hasOperands(const GraphOp &op);
  bool importOp(const GraphOp &op);

  const GraphSpec &graph;
  SpecBuilder build;
  llvm::StringMap<attn::WeightOp> weights;
  llvm::StringMap<Value> values;
};

} // namespace

void GraphImporter::declareWeights() {
  for (const GraphWeight &weight : graph.weights) {
    attn::WeightOp declared =
        build.declareWeight(build.at(weight.name.where), *graph.name + "." + *weight.name, weight.shape);
    weights[*weight.name] = declared;
    if (*weight.sinusoid != GraphSinusoid::None) {
      bool isInterleaved = *weight.sinusoid == GraphSinusoid::Interleaved;
      declared.setSinusoidAttr(attn::SinusoidAttr::get(build.getContext(), isInterleaved, /*inclusive=*/false,
                                                       /*start=*/0, *weight.base));
      continue;
    }
    if (weight.value.empty()) {
      declared.setTensorsAttr(build.getStrArrayAttr({*weight.tensor}));
      declared.setTransposed(*weight.transposed && weight.shape.size() == 2);
      if (weight.shape.size() == 2)
        build.setStorage(declared, *weight.tensor);
      continue;
    }
    auto type = RankedTensorType::get(weight.shape, build.getF32Type());
    declared.setValueAttr(DenseElementsAttr::get(type, ArrayRef<float>(weight.value)));
  }
}

func::FuncOp GraphImporter::startEntry() {
  SmallVector<EntryValue> arguments;
  for (const GraphInput &input : graph.inputs) {
    SmallVector<int64_t> shape;
    SmallVector<StringRef> names;
    for (const GraphAxis &axis : input.shape) {
      shape.push_back(axis.extent.value_or(ShapedType::kDynamic));
      names.push_back(*axis.name);
    }
    Type element = *input.type == ElementKind::F32 ? Type(build.getF32Type()) : Type(build.getI32Type());
    arguments.push_back({*input.name, attn::namedTensor(build.getContext(), shape, names, element)});
  }
  func::FuncOp entry = build.startEntry(build.at(graph.name.where), *graph.name, arguments);
  entry->setAttr("attn.graph", build.getUnitAttr());
  for (auto [input, argument] : llvm::zip(graph.inputs, entry.getArguments()))
    values[*input.name] = argument;
  return entry;
}

/// The operand's value; null where the op has fewer operands.
Value GraphImporter::operand(const GraphOp &op, unsigned index) {
  if (index >= op.operands.size())
    return {};
  const Located<std::string> &name = op.operands[index];
  if (auto weight = weights.find(*name); weight != weights.end())
    return build.getWeight(build.at(name.where), weight->second);
  return values.lookup(*name);
}

static attn::ActivationKind kindOf(PointwiseKind kind) {
  switch (kind) {
  case PointwiseKind::Relu:
    return attn::ActivationKind::relu;
  case PointwiseKind::Gelu:
    return attn::ActivationKind::gelu;
  case PointwiseKind::GeluTanh:
    return attn::ActivationKind::gelu_tanh;
  case PointwiseKind::Silu:
    return attn::ActivationKind::silu;
  case PointwiseKind::Tanh:
    return attn::ActivationKind::tanh;
  case PointwiseKind::Sigmoid:
    return attn::ActivationKind::sigmoid;
  }
  llvm_unreachable("every function is listed");
}

/// Ops that work row by row, and views of rows; null for others.
Operation *GraphImporter::createRows(const GraphOp &op) {
  mlir::Location where = build.at(op.kind.where);
  Value a = operand(op, 0), b = operand(op, 1), c = operand(op, 2);
  auto number = [&](const Located<double> &value) { return build.getF32FloatAttr(float(*value)); };
  switch (*op.kind) {
  case GraphOpKind::Linear:
    return attn::LinearOp::create(build, where, a, b, c);
  case GraphOpKind::Scale:
    return attn::ScaleOp::create(build, where, a, number(op.by));
  case GraphOpKind::Add:
    return attn::AddOp::create(build, where, a, b);
  case GraphOpKind::Mul:
    return attn::MulOp::create(build, where, a, b);
  case GraphOpKind::Activation:
    return attn::ActivationOp::create(build, where, a, kindOf(*op.with));
  case GraphOpKind::LayerNorm:
    return attn::LayerNormOp::create(build, where, a, b, c, number(op.epsilon));
  case GraphOpKind::RmsNorm:
    return attn::RmsNormOp::create(build, where, a, b, number(op.epsilon));
  case GraphOpKind::L2Norm:
    return attn::L2NormOp::create(build, where, a, number(op.epsilon));
  case GraphOpKind::Rotary:
    return attn::RotaryOp::create(build, where, a, b, c, *op.interleaved);
  case GraphOpKind::SplitHeads:
    return attn::SplitHeadsOp::create(build, where, a, *op.heads);
  case GraphOpKind::MergeHeads:
    return attn::MergeHeadsOp::create(build, where, a);
  case GraphOpKind::Slice:
    return attn::SliceOp::create(build, where, a, *op.at, *op.width);
  case GraphOpKind::Embed:
    return attn::EmbedOp::create(build, where, a, b);
  case GraphOpKind::AddPositions:
    return attn::AddPositionsOp::create(build, where, a, b, Value(), *op.offset);
  case GraphOpKind::LogSoftmax:
    return attn::LogSoftmaxOp::create(build, where, a);
  default:
    return nullptr;
  }
}

Operation *GraphImporter::createScoreMap(const GraphOp &op) {
  SmallVector<ScoreTable> tables;
  for (unsigned index = 1; index < op.operands.size(); ++index)
    tables.push_back({*op.operands[index], operand(op, index)});
  return build.createScoreMap(
      build.at(op.kind.where), operand(op, 0),
      {op.scoreTree ? &*op.scoreTree : nullptr, op.maskTree ? &*op.maskTree : nullptr}, tables);
}

/// Ops of the attention chain, and those that select.
Operation *GraphImporter::createAttention(const GraphOp &op) {
  mlir::Location where = build.at(op.kind.where);
  Value a = operand(op, 0), b = operand(op, 1);
  switch (*op.kind) {
  case GraphOpKind::Matmul:
    return attn::MatmulOp::create(build, where, a, b, *op.transposed, build.roundsProducts());
  case GraphOpKind::AdditiveScores:
    return attn::AdditiveScoresOp::create(build, where, a, b, operand(op, 2));
  case GraphOpKind::ScoreMap:
    return createScoreMap(op);
  case GraphOpKind::WindowMask:
    return attn::WindowMaskOp::create(build, where, a, b, build.integerOrNull(*op.before),
                                      build.integerOrNull(*op.after));
  case GraphOpKind::PrefixMask:
    return attn::PrefixMaskOp::create(build, where, a, b);
  case GraphOpKind::CausalMask:
    return attn::CausalMaskOp::create(build, where, a);
  case GraphOpKind::PaddingMask:
    return attn::PaddingMaskOp::create(build, where, a, b);
  case GraphOpKind::Softmax:
    return attn::SoftmaxOp::create(build, where, a);
  case GraphOpKind::MeanHeads:
    return attn::MeanHeadsOp::create(build, where, a);
  case GraphOpKind::Pick:
    return attn::PickOp::create(build, where, a, b);
  case GraphOpKind::Take:
    return attn::TakeOp::create(build, where, a, b);
  default:
    llvm_unreachable("createRows knows the others");
  }
}

Operation *GraphImporter::create(const GraphOp &op) {
  Operation *rows = createRows(op);
  return rows ? rows : createAttention(op);
}

/// Whether each operand was built (an error was reported otherwise) and is what the op takes.
bool GraphImporter::hasOperands(const GraphOp &op) {
  SmallVector<Value> operands;
  for (const auto &[number, name] : llvm::enumerate(op.operands)) {
    if (!weights.count(*name) && !values.count(*name))
      return false;
    operands.push_back(operand(op, number));
  }
  return checkOperands(build, op, operands);
}

bool GraphImporter::importOp(const GraphOp &op) {
  if (!hasOperands(op))
    return false;
  Operation *built = create(op);
  if (failed(verify(built)))
    return false;
  values[*op.name] = built->getResult(0);
  return true;
}

/// Arguments and results with strides of their own have them as `attn.strides`.
LogicalResult GraphImporter::setStrides(func::FuncOp entry) {
  for (const GraphStrides &given : graph.strides) {
    SmallVector<Attribute> strides;
    for (const GraphAxis &stride : given.strides)
      strides.push_back(stride.extent ? attn::SizeAttr::getConstant(build.getContext(), *stride.extent)
                                      : attn::SizeAttr::getNamed(build.getContext(), *stride.name));
    strides.push_back(attn::SizeAttr::getConstant(build.getContext(), 1));
    ArrayAttr all = build.getArrayAttr(strides);
    for (auto [number, input] : llvm::enumerate(graph.inputs))
      if (*input.name == *given.tensor) {
        entry.setArgAttr(number, "attn.strides", all);
        entry.getArgument(number).setLoc(build.at(given.tensor.where));
      }
    for (auto [number, output] : llvm::enumerate(graph.outputs)) {
      if (*output != *given.tensor)
        continue;
      int64_t rank = cast<RankedTensorType>(entry.getResultTypes()[number]).getRank();
      if (rank != int64_t(strides.size()))
        return emitError(build.at(given.tensor.where))
               << "'" << *output << "' has " << given.strides.size() << " strides, but " << rank
               << " axes; the last one has none";
      entry.setResultAttr(number, "attn.strides", all);
    }
  }
  return success();
}

LogicalResult GraphImporter::import() {
  declareWeights();
  func::FuncOp entry = startEntry();
  bool isWhole = true;
  for (const GraphOp &op : graph.ops)
    isWhole &= importOp(op);
  if (!isWhole)
    return failure();
  SmallVector<Value> results;
  SmallVector<StringRef> names;
  for (const Located<std::string> &output : graph.outputs) {
    results.push_back(values.lookup(*output));
    names.push_back(*output);
  }
  build.finishEntry(entry, results, names);
  return setStrides(entry);
}

LogicalResult importGraph(const Spec &spec, const GraphSpec &graph, ModuleOp module) {
  return GraphImporter(spec, graph, module).import();
}

} // namespace attnc
