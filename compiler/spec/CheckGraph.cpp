//===- CheckGraph.cpp - connecting the names of a graph --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Names each once, no dangling reader, no value that nobody reads, no cycle; sorts the ops.

#include "compiler/spec/CheckSpec.h"
#include "compiler/spec/Words.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

namespace attnc {

bool isIdentifier(const std::string &name) {
  auto isPart = [](unsigned char c) { return c < 0x80 && (std::isalnum(c) || c == '_'); };
  return !name.empty() && name.size() <= 64 && !std::isdigit(static_cast<unsigned char>(name[0])) &&
         std::all_of(name.begin(), name.end(), isPart);
}

bool isRuntimesName(const std::string &name) {
  std::string lower = name; // macros are in capitals
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return lower == "attnrt" || lower.starts_with("attnrt_");
}

namespace {

class GraphChecker {
public:
  GraphChecker(GraphSpec &graph, Diagnostics &diagnostics) : graph(graph), diagnostics(diagnostics) {}

  void check();

private:
  void define(const Located<std::string> &name);
  void defineAll();
  void checkAxes(const GraphInput &input);
  void checkSizeNames();
  void checkReader(const Located<std::string> &name);
  void checkReaders();
  void reportUnread();
  void checkScores(GraphOp &op);
  void checkWindow(const GraphOp &op);
  void checkStrides(const GraphStrides &strides);
  void checkSinusoid(const GraphWeight &weight);
  void checkFactors();
  bool sortOps();
  void reportCycle(const std::vector<bool> &isPlaced);

