//===- ReadSpec.cpp - YAML to spec -----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The top of the file and the source of the weights; then all checks of the phase.

#include "compiler/spec/ReadSpec.h"
#include "compiler/spec/CheckSpec.h"
#include "compiler/spec/Keys.h"
#include "compiler/spec/MapReader.h"
#include "compiler/spec/ReadGraph.h"
#include "compiler/spec/ReadModel.h"
#include "compiler/spec/ReadText.h"
#include "compiler/spec/WeightNames.h"
#include "compiler/spec/Words.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <limits>
#include <map>

namespace attnc {

std::string Spec::kind() const {
  return model ? wordsOf(keyRule("model", "kind").allowed)[size_t(*model->kind)] : "graph";
}

std::optional<std::string> Spec::findInFolder(const std::string &path) const {
  std::error_code failure;
  std::filesystem::path inFolder = std::filesystem::path(folder) / path;
  if (folder.empty() || path.empty() || !std::filesystem::exists(inFolder, failure))
    return std::nullopt;
  return inFolder.string();
}

std::string Spec::resolve(const std::string &path) const {
  return findInFolder(path).value_or((std::filesystem::path(file).parent_path() / path).string());
}

constexpr std::string_view randomWeights = "random:";

void readWeightOption(const std::string &weights, WeightSource &source, Diagnostics &diagnostics) {
  if (!weights.starts_with(randomWeights) && weights + ":" != randomWeights) {
    source.kind = WeightSourceKind::File;
    source.file = weights;
    return;
  }
  source.kind = WeightSourceKind::Random;
  const char *begin = weights.data() + std::min(weights.size(), randomWeights.size()),
             *end = weights.data() + weights.size();
  auto [stop, failure] = std::from_chars(begin, end, source.seed);
  if (failure != std::errc() || stop != end)
    diagnostics.error(
        {}, quote(weights) + " is not a source of weights: write random:SEED with a whole number from 0 to " +
                std::to_string(std::numeric_limits<decltype(source.seed)>::max()));
}

/// Puts what the caller asked for in place of the spec's own source. Weights beside the spec do not stand in
/// for those that a folder lacks.
static void overrideWeights(const std::string &weights, const Spec &spec, WeightSource &source,
                            Diagnostics &diagnostics) {
  const std::string named = source.file;
  readWeightOption(weights, source, diagnostics);
  source.where = {}; // no line of the spec is at fault
  if (source.kind == WeightSourceKind::File && !spec.folder.empty())
    source.file = spec.findInFolder(named).value_or(spec.folder);
}

/// The file is as the spec writes it.
static WeightSource readWeightSource(MapReader reader, Diagnostics &diagnostics) {
  WeightSource source;
  source.where = reader.location();
  source.transposed = reader.boolean("transposed");
  Located<std::string> file = reader.text("file");
  LocatedId seed = reader.optionalInteger("random");
  if (file.given && seed.given) {
    diagnostics.error(seed.where, "'weights' has both 'file' and 'random'");
    diagnostics.note(file.where, "'file' is set here");
  } else if (file.given) {
    source.kind = WeightSourceKind::File;
    source.file = *file;
    source.where = file.where;
  } else if (seed.given && seed.value) {
    source.kind = WeightSourceKind::Random;
    source.seed = uint64_t(*seed.value);
  }
  source.gates = reader.text("gates");
  MapReader names = reader.mapping("names");
  for (size_t role = 0; role < weightRoleCount; ++role)
    source.names[role] = names.text(roleKey(WeightRole(role)));
  return source;
}

static void checkPatterns(const Spec &spec, Diagnostics &diagnostics) {
  for (size_t role = 0; role < weightRoleCount; ++role)
    checkPattern(WeightRole(role), spec.weights.names[role], spec.model ? &*spec.model : nullptr,
                 diagnostics);
}

static void readGraphs(MapReader &top, const YamlNode &node, Spec &spec, Diagnostics &diagnostics) {
  Location where = top.map()->findEntry("graph")->where;
  if (!node.isList() && !node.isMapping())
    return top.reportType("graph", node);
  if (node.isList() && node.items.empty())
    diagnostics.error(node.where, "'graph' is an empty list");
  std::span<const YamlNode> graphs =
      node.isList() ? std::span<const YamlNode>(node.items) : std::span(&node, 1);
  for (const YamlNode &graph : graphs)
    spec.graphs.push_back(readGraph(
        MapReader(&graph, node.isList() ? graph.where : where, "graph", "graph", diagnostics), diagnostics));
}

static void checkGraphs(Spec &spec, Diagnostics &diagnostics) {
  std::map<std::string, Location> names;
  for (GraphSpec &graph : spec.graphs) {
    checkGraph(graph, diagnostics);
    auto [known, isNew] = names.try_emplace(*graph.name, graph.name.where);
    if (isNew || !graph.name.valid)
      continue;
    diagnostics.error(graph.name.where, "two graphs are called " + quote(*graph.name));
    diagnostics.note(known->second, "the first one is here");
  }
}

static Spec readTop(Spec spec, const YamlNode &root, const SpecOptions &options, Diagnostics &diagnostics) {
  MapReader top(&root, root.where, "", "the spec", diagnostics);
  spec.name = top.text("name");
  if (spec.name.given && spec.name.valid && !isIdentifier(*spec.name))
    diagnostics.error(spec.name.where,
                      "'name' is " + quote(*spec.name) + "; it takes " + constraintText(keyRule("", "name")));
  else if (isRuntimesName(*spec.name))
    diagnostics.error(spec.name.where,
                      "'name' is " + quote(*spec.name) +
                          "; 'attnrt' and what begins with 'attnrt_' are names of the runtime");
  spec.weights = readWeightSource(top.mapping("weights"), diagnostics);
  if (!options.weights.empty())
    overrideWeights(options.weights, spec, spec.weights, diagnostics);
  else if (spec.weights.kind == WeightSourceKind::File)
    spec.weights.file = spec.resolve(spec.weights.file);
  spec.types = readTypes(top.mapping("types"), diagnostics);
  if (!options.type.empty()) {
    std::vector<std::string> words = wordsOf(keyRule("types", "default").allowed);
    spec.types.fallback.value =
        WeightType(std::find(words.begin(), words.end(), options.type) - words.begin());
  }
  const YamlNode *graph = top.find("graph");
  if (top.find("model"))
    spec.model = readModel(top.mapping("model"), diagnostics);
  checkPatterns(spec, diagnostics);
  if (graph)
    readGraphs(top, *graph, spec, diagnostics);
  if (spec.model && graph)
    diagnostics.error(root.findEntry("graph")->where, "a spec has either 'model' or 'graph', not both");
  if (!spec.model && !graph)
    diagnostics.error(root.where, "a spec has the key 'model' or 'graph'; this one has neither");
  return spec;
}

std::optional<Spec> parseSpec(const std::string &path, const std::string &text, const SpecOptions &options,
                              Diagnostics &diagnostics) {
  diagnostics.setSource(path, text);
  std::optional<YamlNode> root = parseYaml(text, diagnostics);
  if (!root)
    return std::nullopt;
  Spec spec;
  spec.file = path;
  std::error_code failure;
  if (std::filesystem::is_directory(options.weights, failure))
    spec.folder = options.weights;
  spec = readTop(std::move(spec), *root, options, diagnostics);
  if (spec.model)
    checkModel(spec, diagnostics);
  checkGraphs(spec, diagnostics);
  if (!diagnostics.hasErrors())
    checkTypes(spec, diagnostics);
  if (!diagnostics.hasErrors())
    checkWeights(spec, diagnostics);
  if (diagnostics.hasErrors())
    return std::nullopt;
  return spec;
}

std::optional<Spec> loadSpec(const std::string &path, const SpecOptions &options, Diagnostics &diagnostics) {
  std::optional<std::string> text = readFile(path, maxSpecBytes, "spec", diagnostics);
  if (!text)
    return std::nullopt;
  return parseSpec(path, *text, options, diagnostics);
}

} // namespace attnc
