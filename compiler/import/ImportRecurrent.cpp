//===- ImportRecurrent.cpp - recurrent `model:` to attn module -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Writes a recurrent encoder-decoder (Cho et al. 2014, Sutskever et al. 2014) with or without attention
// (Bahdanau et al. 2015, Luong et al. 2015): `encode` and `decode`, cells as linears, slices and pointwise
// work.

#include "compiler/import/SpecBuilder.h"
#include "compiler/spec/WeightNames.h"

#include <cmath>

using namespace mlir;

namespace attnc {
namespace {

using Values = SmallVector<Value>;

/// One cell's place among the weights; `use` is its matrix of the input.
struct CellUse {
  WeightUse use;
  int64_t width;

  WeightUse stateUse() const {
    WeightUse state = use;
    ++state.part;
    return state;
  }
};

/// What attention looks at, one for each sentence.
struct Memory {
  Value keys;    // batch x source x width
  Value rows;    // batch x source x width
  Value lengths; // batch
};

class RecurrentImporter {
public:
  RecurrentImporter(const Spec &spec, ModuleOp module)
      : model(*spec.model), recurrent(model.recurrent), build(spec, module),
        gates(spec.weights.gates.given ? *spec.weights.gates : gateLetters(model)),
        weights(build.declareWeights(model)), where(build.at(recurrent.cell.where)) {}

  void import();

private:
  Value weight(const WeightUse &use) { return build.getWeight(where, weights.at(symbolOf(use))); }
  Value linear(Value rows, WeightUse use, bool hasBias);
  Value activate(Value rows, attn::ActivationKind kind) {
    return attn::ActivationOp::create(build, where, rows, kind);
  }
  Value add(Value a, Value b) { return attn::AddOp::create(build, where, a, b); }
  Value mul(Value a, Value b) { return attn::MulOp::create(build, where, a, b); }
  Value concat(ValueRange parts) {
    return parts.size() == 1 ? parts[0] : Value(attn::ConcatOp::create(build, where, parts));
  }
  Value zeros(Value lengths, int64_t width) { return attn::ZerosOp::create(build, where, lengths, width); }
  Value embed(Value ids, WeightRole table);
  RankedTensorType tensor(ArrayRef<StringRef> names, int64_t width);

  Value readInput(Value rows, const CellUse &cell);
  Value gate(Value stacked, char letter, int64_t width);
  Value resetState(Value reset, Value state, Value fromState, const CellUse &cell);
  Values applyGru(Value fromInput, Value state, const CellUse &cell);
  Values applyLstm(Value fromInput, ValueRange states, const CellUse &cell);
  Values applyCell(Value fromInput, ValueRange states, const CellUse &cell);
  unsigned statesOfCell() const { return *recurrent.cell == Cell::Lstm ? 2 : 1; }

  attn::RecurrenceOp runEncoderCell(Value rows, Value lengths, const CellUse &cell, bool isReversed);
  Values cross(ArrayRef<Values> lastStates, int64_t layer);
  void importEncode();

  bool asksInside() const {
    return recurrent.attention &&
           (*recurrent.attention->place == AttentionPlace::Before || *recurrent.attention->inputFeeding);
  }
  Value keysOf(Value rows);
  Value queryOf(Value rows);
  Value normalize(Value rows);
  Value attend(Value rows, const Memory &memory);
  Value join(Value context, Value rows);
  Values runDecoderBody(Value now, ValueRange states, const Memory &memory);
  Values runDecoder(Value embedded, ValueRange initial, const Memory &memory);
  void importDecode();

