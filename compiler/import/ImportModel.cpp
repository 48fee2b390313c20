//===- ImportModel.cpp - `model:` to attn module ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Writes a Transformer (Vaswani et al. 2017) with attention unfused: `encode` and `decode`, or one of them
// alone; an encoder that predicts masked tokens (Devlin et al. 2019) has `predict` as well.

#include "compiler/import/SpecBuilder.h"
#include "compiler/spec/WeightNames.h"

#include <cmath>

using namespace mlir;

namespace attnc {
namespace {

/// The roles that one side of the network takes.
struct SideRoles {
  const SideSpec &side;
  WeightRole table;
  WeightRole positions;
  WeightRole embeddingNorm;
  WeightRole feedForward;
  WeightRole feedForwardNorm;
  WeightRole finalNorm;
};

/// One attention: who asks, who is asked, and which keys are hidden.
struct Attention {
  const SideSpec &side;
  WeightRole role;
  int64_t layer;
  Value memory;  // batch x key x width; null: the queries themselves
  Value lengths; // batch: keys past it are hidden; null: none are
  bool isCausal;

  bool isToSelf() const { return !memory; }
};

class ModelImporter {
public:
  ModelImporter(const Spec &spec, ModuleOp module)
      : model(*spec.model), build(spec, module), weights(build.declareWeights(model)) {}

  void import();

private:
  void declareSinusoids(StringRef name, int64_t width, bool isInterleaved);
  void declareSlopes(int64_t heads);
  void declarePositions(const SideSpec &side);
  std::string angleTable(const SideSpec &side) const;
  Value getWeight(mlir::Location where, const WeightUse &use);
  Value linear(mlir::Location where, Value rows, WeightUse use, bool hasBias);
  Value norm(Value rows, WeightRole role, int64_t layer);
  Value attend(Value queries, const Attention &attention);
  Value rotate(Value heads, const SideSpec &side);
  Value mapScores(Value scores, const Attention &attention);
  Value biasScores(Value scores, const Attention &attention);
  Value maskScores(Value scores, const Attention &attention);
  Value feedForward(Value rows, WeightRole role, int64_t layer);
  Value scale(Value rows, const Located<double> &factor);
  Value embed(Value ids, Value types, const SideRoles &roles);
  template <typename Work> Value block(Value rows, WeightRole normRole, int64_t layer, Work work);
  RankedTensorType tensor(ArrayRef<StringRef> names, Type element);
  SmallVector<EntryValue> sourceArguments();
  Value encoderRows(func::FuncOp entry);
  Value transform(Value rows, const Located<HeadActivation> &activation, WeightRole role,
                  WeightRole normRole);
  Value logits(mlir::Location where, Value rows);
  void importEncode();
  void importPredict();
  void importDecode();