  GraphSpec &graph;
  Diagnostics &diagnostics;
  std::map<std::string, Location> defined;
  std::vector<std::string> names; // in the order of the file, for guesses
  std::set<std::string> read;
};

} // namespace

void GraphChecker::define(const Located<std::string> &name) {
  if (!isIdentifier(*name))
    diagnostics.error(name.where,
                      quote(*name) + " is not a name: letters, digits and _, not a digit first, at most 64");
  auto [known, isNew] = defined.try_emplace(*name, name.where);
  if (isNew) {
    names.push_back(*name);
    return;
  }
  diagnostics.error(name.where, quote(*name) + " names two values");
  diagnostics.note(known->second, "it is named here first");
}

void GraphChecker::checkAxes(const GraphInput &input) {
  std::map<std::string, Location> seen;
  for (const GraphAxis &axis : input.shape) {
    if (!isIdentifier(*axis.name))
      diagnostics.error(axis.name.where, quote(*axis.name) + " is not an axis name: letters, digits and _");
    else if (auto [known, isNew] = seen.try_emplace(*axis.name, axis.name.where); !isNew)
      diagnostics.error(axis.name.where, "two axes of one input are called " + quote(*axis.name));
  }
}

void GraphChecker::defineAll() {
  for (const GraphInput &input : graph.inputs) {
    define(input.name);
    checkAxes(input);
  }
  for (const GraphWeight &weight : graph.weights)
    define(weight.name);
  for (const GraphOp &op : graph.ops)
    define(op.name);
}

/// Sizes, inputs and outputs are the arguments of one C function.
void GraphChecker::checkSizeNames() {
  std::map<std::string, Location> arguments;
  for (const GraphInput &input : graph.inputs)
    arguments.try_emplace(*input.name, input.name.where);
  for (const Located<std::string> &output : graph.outputs)
    arguments.try_emplace(*output, output.where);
  for (const GraphInput &input : graph.inputs)
    for (const GraphAxis &axis : input.shape) {
      auto argument = arguments.find(*axis.name);
      if (axis.extent || argument == arguments.end())
        continue;
      diagnostics.error(axis.name.where, quote(*axis.name) + " names a size and an input or output");
      diagnostics.note(argument->second, "the other one is here");
    }
}

void GraphChecker::checkReader(const Located<std::string> &name) {
  read.insert(*name);
  if (!defined.count(*name) && !diagnostics.isFull()) // guessing takes time for each error
    diagnostics.error(name.where,
                      quote(*name) + " is not an input, weight or op" + didYouMeanOrKnown(*name, names));
}

void GraphChecker::checkReaders() {
  for (const GraphOp &op : graph.ops)
    for (const Located<std::string> &operand : op.operands)
      checkReader(operand);
  std::set<std::string> outputs;
  for (const Located<std::string> &output : graph.outputs) {
    checkReader(output);
    bool isOp = std::any_of(graph.ops.begin(), graph.ops.end(),
                            [&](const GraphOp &op) { return *op.name == *output; });
    if (defined.count(*output) && !isOp)
      diagnostics.error(output.where, "output " + quote(*output) + " is not an op");
    if (!outputs.insert(*output).second)
      diagnostics.error(output.where, "output " + quote(*output) + " is given twice");
  }
}

void GraphChecker::reportUnread() {
  for (const std::string &name : names)
    if (!read.count(name))
      diagnostics.error(defined[name], "nothing reads " + quote(name) + ", and it is not an output");
}

/// Reads the expressions of a score map, whose tables are its other operands.
void GraphChecker::checkScores(GraphOp &op) {
  if (*op.kind != GraphOpKind::ScoreMap || !op.score.valid || !op.mask.valid)
    return;
  if (op.score->empty() && op.mask->empty())
    return diagnostics.error(op.kind.where, "'score_map' needs 'score' or 'mask'");
  auto isTable = [&](std::string_view name) {
    return std::any_of(op.operands.begin() + 1, op.operands.end(),
                       [&](const Located<std::string> &operand) { return *operand == name; });
  };
  TableTypes tables = [&](std::string_view name) -> std::optional<ScalarType> {
    if (!isTable(name))
      return std::nullopt;
    for (const GraphInput &input : graph.inputs)
      if (*input.name == name && *input.type == ElementKind::I32)
        return ScalarType::Whole;
    return ScalarType::Number;
  };
  if (!op.score->empty())
    op.scoreTree = parseScore(op.score, ScalarType::Number, tables, diagnostics);
  if (!op.mask->empty())
    op.maskTree = parseScore(op.mask, ScalarType::Condition, tables, diagnostics);
}

void GraphChecker::checkWindow(const GraphOp &op) {
  bool isRead = *op.kind == GraphOpKind::WindowMask && op.before.valid && op.after.valid;
  if (isRead && !op.before.value && !op.after.value)
    diagnostics.error(op.kind.where, "'window_mask' needs 'before' or 'after'");
}

/// Strides of inputs; those of outputs have as many axes as the output turns out to have.
void GraphChecker::checkStrides(const GraphStrides &strides) {
  const Located<std::string> &tensor = strides.tensor;
  auto input = std::find_if(graph.inputs.begin(), graph.inputs.end(),
                            [&](const GraphInput &known) { return *known.name == *tensor; });
  bool isOutput = std::any_of(graph.outputs.begin(), graph.outputs.end(),
                              [&](const Located<std::string> &known) { return *known == *tensor; });
  if (input == graph.inputs.end() && !isOutput)
    return diagnostics.error(tensor.where,
                             quote(*tensor) + " is not an input or output, so it has no strides");
  if (input != graph.inputs.end() && strides.strides.size() + 1 != input->shape.size())
    diagnostics.error(tensor.where, quote(*tensor) + " has " + std::to_string(strides.strides.size()) +
                                        " strides, but " + std::to_string(input->shape.size()) +
                                        " axes; the last one has none");
  for (const GraphAxis &stride : strides.strides)
    if (!stride.extent && (!isIdentifier(*stride.name) || defined.count(*stride.name)))
      diagnostics.error(stride.name.where, quote(*stride.name) +
                                               " is not a name for a stride: letters, digits and _, " +
                                               "and no other value's");
}

void GraphChecker::checkSinusoid(const GraphWeight &weight) {
  if (!weight.sinusoid.valid || *weight.sinusoid == GraphSinusoid::None) {
    if (weight.base.given)
      diagnostics.error(weight.base.where, "'base' has no meaning without 'sinusoid'");
    return;
  }
  if (!weight.value.empty() || weight.tensor.given || *weight.transposed)
    diagnostics.error(weight.sinusoid.where, "a table of sinusoids has no 'value', 'tensor' or 'transposed'");
  else if (weight.shape.size() != 2 || weight.shape[1] % 2)
    diagnostics.error(weight.shapeWhere,
                      "a table of sinusoids has the shape [positions, width], of even width");
}

/// Walks back along unplaced operands until an op comes up again: from there on it is the cycle.
void GraphChecker::reportCycle(const std::vector<bool> &isPlaced) {
  std::map<std::string, size_t> indexOf;
  for (size_t i = 0; i < graph.ops.size(); ++i)
    indexOf.try_emplace(*graph.ops[i].name, i);
  auto unplacedOperand = [&](size_t i) {
    for (const Located<std::string> &operand : graph.ops[i].operands)
      if (auto found = indexOf.find(*operand); found != indexOf.end() && !isPlaced[found->second])
        return found->second;
    return i;
  };
  std::vector<size_t> path;
  std::vector<size_t> visitedAt(graph.ops.size(), 0);
  size_t current = std::find(isPlaced.begin(), isPlaced.end(), false) - isPlaced.begin();
  while (!visitedAt[current]) {
    path.push_back(current);
    visitedAt[current] = path.size();
    current = unplacedOperand(current);
  }
  std::vector<size_t> cycle(path.begin() + (visitedAt[current] - 1), path.end());
  size_t first = std::min_element(cycle.begin(), cycle.end()) - cycle.begin();
  std::rotate(cycle.begin(), cycle.begin() + first, cycle.end());
  const Located<std::string> &name = graph.ops[cycle.front()].name;
  diagnostics.error(name.where, quote(*name) + " depends on itself");
  for (size_t i = 0; i < std::min<size_t>(cycle.size(), 8); ++i) {
    const GraphOp &reader = graph.ops[cycle[i]];
    const GraphOp &operand = graph.ops[cycle[(i + 1) % cycle.size()]];
    diagnostics.note(reader.name.where, quote(*reader.name) + " reads " + quote(*operand.name));
  }
}

/// Takes ops whose operands are there, in the order of the file. False where there is a cycle.
bool GraphChecker::sortOps() {
  std::map<std::string, std::vector<size_t>> readersOf;
  std::vector<size_t> missing(graph.ops.size(), 0);
  std::map<std::string, size_t> indexOf;
  for (size_t i = 0; i < graph.ops.size(); ++i)
    indexOf[*graph.ops[i].name] = i;
  for (size_t i = 0; i < graph.ops.size(); ++i)
    for (const Located<std::string> &operand : graph.ops[i].operands)
      if (indexOf.count(*operand)) {
        readersOf[*operand].push_back(i);
        ++missing[i];
      }
  std::set<size_t> ready;
  for (size_t i = 0; i < graph.ops.size(); ++i)
    if (!missing[i])
      ready.insert(i);
  std::vector<GraphOp> sorted;
  std::vector<bool> isPlaced(graph.ops.size(), false);
  while (!ready.empty()) {
    size_t next = *ready.begin();
    ready.erase(ready.begin());
    isPlaced[next] = true;
    sorted.push_back(graph.ops[next]);
    for (size_t reader : readersOf[*graph.ops[next].name])
      if (--missing[reader] == 0)
        ready.insert(reader);
  }
  if (sorted.size() != graph.ops.size()) {
    reportCycle(isPlaced);
    return false;
  }
  graph.ops = std::move(sorted);
  return true;
}

static bool hidesKeys(const GraphOp &op) {
  switch (*op.kind) {
  case GraphOpKind::CausalMask:
  case GraphOpKind::PaddingMask:
  case GraphOpKind::WindowMask:
  case GraphOpKind::PrefixMask:
    return true;
  case GraphOpKind::ScoreMap:
    return !op.mask->empty() || op.score->find("inf") != std::string::npos;
  default:
    return false;
  }
}

/// Hidden scores are minus infinity: a factor that is not above 0 would show the keys again. Takes sorted
/// ops.
void GraphChecker::checkFactors() {
  std::set<std::string> masked;
  for (const GraphOp &op : graph.ops) {
    bool keepsMasks = *op.kind == GraphOpKind::Scale || *op.kind == GraphOpKind::ScoreMap ||
                      *op.kind == GraphOpKind::Add || *op.kind == GraphOpKind::Mul ||
                      *op.kind == GraphOpKind::Activation;
    bool isMasked =
        keepsMasks && std::any_of(op.operands.begin(), op.operands.end(),
                                  [&](const Located<std::string> &name) { return masked.count(*name); });
    bool hasFactor = *op.kind == GraphOpKind::Scale && op.by.valid;
    if (isMasked && hasFactor && *op.by <= 0)
      diagnostics.error(op.by.where, "hidden keys would be seen again: after a mask 'by' is above 0");
    if (isMasked || hidesKeys(op))
      masked.insert(*op.name);
  }
}

void GraphChecker::check() {
  if (graph.name.valid && !isIdentifier(*graph.name))
    diagnostics.error(graph.name.where,
                      quote(*graph.name) +
                          " is not a name: letters, digits and _, not a digit first, at most 64");
  size_t before = diagnostics.all().size();
  defineAll();
  checkSizeNames();
  checkReaders();
  if (diagnostics.all().size() != before)
    return;
  reportUnread();
  for (const GraphWeight &weight : graph.weights)
    checkSinusoid(weight);
  for (const GraphStrides &strides : graph.strides)
    checkStrides(strides);
  for (GraphOp &op : graph.ops) {
    checkScores(op);
    checkWindow(op);
  }
  if (sortOps())
    checkFactors();
}

void checkGraph(GraphSpec &graph, Diagnostics &diagnostics) { GraphChecker(graph, diagnostics).check(); }

} // namespace attnc