  const ModelSpec &model;
  const RecurrentSpec &recurrent;
  SpecBuilder build;
  std::string gates;
  llvm::StringMap<attn::WeightOp> weights;
  mlir::Location where;
};

} // namespace

Value RecurrentImporter::linear(Value rows, WeightUse use, bool hasBias) {
  Value matrix = weight(use);
  use.isBias = true;
  return attn::LinearOp::create(build, where, rows, matrix, hasBias ? weight(use) : Value());
}

Value RecurrentImporter::embed(Value ids, WeightRole table) {
  mlir::Location at = build.at(model.embedding.where);
  Value rows = attn::EmbedOp::create(build, at, ids, weight({table}));
  float scale = float(*model.embedding.scale);
  return scale == 1 ? rows : Value(attn::ScaleOp::create(build, at, rows, build.getF32FloatAttr(scale)));
}

/// Axes other than `query` and `width` are sizes.
RankedTensorType RecurrentImporter::tensor(ArrayRef<StringRef> names, int64_t width) {
  SmallVector<int64_t> shape;
  for (StringRef name : names)
    shape.push_back(name == "width" ? width : name == "query" ? 1 : ShapedType::kDynamic);
  return attn::namedTensor(build.getContext(), shape, names, build.getF32Type());
}

//===----------------------------------------------------------------------===//
// Cells
//===----------------------------------------------------------------------===//

/// What a cell's gates take from its input; it may stand outside of the recurrence.
Value RecurrentImporter::readInput(Value rows, const CellUse &cell) {
  return linear(rows, cell.use, *recurrent.biases != CellBiases::None);
}

Value RecurrentImporter::gate(Value stacked, char letter, int64_t width) {
  return attn::SliceOp::create(build, where, stacked, int64_t(gates.find(letter)) * width, width);
}

/// What the candidate takes from the state: reset after the state's matmul (PyTorch, cuDNN), or before it
/// (Cho).
Value RecurrentImporter::resetState(Value reset, Value state, Value fromState, const CellUse &cell) {
  if (*recurrent.reset == ResetPlace::After)
    return mul(reset, gate(fromState, 'n', cell.width));
  Value again = linear(mul(reset, state), cell.stateUse(), *recurrent.biases == CellBiases::Both);
  return gate(again, 'n', cell.width);
}

Values RecurrentImporter::applyGru(Value fromInput, Value state, const CellUse &cell) {
  Value fromState = linear(state, cell.stateUse(), *recurrent.biases == CellBiases::Both);
  auto open = [&](char letter) {
    return activate(add(gate(fromInput, letter, cell.width), gate(fromState, letter, cell.width)),
                    attn::ActivationKind::sigmoid);
  };
  Value reset = open('r'), update = open('z');
  Value candidate = activate(add(gate(fromInput, 'n', cell.width), resetState(reset, state, fromState, cell)),
                             attn::ActivationKind::tanh);
  // (1 - update) * candidate + update * state
  Value minus = attn::ScaleOp::create(build, where, candidate, build.getF32FloatAttr(-1));
  return {add(candidate, mul(update, add(state, minus)))};
}

Values RecurrentImporter::applyLstm(Value fromInput, ValueRange states, const CellUse &cell) {
  Value fromState = linear(states[0], cell.stateUse(), *recurrent.biases == CellBiases::Both);
  auto open = [&](char letter, attn::ActivationKind kind) {
    return activate(add(gate(fromInput, letter, cell.width), gate(fromState, letter, cell.width)), kind);
  };
  Value input = open('i', attn::ActivationKind::sigmoid), forget = open('f', attn::ActivationKind::sigmoid);
  Value candidate = open('g', attn::ActivationKind::tanh), output = open('o', attn::ActivationKind::sigmoid);
  Value kept = add(mul(forget, states[1]), mul(input, candidate));
  return {mul(output, activate(kept, attn::ActivationKind::tanh)), kept};
}

/// The next states; the first of them is also the cell's output.
Values RecurrentImporter::applyCell(Value fromInput, ValueRange states, const CellUse &cell) {
  return *recurrent.cell == Cell::Lstm ? applyLstm(fromInput, states, cell)
                                       : applyGru(fromInput, states[0], cell);
}

//===----------------------------------------------------------------------===//
// Encoder and bridge
//===----------------------------------------------------------------------===//

attn::RecurrenceOp RecurrentImporter::runEncoderCell(Value rows, Value lengths, const CellUse &cell,
                                                     bool isReversed) {
  Value fromInput = readInput(rows, cell);
  Values initial(statesOfCell(), zeros(lengths, cell.width));
  SmallVector<Type> results = {tensor({"batch", "source", "width"}, cell.width)};
  llvm::append_range(results, ValueRange(initial).getTypes());
  return build.createRecurrence(where, results, {{fromInput}, initial, {}, lengths, isReversed},
                                [&](attn::RecurrenceOp loop) {
                                  Values next = applyCell(loop.getPositions()[0], loop.getStates(), cell);
                                  next.insert(next.begin(), next[0]);
                                  return next;
                                });
}

/// The decoder's initial states of one layer. `lastStates` are those of each direction.
Values RecurrentImporter::cross(ArrayRef<Values> lastStates, int64_t layer) {
  BridgeDirection direction = *recurrent.bridge.direction;
  if (*recurrent.bidirectional && direction != BridgeDirection::Both)
    lastStates = lastStates.slice(direction == BridgeDirection::Backward, 1);
  Values crossed;
  for (unsigned state = 0; state < statesOfCell(); ++state) {
    Values parts;
    for (const Values &last : lastStates)
      parts.push_back(last[state]);
    Value value = concat(parts);
    if (hasBridgeLinear(model))
      value = linear(value, {WeightRole::Bridge, layer, state}, /*hasBias=*/true);
    if (*recurrent.bridge.kind == BridgeKind::LinearTanh)
      value = activate(value, attn::ActivationKind::tanh);
    crossed.push_back(value);
  }
  return crossed;
}

void RecurrentImporter::importEncode() {
  auto ids = attn::namedTensor(build.getContext(), {ShapedType::kDynamic, ShapedType::kDynamic},
                               {"batch", "source"}, build.getI32Type());
  auto lengthsType =
      attn::namedTensor(build.getContext(), {ShapedType::kDynamic}, {"batch"}, build.getI32Type());
  func::FuncOp entry = build.startEntry(build.at(model.encoder.where), "encode",
                                        {{"source_ids", ids}, {"source_lengths", lengthsType}});
  Value rows = embed(entry.getArgument(0), sourceTable(model)), lengths = entry.getArgument(1);
  Values crossed;
  for (int64_t layer = 0; layer < *model.encoder.layers; ++layer) {
    Values outputs;
    SmallVector<Values> lastStates;
    for (unsigned direction = 0; direction < (*recurrent.bidirectional ? 2 : 1); ++direction) {
      CellUse cell{{WeightRole::EncoderCell, layer, 2 * direction}, *recurrent.encoderWidth};
      attn::RecurrenceOp loop = runEncoderCell(rows, lengths, cell, direction == 1);
      outputs.push_back(loop.getOutputs()[0]);
      lastStates.emplace_back(loop.getLast());
    }
    rows = concat(outputs);
    if (*recurrent.bridge.kind != BridgeKind::Zeros)
      llvm::append_range(crossed, cross(lastStates, layer));
  }
  Values results;
  SmallVector<StringRef> names;
  if (recurrent.attention) {
    results.push_back(rows);
    names.push_back("memory");
  }
  names.append(crossed.size(), "state");
  llvm::append_range(results, crossed);
  build.finishEntry(entry, results, names);
}

//===----------------------------------------------------------------------===//
// Attention and decoder
//===----------------------------------------------------------------------===//

/// What queries are compared with: computed once for each source.
Value RecurrentImporter::keysOf(Value rows) {
  const AttentionScore score = *recurrent.attention->score;
  if (score == AttentionScore::Additive)
    return linear(rows, {WeightRole::DecoderAttention, 0, 1}, *model.biases.attention);
  return score == AttentionScore::Cosine ? normalize(rows) : rows;
}

/// Rows of length one: their products are cosines.
Value RecurrentImporter::normalize(Value rows) {
  return attn::L2NormOp::create(build, build.at(recurrent.attention->where), rows,
                                build.getF32FloatAttr(1e-12f));
}

/// What asks, of the width of the keys.
Value RecurrentImporter::queryOf(Value rows) {
  const AttentionScore score = *recurrent.attention->score;
  if (score == AttentionScore::General || score == AttentionScore::Additive)
    return linear(rows, {WeightRole::DecoderAttention, 0, 0}, *model.biases.attention);
  return score == AttentionScore::Cosine ? normalize(rows) : rows;
}

/// The context of each row: what it looks at in the memory. One head, whatever the score.
Value RecurrentImporter::attend(Value rows, const Memory &memory) {
  const RecurrentAttentionSpec &attention = *recurrent.attention;
  mlir::Location at = build.at(attention.where);
  auto asHead = [&](Value value) -> Value { return attn::SplitHeadsOp::create(build, at, value, 1); };
  Value query = asHead(queryOf(rows)), keys = asHead(memory.keys), scores;
  if (*attention.score == AttentionScore::Additive)
    scores =
        attn::AdditiveScoresOp::create(build, at, query, keys, weight({WeightRole::DecoderAttention, 0, 2}));
  else
    scores = attn::MatmulOp::create(build, at, query, keys, /*transposed=*/true);
  bool isScaled = *attention.score == AttentionScore::ScaledDot;
  double scale =
      model.attentionScale->value_or(isScaled ? 1 / std::sqrt(double(*recurrent.decoderWidth)) : 1);
  if (scale != 1)
    scores = attn::ScaleOp::create(build, at, scores, build.getF32FloatAttr(float(scale)));
  scores = attn::PaddingMaskOp::create(build, at, scores, memory.lengths);
  Value shares = attn::SoftmaxOp::create(build, at, scores);
  Value context = attn::MatmulOp::create(build, at, shares, asHead(memory.rows), /*transposed=*/false);
  return attn::MergeHeadsOp::create(build, at, context);
}

/// The decoder's rows where attention follows the cell: tanh(linear([context; state])).
Value RecurrentImporter::join(Value context, Value rows) {
  Value joined =
      linear(concat({context, rows}), {WeightRole::DecoderAttention, 0, 3}, *model.biases.attention);
  return activate(joined, attn::ActivationKind::tanh);
}

/// All layers at one position: the top row, the context if it was asked for inside, then the next states.
Values RecurrentImporter::runDecoderBody(Value now, ValueRange states, const Memory &memory) {
  unsigned perCell = statesOfCell(), layers = *model.decoder.layers;
  Values input = {now}, next;
  Value context;
  bool isFed = recurrent.attention && *recurrent.attention->inputFeeding;
  bool isBefore = asksInside() && *recurrent.attention->place == AttentionPlace::Before;
  if (isBefore)
    input.push_back(context = attend(states[(layers - 1) * perCell], memory));
  if (isFed)
    input.push_back(states.back());
  Value rows = concat(input);
  for (int64_t layer = 0; layer < layers; ++layer) {
    CellUse cell{{WeightRole::DecoderCell, layer}, *recurrent.decoderWidth};
    Values made = applyCell(readInput(rows, cell), states.slice(layer * perCell, perCell), cell);
    rows = made[0];
    llvm::append_range(next, made);
  }
  if (isFed) {
    context = attend(rows, memory);
    rows = join(context, rows);
    next.push_back(rows);
  }
  Values outputs = {rows};
  if (context && *recurrent.readsContext)
    outputs.push_back(context);
  outputs.append(next);
  return outputs;
}

/// The recurrence over all positions: its rows, and the contexts if they were asked for inside and are read.
Values RecurrentImporter::runDecoder(Value embedded, ValueRange initial, const Memory &memory) {
  Values states(initial);
  if (recurrent.attention && *recurrent.attention->inputFeeding)
    states.push_back(zeros(memory.lengths, *recurrent.decoderWidth));
  Values shared;
  if (asksInside())
    shared = {memory.keys, memory.rows, memory.lengths};
  SmallVector<Type> results = {tensor({"batch", "target", "width"}, *recurrent.decoderWidth)};
  if (asksInside() && *recurrent.readsContext)
    results.push_back(tensor({"batch", "target", "width"}, memoryWidth(model)));
  size_t outputs = results.size();
  llvm::append_range(results, ValueRange(states).getTypes());
  attn::RecurrenceOp loop = build.createRecurrence(
      where, results, {{embedded}, states, shared, Value(), false}, [&](attn::RecurrenceOp loop) {
        ValueRange inside = loop.getShared();
        Memory seen = inside.empty() ? Memory() : Memory{inside[0], inside[1], inside[2]};
        return runDecoderBody(loop.getPositions()[0], loop.getStates(), seen);
      });
  return Values(loop.getResults().take_front(outputs));
}

void RecurrentImporter::importDecode() {
  auto ids = attn::namedTensor(build.getContext(), {ShapedType::kDynamic, ShapedType::kDynamic},
                               {"batch", "target"}, build.getI32Type());
  auto lengthsType =
      attn::namedTensor(build.getContext(), {ShapedType::kDynamic}, {"batch"}, build.getI32Type());
  SmallVector<EntryValue> arguments{{"target_ids", ids}};
  if (recurrent.attention)
    arguments.push_back({"memory", tensor({"batch", "source", "width"}, memoryWidth(model))});
  size_t states = *model.decoder.layers * statesOfCell();
  bool areGiven = *recurrent.bridge.kind != BridgeKind::Zeros;
  if (areGiven)
    arguments.append(states, {"state", tensor({"batch", "query", "width"}, *recurrent.decoderWidth)});
  arguments.push_back({"source_lengths", lengthsType});
  func::FuncOp entry = build.startEntry(build.at(model.decoder.where), "decode", arguments);

  Memory memory{{}, {}, entry.getArguments().back()};
  if (recurrent.attention) {
    memory.rows = entry.getArgument(1);
    memory.keys = keysOf(memory.rows);
  }
  Values initial = areGiven ? llvm::to_vector(ValueRange(entry.getArguments()).drop_back().take_back(states))
                            : Values(states, zeros(memory.lengths, *recurrent.decoderWidth));
  Value embedded = embed(entry.getArgument(0), targetTable(model));
  Values made = runDecoder(embedded, initial, memory);
  Value rows = made[0], context = made.size() > 1 ? made[1] : Value();
  if (recurrent.attention && !asksInside()) {
    context = attend(rows, memory);
    rows = join(context, rows);
  }
  Values read = {rows};
  if (*recurrent.readsContext)
    read.push_back(context);
  if (*recurrent.readsEmbedding)
    read.push_back(embedded);
  Value bias = *model.biases.output ? weight({WeightRole::Output, 0, 0, true}) : Value();
  mlir::Location at = build.at(model.vocabulary.target.where);
  Value logits = attn::LinearOp::create(build, at, concat(read), weight({outputTable(model)}), bias);
  build.finishEntry(entry, logits, {"logits"});
}

void RecurrentImporter::import() {
  importEncode();
  importDecode();
}

void importRecurrent(const Spec &spec, ModuleOp module) { RecurrentImporter(spec, module).import(); }

} // namespace attnc