  const ModelSpec &model;
  SpecBuilder build;
  llvm::StringMap<attn::WeightOp> weights;
};

} // namespace

static constexpr StringRef sinusoids = "sinusoids";

static constexpr StringRef angles = "rotary_angles_";
static constexpr StringRef slopes = "alibi_slopes_";

/// Declares a table that is computed: sinusoids, or the angles by which heads are turned.
void ModelImporter::declareSinusoids(StringRef name, int64_t width, bool isInterleaved) {
  const PositionsSpec &positions = model.positions;
  if (weights.count(name))
    return;
  attn::WeightOp table = build.declareWeight(build.at(positions.where), name, {*positions.maxLength, width});
  table.setSinusoidAttr(attn::SinusoidAttr::get(build.getContext(), isInterleaved, *positions.inclusive,
                                                *positions.start, *positions.base));
  weights[name] = table;
}

/// The slopes of Press et al. 2022: a geometric sequence that ends at 2^-8; for other numbers of heads than
/// powers of two, every other one of the next power's fills up.
static std::vector<float> alibiSlopes(int64_t heads) {
  std::vector<float> slopes;
  int64_t power = int64_t(llvm::bit_floor(uint64_t(heads)));
  for (int64_t head = 0; head < power; ++head)
    slopes.push_back(float(std::exp2(-8.0 * double(head + 1) / double(power))));
  for (int64_t head = 0; int64_t(slopes.size()) < heads; head += 2)
    slopes.push_back(float(std::exp2(-4.0 * double(head + 1) / double(power))));
  return slopes;
}

/// Sides whose heads turn by the same width share one.
std::string ModelImporter::angleTable(const SideSpec &side) const {
  return (angles + Twine(rotatedWidthOf(model, side))).str();
}

void ModelImporter::declareSlopes(int64_t heads) {
  std::string name = (slopes + Twine(heads)).str();
  if (weights.count(name))
    return;
  attn::WeightOp table = build.declareWeight(build.at(model.positions.where), name, {heads});
  auto type = RankedTensorType::get({heads}, build.getF32Type());
  table.setValueAttr(DenseElementsAttr::get(type, ArrayRef<float>(alibiSlopes(heads))));
  weights[name] = table;
}

/// The tables that one side computes its positions from.
void ModelImporter::declarePositions(const SideSpec &side) {
  switch (*model.positions.kind) {
  case PositionKind::Sinusoidal:
    return declareSinusoids(sinusoids, *model.width, *model.positions.layout == SinusoidLayout::Interleaved);
  case PositionKind::Rotary:
    return declareSinusoids(angleTable(side), rotatedWidthOf(model, side), /*isInterleaved=*/false);
  case PositionKind::Alibi:
    return declareSlopes(*side.heads);
  default:
    return;
  }
}

Value ModelImporter::getWeight(mlir::Location where, const WeightUse &use) {
  return build.getWeight(where, weights.at(symbolOf(use)));
}

Value ModelImporter::linear(mlir::Location where, Value rows, WeightUse use, bool hasBias) {
  Value weight = getWeight(where, use);
  use.isBias = true;
  Value bias = hasBias ? getWeight(where, use) : Value();
  return attn::LinearOp::create(build, where, rows, weight, bias);
}

Value ModelImporter::norm(Value rows, WeightRole role, int64_t layer) {
  mlir::Location where = build.at(model.norm.where);
  Value weight = getWeight(where, {role, layer});
  FloatAttr epsilon = build.getF32FloatAttr(float(*model.norm.epsilon));
  if (*model.norm.kind == NormKind::Rms)
    return attn::RmsNormOp::create(build, where, rows, weight, epsilon);
  Value bias = *model.biases.norm ? getWeight(where, {role, layer, 0, true}) : Value();
  return attn::LayerNormOp::create(build, where, rows, weight, bias, epsilon);
}

/// Residual and norm around `work`: after it (post) or before it (pre).
template <typename Work>
Value ModelImporter::block(Value rows, WeightRole normRole, int64_t layer, Work work) {
  bool isPre = *model.norm.place == NormPlace::Pre;
  Value worked = work(isPre ? norm(rows, normRole, layer) : rows);
  Value sum = attn::AddOp::create(build, build.at(model.norm.place.where), worked, rows);
  return isPre ? sum : norm(sum, normRole, layer);
}

Value ModelImporter::attend(Value queries, const Attention &attention) {
  mlir::Location where = build.at(model.heads.where);
  Value memory = attention.memory ? attention.memory : queries;
  auto project = [&](Value rows, unsigned projection) {
    return linear(where, rows, {attention.role, attention.layer, projection}, *model.biases.attention);
  };
  int64_t heads = *attention.side.heads, keyHeads = keyHeadsOf(model, attention.side);
  auto projectHeads = [&](Value rows, unsigned projection) -> Value {
    return attn::SplitHeadsOp::create(build, where, project(rows, projection), projection ? keyHeads : heads);
  };
  Value query = projectHeads(queries, 0), key = projectHeads(memory, 1), value = projectHeads(memory, 2);
  if (attention.isToSelf() && *model.positions.kind == PositionKind::Rotary) {
    query = rotate(query, attention.side);
    key = rotate(key, attention.side);
  }
  bool rounded = build.roundsProducts();
  Value scores = attn::MatmulOp::create(build, where, query, key, /*transposed=*/true, rounded);
  double scale = model.attentionScale->value_or(1 / std::sqrt(double(*attention.side.headWidth)));
  scores = attn::ScaleOp::create(build, where, scores, build.getF32FloatAttr(float(scale)));
  scores = maskScores(mapScores(scores, attention), attention);
  Value shares = attn::SoftmaxOp::create(build, where, scores);
  Value context = attn::MatmulOp::create(build, where, shares, value, /*transposed=*/false, rounded);
  return project(attn::MergeHeadsOp::create(build, where, context), 3);
}

Value ModelImporter::rotate(Value heads, const SideSpec &side) {
  mlir::Location where = build.at(model.positions.where);
  bool isInterleaved = *model.positions.layout == SinusoidLayout::Interleaved;
  return attn::RotaryOp::create(build, where, heads, build.getWeight(where, weights.at(angleTable(side))),
                                Value(), isInterleaved);
}

/// Positions that act on scores: a bias of each bucket of distances and head, or a slope of each head.
Value ModelImporter::biasScores(Value scores, const Attention &attention) {
  const PositionsSpec &positions = model.positions;
  mlir::Location where = build.at(positions.where);
  bool isEncoder = attention.role == WeightRole::EncoderSelfAttention;
  std::string text;
  Value table;
  if (*positions.kind == PositionKind::Relative) {
    text = std::string("s + table[") + (isEncoder ? "bucket" : "causal_bucket") + "(key - query, " +
           std::to_string(*positions.buckets) + ", " + std::to_string(*positions.maxDistance) + "), head]";
    table = getWeight(where, {isEncoder ? WeightRole::EncoderPositions : WeightRole::DecoderPositions});
  } else if (*positions.kind == PositionKind::Alibi) {
    text = "s - table[head] * abs(key - query)";
    table = build.getWeight(where, weights.at((slopes + Twine(*attention.side.heads)).str()));
  } else {
    return scores;
  }
  Diagnostics none;
  std::optional<ScoreExpression> tree = parseScore(
      {text, positions.where, true, true}, ScalarType::Number,
      [](std::string_view) { return ScalarType::Number; }, none);
  return build.createScoreMap(where, scores, {&*tree, nullptr}, {{"table", table}});
}

Value ModelImporter::mapScores(Value scores, const Attention &attention) {
  if (attention.isToSelf())
    scores = biasScores(scores, attention);
  const Located<std::string> &text = attention.isToSelf() ? attention.side.score : model.decoder.crossScore;
  const auto &tree = attention.isToSelf() ? attention.side.scoreTree : model.decoder.crossScoreTree;
  return tree ? build.createScoreMap(build.at(text.where), scores, {&*tree, nullptr}, {}) : scores;
}

Value ModelImporter::maskScores(Value scores, const Attention &attention) {
  mlir::Location where = build.at(model.heads.where);
  const LocatedId &window = attention.side.window;
  if (attention.isToSelf() && window.value) {
    IntegerAttr distance = build.getI64IntegerAttr(**window);
    scores = attn::WindowMaskOp::create(build, build.at(window.where), scores, Value(), distance,
                                        attention.isCausal ? IntegerAttr() : distance);
  }
  if (attention.isCausal)
    scores = attn::CausalMaskOp::create(build, where, scores);
  if (attention.lengths)
    scores = attn::PaddingMaskOp::create(build, where, scores, attention.lengths);
  return scores;
}

static attn::ActivationKind kindOf(Activation activation) {
  switch (activation) {
  case Activation::Relu:
    return attn::ActivationKind::relu;
  case Activation::Gelu:
    return attn::ActivationKind::gelu;
  case Activation::GeluTanh:
    return attn::ActivationKind::gelu_tanh;
  case Activation::Silu:
    return attn::ActivationKind::silu;
  }
  llvm_unreachable("every activation is listed");
}

Value ModelImporter::feedForward(Value rows, WeightRole role, int64_t layer) {
  const FeedForwardSpec &feedForward = model.feedForward;
  mlir::Location where = build.at(feedForward.where);
  bool hasBias = *model.biases.feedForward;
  Value inner = linear(where, rows, {role, layer, 0}, hasBias);
  inner = attn::ActivationOp::create(build, build.at(feedForward.activation.where), inner,
                                     kindOf(*feedForward.activation));
  if (*feedForward.gated)
    inner = attn::MulOp::create(build, build.at(feedForward.gated.where), inner,
                                linear(where, rows, {role, layer, 2}, hasBias));
  return linear(where, inner, {role, layer, 1}, hasBias);
}

Value ModelImporter::scale(Value rows, const Located<double> &factor) {
  if (float(*factor) == 1)
    return rows;
  return attn::ScaleOp::create(build, build.at(factor.where), rows, build.getF32FloatAttr(float(*factor)));
}

/// `types` (batch x query) may be null.
Value ModelImporter::embed(Value ids, Value types, const SideRoles &roles) {
  mlir::Location where = build.at(model.embedding.where);
  Value rows = attn::EmbedOp::create(build, where, ids, getWeight(where, {roles.table}));
  rows = scale(rows, model.embedding.scale);
  if (types) {
    mlir::Location typesWhere = build.at(model.encoder.tokenTypes.where);
    Value rowsOfTypes =
        attn::EmbedOp::create(build, typesWhere, types, getWeight(typesWhere, {WeightRole::TokenTypes}));
    rows = attn::AddOp::create(build, typesWhere, rows, rowsOfTypes);
  }
  const PositionsSpec &positions = model.positions;
  mlir::Location positionsWhere = build.at(positions.where);
  if (*positions.kind == PositionKind::Sinusoidal)
    rows = attn::AddPositionsOp::create(build, positionsWhere, rows,
                                        build.getWeight(positionsWhere, weights.at(sinusoids)), Value(), 0);
  if (*positions.kind == PositionKind::Learned)
    rows = attn::AddPositionsOp::create(
        build, positionsWhere, rows, getWeight(positionsWhere, {roles.positions}), Value(), *positions.start);
  return *model.norm.embedding ? norm(rows, roles.embeddingNorm, 0) : rows;
}

/// Axes other than `width` are sizes.
RankedTensorType ModelImporter::tensor(ArrayRef<StringRef> names, Type element) {
  SmallVector<int64_t> shape;
  for (StringRef name : names)
    shape.push_back(name == "width" ? *model.width : ShapedType::kDynamic);
  return attn::namedTensor(build.getContext(), shape, names, element);
}

/// What an encoder reads: ids, lengths, and the types of tokens where there are any.
SmallVector<EntryValue> ModelImporter::sourceArguments() {
  RankedTensorType ids = tensor({"batch", "source"}, build.getI32Type());
  SmallVector<EntryValue> arguments{{"source_ids", ids},
                                    {"source_lengths", tensor({"batch"}, build.getI32Type())}};
  if (*model.encoder.tokenTypes > 0)
    arguments.push_back({"source_types", ids});
  return arguments;
}

/// All layers of the encoder.
Value ModelImporter::encoderRows(func::FuncOp entry) {
  const SideRoles roles{model.encoder,
                        sourceTable(model),
                        WeightRole::EncoderPositions,
                        WeightRole::EncoderEmbeddingNorm,
                        WeightRole::EncoderFeedForward,
                        WeightRole::EncoderFeedForwardNorm,
                        WeightRole::EncoderFinalNorm};
  Value lengths = entry.getArgument(1);
  Value types = *model.encoder.tokenTypes > 0 ? Value(entry.getArgument(2)) : Value();
  Value rows = embed(entry.getArgument(0), types, roles);
  for (int64_t layer = 0; layer < *model.encoder.layers; ++layer) {
    rows = block(rows, WeightRole::EncoderSelfAttentionNorm, layer, [&](Value input) {
      return attend(input, {roles.side, WeightRole::EncoderSelfAttention, layer, Value(), lengths, false});
    });
    rows = block(rows, roles.feedForwardNorm, layer,
                 [&](Value input) { return feedForward(input, roles.feedForward, layer); });
  }
  return *model.norm.final ? norm(rows, roles.finalNorm, 0) : rows;
}

void ModelImporter::importEncode() {
  func::FuncOp entry = build.startEntry(build.at(model.encoder.where), "encode", sourceArguments());
  Value rows = encoderRows(entry);
  if (hasDecoder(model))
    return build.finishEntry(entry, rows, {"memory"});
  if (!*model.encoder.pooler)
    return build.finishEntry(entry, rows, {"hidden"});
  mlir::Location where = build.at(model.encoder.pooler.where);
  Value first = attn::SelectOp::create(build, where, rows, /*position=*/0);
  Value pooled = attn::ActivationOp::create(build, where,
                                            linear(where, first, {WeightRole::Pooler}, *model.biases.output),
                                            attn::ActivationKind::tanh);
  build.finishEntry(entry, {rows, pooled}, {"hidden", "pooled"});
}

static Activation activationOf(HeadActivation activation) {
  return Activation(size_t(activation) - size_t(HeadActivation::Relu));
}

/// norm(activation(linear(x))), as before BERT's logits.
Value ModelImporter::transform(Value rows, const Located<HeadActivation> &activation, WeightRole role,
                               WeightRole normRole) {
  mlir::Location where = build.at(activation.where);
  rows = linear(where, rows, {role}, *model.biases.output);
  rows = attn::ActivationOp::create(build, where, rows, kindOf(activationOf(*activation)));
  return norm(rows, normRole, 0);
}

/// What an encoder makes of chosen tokens: `rows` counts through all tokens of all sentences, padding
/// included.
void ModelImporter::importPredict() {
  mlir::Location where = build.at(model.encoder.maskedTokenHead.where);
  SmallVector<EntryValue> arguments = sourceArguments();
  arguments.push_back({"rows", tensor({"row"}, build.getI32Type())});
  func::FuncOp entry = build.startEntry(where, "predict", arguments);
  Value all = attn::CollapseOp::create(build, where, encoderRows(entry));
  Value rows = attn::TakeOp::create(build, where, all, entry.getArguments().back());
  rows = transform(rows, model.encoder.maskedTokenHead, WeightRole::MaskedTokenHead,
                   WeightRole::MaskedTokenHeadNorm);
  build.finishEntry(entry, logits(where, rows), {"logits"});
}

Value ModelImporter::logits(mlir::Location where, Value rows) {
  Value bias = *model.biases.output ? getWeight(where, {WeightRole::Output, 0, 0, true}) : Value();
  return attn::LinearOp::create(build, where, rows, getWeight(where, {outputTable(model)}), bias);
}

/// Without an encoder there is no memory, and layers have no attention to it.
void ModelImporter::importDecode() {
  const SideRoles roles{model.decoder,
                        targetTable(model),
                        WeightRole::DecoderPositions,
                        WeightRole::DecoderEmbeddingNorm,
                        WeightRole::DecoderFeedForward,
                        WeightRole::DecoderFeedForwardNorm,
                        WeightRole::DecoderFinalNorm};
  SmallVector<EntryValue> arguments{{"target_ids", tensor({"batch", "target"}, build.getI32Type())}};
  if (hasEncoder(model)) {
    arguments.push_back({"memory", tensor({"batch", "source", "width"}, build.getF32Type())});
    arguments.push_back({"source_lengths", tensor({"batch"}, build.getI32Type())});
  }
  func::FuncOp entry = build.startEntry(build.at(model.decoder.where), "decode", arguments);
  Value rows = embed(entry.getArgument(0), Value(), roles);
  for (int64_t layer = 0; layer < *model.decoder.layers; ++layer) {
    rows = block(rows, WeightRole::DecoderSelfAttentionNorm, layer, [&](Value input) {
      return attend(input, {roles.side, WeightRole::DecoderSelfAttention, layer, Value(), Value(), true});
    });
    if (hasEncoder(model))
      rows = block(rows, WeightRole::DecoderCrossAttentionNorm, layer, [&](Value input) {
        return attend(input, {roles.side, WeightRole::DecoderCrossAttention, layer, entry.getArgument(1),
                              entry.getArgument(2), false});
      });
    rows = block(rows, roles.feedForwardNorm, layer,
                 [&](Value input) { return feedForward(input, roles.feedForward, layer); });
  }
  if (*model.norm.final)
    rows = norm(rows, roles.finalNorm, 0);
  if (hasTransform(model))
    rows =
        transform(rows, model.output.transform, WeightRole::OutputTransform, WeightRole::OutputTransformNorm);
  rows = scale(rows, model.output.scale);
  build.finishEntry(entry, logits(build.at(model.vocabulary.target.where), rows), {"logits"});
}

void ModelImporter::import() {
  if (hasEncoder(model))
    declarePositions(model.encoder);
  if (hasDecoder(model))
    declarePositions(model.decoder);
  if (hasEncoder(model))
    importEncode();
  if (hasMaskedTokenHead(model))
    importPredict();
  if (hasDecoder(model))
    importDecode();
}

void importModel(const Spec &spec, ModuleOp module) { ModelImporter(spec, module).import(); }

} // namespace attnc
