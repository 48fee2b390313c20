//===- ReadGraph.cpp - the `graph:` level from YAML ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Inputs with named axes, weights, ops and outputs.

#include "compiler/spec/ReadGraph.h"
#include "compiler/spec/Words.h"

#include <algorithm>
#include <cmath>

namespace attnc {

static const GraphOpRule opRules[] = {
    {"linear", GraphOpKind::Linear, 2, 3, ""},
    {"matmul", GraphOpKind::Matmul, 2, 2, "transposed"},
    {"scale", GraphOpKind::Scale, 1, 1, "by"},
    {"add", GraphOpKind::Add, 2, 2, ""},
    {"mul", GraphOpKind::Mul, 2, 2, ""},
    {"activation", GraphOpKind::Activation, 1, 1, "with"},
    {"layer_norm", GraphOpKind::LayerNorm, 2, 3, "epsilon"},
    {"rms_norm", GraphOpKind::RmsNorm, 2, 2, "epsilon"},
    {"l2_norm", GraphOpKind::L2Norm, 1, 1, "epsilon"},
    {"rotary", GraphOpKind::Rotary, 2, 3, "interleaved"},
    {"split_heads", GraphOpKind::SplitHeads, 1, 1, "heads"},
    {"merge_heads", GraphOpKind::MergeHeads, 1, 1, ""},
    {"slice", GraphOpKind::Slice, 1, 1, "at width"},
    {"additive_scores", GraphOpKind::AdditiveScores, 3, 3, ""},
    {"score_map", GraphOpKind::ScoreMap, 1, 9, "score mask"},
    {"causal_mask", GraphOpKind::CausalMask, 1, 1, ""},
    {"padding_mask", GraphOpKind::PaddingMask, 2, 2, ""},
    {"window_mask", GraphOpKind::WindowMask, 1, 2, "before after"},
    {"prefix_mask", GraphOpKind::PrefixMask, 2, 2, ""},
    {"softmax", GraphOpKind::Softmax, 1, 1, ""},
    {"mean_heads", GraphOpKind::MeanHeads, 1, 1, ""},
    {"embed", GraphOpKind::Embed, 2, 2, ""},
    {"add_positions", GraphOpKind::AddPositions, 2, 2, "offset"},
    {"log_softmax", GraphOpKind::LogSoftmax, 1, 1, ""},
    {"pick", GraphOpKind::Pick, 2, 2, ""},
    {"take", GraphOpKind::Take, 2, 2, ""},
};

std::span<const GraphOpRule> graphOpRules() { return opRules; }

namespace {

class GraphReader {
public:
  explicit GraphReader(Diagnostics &diagnostics) : diagnostics(diagnostics) {}

  void readInputs(MapReader inputs);
  void checkElements(const GraphInput &input);
  void readWeights(MapReader weights);
  void readOps(MapReader ops);
  void readStrides(MapReader strides);
  std::vector<Located<std::string>> readNames(std::string_view key, const YamlNode &node);

  GraphSpec graph;

private:
  /// The members of a mapping whose keys the user chooses; `path` is theirs in the table.
  template <typename Read> void forEachMember(MapReader &mapping, const std::string &path, Read read);

  std::optional<GraphAxis> readAxis(const YamlNode &node);
  std::optional<int64_t> readExtent(const YamlNode &node);
  void readMatrix(const YamlNode &rows, GraphWeight &weight);
  bool readRow(const YamlNode &row, std::vector<float> &values);
  void readAttributes(MapReader &reader, const GraphOpRule &rule, GraphOp &op);

  Diagnostics &diagnostics;
};

} // namespace

template <typename Read>
void GraphReader::forEachMember(MapReader &mapping, const std::string &path, Read read) {
  if (!mapping.map())
    return;
  for (const YamlEntry &entry : mapping.map()->entries)
    read(Located<std::string>{entry.key, entry.where, true, true},
         MapReader(&entry.value, entry.where, path, entry.key, diagnostics));
}

std::optional<int64_t> GraphReader::readExtent(const YamlNode &node) {
  constexpr int64_t most = 16777216; // as a vocabulary has; kernels count bytes of a row in 32 bits
  std::optional<int64_t> extent = node.isScalar() && !node.quoted ? parseInteger(node.text) : std::nullopt;
  if (extent && *extent >= 1 && *extent <= most)
    return extent;
  diagnostics.error(node.where, "an extent must be a whole number in 1 to " + std::to_string(most) +
                                    ", found " + node.describe());
  return std::nullopt;
}

std::optional<GraphAxis> GraphReader::readAxis(const YamlNode &node) {
  if (node.isScalar())
    return GraphAxis{{node.text, node.where, true, true}, std::nullopt};
  if (node.isMapping() && node.entries.size() == 1) {
    const YamlEntry &entry = node.entries.front();
    if (std::optional<int64_t> extent = readExtent(entry.value))
      return GraphAxis{{entry.key, entry.where, true, true}, extent};
    return std::nullopt;
  }
  diagnostics.error(node.where, "an axis is a name, or a name with its extent as in 'width: 64', found " +
                                    node.describe());
  return std::nullopt;
}

void GraphReader::checkElements(const GraphInput &input) {
  constexpr int64_t most = 2147483647;
  int64_t elements = 1; // of one row of the axes without an extent
  for (const GraphAxis &axis : input.shape) {
    if (axis.extent.value_or(1) > most / elements) {
      diagnostics.error(input.shapeWhere, "an input has at most " + std::to_string(most) + " elements");
      return;
    }
    elements *= axis.extent.value_or(1);
  }
}

void GraphReader::readInputs(MapReader inputs) {
  forEachMember(inputs, "graph.inputs.NAME", [&](Located<std::string> name, MapReader reader) {
    GraphInput input;
    input.name = std::move(name);
    input.type = reader.choice<ElementKind>("type");
    const YamlNode *shape = reader.find("shape");
    input.shapeWhere = shape ? shape->where : reader.location();
    if (shape && !shape->isList())
      reader.reportType("shape", *shape);
    else if (shape && (shape->items.empty() || shape->items.size() > 4))
      diagnostics.error(shape->where,
                        "'shape' has " + std::to_string(shape->items.size()) + " axes; it takes 1 to 4");
    else if (shape)
      for (const YamlNode &axis : shape->items)
        if (std::optional<GraphAxis> read = readAxis(axis))
          input.shape.push_back(std::move(*read));
    checkElements(input);
    graph.inputs.push_back(std::move(input));
  });
}

bool GraphReader::readRow(const YamlNode &row, std::vector<float> &values) {
  for (const YamlNode &item : row.items) {
    std::optional<double> value = item.isScalar() && !item.quoted ? parseNumber(item.text) : std::nullopt;
    if (!value) {
      diagnostics.error(item.where, "a value must be a number, found " + item.describe());
      return false;
    }
    values.push_back(float(*value));
    if (!std::isfinite(values.back())) {
      diagnostics.error(item.where,
                        "a value is " + quote(item.text) + ", which is more than a float32 holds");
      return false;
    }
  }
  return true;
}

/// Reads a vector or a matrix; a matrix in x out is turned.
void GraphReader::readMatrix(const YamlNode &rows, GraphWeight &weight) {
  if (rows.items.empty()) {
    diagnostics.error(rows.where, "'value' is empty");
    return;
  }
  if (!rows.items.front().isList()) {
    if (readRow(rows, weight.value))
      weight.shape = {int64_t(rows.items.size())};
    return;
  }
  size_t columns = rows.items.front().items.size();
  std::vector<float> values;
  for (const YamlNode &row : rows.items) {
    if (!row.isList() || row.items.size() != columns || columns == 0) {
      diagnostics.error(row.where, "each row of 'value' must be a list of " +
                                       std::to_string(std::max<size_t>(columns, 1)) +
                                       " numbers as the first one, found " + row.describe());
      return;
    }
    if (!readRow(row, values))
      return;
  }
  size_t count = rows.items.size();
  weight.shape = {int64_t(count), int64_t(columns)};
  weight.value = values;
  if (!*weight.transposed)
    return;
  std::swap(weight.shape[0], weight.shape[1]);
  for (size_t row = 0; row < count; ++row)
    for (size_t column = 0; column < columns; ++column)
      weight.value[column * count + row] = values[row * columns + column];
}

void GraphReader::readWeights(MapReader weights) {
  forEachMember(weights, "graph.weights.NAME", [&](Located<std::string> name, MapReader reader) {
    GraphWeight weight;
    weight.name = std::move(name);
    weight.transposed = reader.boolean("transposed");
    weight.tensor = reader.text("tensor");
    weight.sinusoid = reader.choice<GraphSinusoid>("sinusoid");
    weight.base = reader.integer("base");
    const YamlNode *value = reader.find("value");
    const YamlNode *shape = reader.find("shape");
    weight.shapeWhere = shape ? shape->where : reader.location();
    if (!reader.isBroken() && !value == !shape)
      diagnostics.error(weight.name.where,
                        "weight " + quote(*weight.name) +
                            " takes either 'value' (numbers) or 'shape' (of a tensor in a file)");
    else if (value && !value->isList())
      reader.reportType("value", *value);
    else if (value)
      readMatrix(*value, weight);
    else if (shape && (!shape->isList() || shape->items.empty() || shape->items.size() > 2))
      diagnostics.error(shape->where, "'shape' must be a list of 1 or 2 extents, found " + shape->describe());
    else if (shape)
      for (const YamlNode &extent : shape->items)
        weight.shape.push_back(readExtent(extent).value_or(0));
    if (!weight.tensor.given)
      weight.tensor.value = *weight.name;
    graph.weights.push_back(std::move(weight));
  });
}

std::vector<Located<std::string>> GraphReader::readNames(std::string_view key, const YamlNode &node) {
  std::vector<Located<std::string>> names;
  if (node.isScalar())
    names.push_back({node.text, node.where, true, true});
  bool isNames = node.isScalar() || node.isList();
  for (const YamlNode &item : node.items) {
    isNames &= item.isScalar();
    names.push_back({item.text, item.where, true, true});
  }
  if (isNames && !names.empty())
    return names;
  diagnostics.error(node.where, quote(key) + " must be a name or a list of names, found " + node.describe());
  return {};
}

void GraphReader::readAttributes(MapReader &reader, const GraphOpRule &rule, GraphOp &op) {
  std::vector<std::string> allowed = wordsOf(rule.attributes), keys = keysOf("graph.ops.NAME");
  for (const YamlEntry &entry : reader.map()->entries) {
    bool isKnown =
        entry.key == rule.key || std::find(allowed.begin(), allowed.end(), entry.key) != allowed.end();
    if (!isKnown && std::find(keys.begin(), keys.end(), entry.key) != keys.end())
      diagnostics.error(entry.where, quote(entry.key) + " is not a key of the op " + quote(rule.key) +
                                         (allowed.empty() ? "" : "; it takes " + listed(allowed)));
  }
  auto takes = [&](std::string_view key) {
    return std::find(allowed.begin(), allowed.end(), key) != allowed.end();
  };
  if (takes("transposed"))
    op.transposed = reader.boolean("transposed");
  if (takes("by"))
    op.by = reader.number("by");
  if (takes("with"))
    op.with = reader.choice<PointwiseKind>("with");
  if (takes("epsilon"))
    op.epsilon = reader.number("epsilon");
  if (takes("heads"))
    op.heads = reader.integer("heads");
  if (takes("at"))
    op.at = reader.integer("at");
  if (takes("width"))
    op.width = reader.integer("width");
  if (takes("offset"))
    op.offset = reader.integer("offset");
  if (takes("interleaved"))
    op.interleaved = reader.boolean("interleaved");
  if (takes("before"))
    op.before = reader.optionalInteger("before");
  if (takes("after"))
    op.after = reader.optionalInteger("after");
  if (takes("score"))
    op.score = reader.text("score");
  if (takes("mask"))
    op.mask = reader.text("mask");
}

/// The rule of the mapping's first key that is an op, or null.
static const GraphOpRule *findOpRule(const YamlNode &map) {
  for (const YamlEntry &entry : map.entries)
    for (const GraphOpRule &rule : opRules)
      if (entry.key == rule.key)
        return &rule;
  return nullptr;
}

static std::string operandsText(const GraphOpRule &rule) {
  return std::string(keyRule("graph.ops.NAME", rule.key).allowed);
}

void GraphReader::readOps(MapReader ops) {
  forEachMember(ops, "graph.ops.NAME", [&](Located<std::string> name, MapReader reader) {
    GraphOp op;
    op.name = std::move(name);
    const GraphOpRule *rule = nullptr;
    if (reader.map())
      rule = findOpRule(*reader.map());
    if (!rule && !reader.isBroken())
      diagnostics.error(op.name.where,
                        quote(*op.name) + " names no op; write " + quote(*op.name) + ": {OP: OPERANDS}");
    if (rule) {
      const YamlEntry &entry = *reader.map()->findEntry(rule->key);
      op.kind = {rule->kind, entry.where, true, true};
      op.operands = readNames(rule->key, entry.value);
      size_t count = op.operands.size();
      if (count && (count < rule->fewestOperands || count > rule->mostOperands))
        diagnostics.error(entry.where, quote(rule->key) + " has " + counted(count, "operand") +
                                           "; it takes " + operandsText(*rule));
      readAttributes(reader, *rule, op);
    }
    graph.ops.push_back(std::move(op));
  });
}

void GraphReader::readStrides(MapReader strides) {
  if (!strides.map())
    return;
  for (const YamlEntry &entry : strides.map()->entries) {
    GraphStrides read{{entry.key, entry.where, true, true}, {}};
    bool isRead = entry.value.isList() && !entry.value.items.empty();
    for (const YamlNode &item : entry.value.items) {
      isRead &= item.isScalar();
      GraphAxis stride{{item.text, item.where, true, true}, std::nullopt};
      if (isRead && !item.quoted && parseInteger(item.text))
        stride.extent = readExtent(item).value_or(1);
      read.strides.push_back(std::move(stride));
    }
    if (isRead)
      graph.strides.push_back(std::move(read));
    else
      diagnostics.error(entry.value.where,
                        "strides are a list of names and whole numbers, found " + entry.value.describe());
  }
}

GraphSpec readGraph(MapReader reader, Diagnostics &diagnostics) {
  GraphReader graphReader(diagnostics);
  graphReader.graph.name = reader.text("name");
  graphReader.readInputs(reader.mapping("inputs"));
  graphReader.readWeights(reader.mapping("weights"));
  graphReader.readOps(reader.mapping("ops"));
  if (const YamlNode *outputs = reader.find("outputs"))
    graphReader.graph.outputs = graphReader.readNames("outputs", *outputs);
  graphReader.readStrides(reader.mapping("strides"));
  return std::move(graphReader.graph);
}

} // namespace attnc
