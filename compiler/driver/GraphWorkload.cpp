//===- GraphWorkload.cpp - calls of a graph to measure ------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/driver/GraphWorkload.h"

#include "compiler/driver/Flags.h"
#include "compiler/spec/MapReader.h"
#include "compiler/spec/Words.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <random>
#include <set>

namespace attnc {
namespace {

using Json = nlohmann::ordered_json;

const Json &findEntry(const Json &entries, const std::string &wanted) {
  std::vector<std::string> names;
  for (const Json &entry : entries) {
    names.push_back(entry["name"]);
    if (entry["name"] == wanted || (wanted.empty() && entries.size() == 1))
      return entry;
  }
  throw CLI::ValidationError("--entry",
                             (wanted.empty() ? "one must be chosen" : quote(wanted) + " is not there") +
                                 "; the bundle has " + listed(names));
}

/// Those of `names` that are in shapes or strides of the entry, in their order.
std::vector<std::string> ownSizes(const Json &entry, const std::vector<std::string> &names) {
  std::set<std::string> found;
  for (const char *side : {"arguments", "results"})
    for (const Json &tensor : entry[side])
      for (const char *list : {"shape", "strides"})
        for (const Json &size : tensor.value(list, Json::array()))
          if (size.is_string())
            found.insert(size.get<std::string>());
  std::vector<std::string> own;
  std::ranges::copy_if(names, std::back_inserter(own),
                       [&](const std::string &name) { return found.contains(name); });
  return own;
}

/// The entry's inputs of whole numbers.
std::vector<std::string> wholeInputs(const Json &entry) {
  std::vector<std::string> names;
  for (const Json &argument : entry["arguments"])
    if (argument["type"] == "i32")
      names.push_back(argument["name"]);
  return names;
}

using Numbers = std::map<std::string, int64_t>;

/// What a flag's NAME=N say, one for each of `names`.
Numbers readNumbers(const char *flag, const std::vector<std::string> &given,
                    const std::vector<std::string> &names, attnrt::Range range) {
  const std::string known =
      names.empty() ? "; the graph has none to be given" : "; the graph's names are " + listed(names);
  Numbers numbers;
  for (const std::string &text : given) {
    const size_t equals = std::min(text.find('='), text.size());
    const std::string name = text.substr(0, equals);
    const int64_t nothing = INT64_MIN; // in no range
    const int64_t value =
        equals < text.size() ? parseInteger(text.substr(equals + 1)).value_or(nothing) : nothing;
    if (std::ranges::find(names, name) == names.end())
      throw CLI::ValidationError(flag, quote(name) + " is not there" + known);
    if (numbers.contains(name))
      throw CLI::ValidationError(flag, quote(name) + " is given twice");
    if (!range.holds(value))
      throw CLI::ValidationError(flag, quote(text) + " is not NAME=N with N in " + rangeText(range));
    numbers[name] = value;
  }
  for (const std::string &name : names)
    if (!numbers.contains(name))
      throw CLI::ValidationError(flag, quote(name) + " is not given" + known);
  return numbers;
}

constexpr int64_t MostElements = (int64_t(1) << 31) - 1; // of a tensor of a graph

/// How many elements a tensor has from its first to its last one.
int64_t countElements(const Json &described, const Numbers &sizes) {
  const auto valueOf = [&](const Json &size) {
    if (size.is_number())
      return size.get<int64_t>();
    const auto text = size.get<std::string>();
    const auto named = sizes.find(text);
    return named != sizes.end() ? named->second : parseInteger(text).value();
  };
  const auto refuseOver = [&](bool isOver) {
    if (isOver)
      throw std::runtime_error(quote(described["name"].get<std::string>()) + " has more than " +
                               std::to_string(MostElements) + " elements");
  };
  const Json &shape = described["shape"], strides = described.value("strides", Json());
  int64_t last = 0, dense = 1; // the place of the last element; the stride of an axis where there is no other
  for (size_t axis = shape.size(); axis-- > 0;) {
    const int64_t extent = valueOf(shape[axis]);
    const int64_t stride = strides.is_null() ? dense : valueOf(strides[axis]);
    refuseOver(extent > MostElements / std::max<int64_t>(dense, 1) ||
               extent - 1 > (MostElements - 1 - last) / std::max<int64_t>(stride, 1));
    last += (extent - 1) * stride;
    dense *= extent;
  }
  return last + 1;
}

/// Room for a result.
GraphTensor makeTensor(const Json &described, const Numbers &sizes) {
  return GraphTensor(countElements(described, sizes));
}

/// An input: random, or of one whole number.
GraphTensor makeInput(const Json &described, const Numbers &sizes, const Numbers &values) {
  GraphTensor tensor = makeTensor(described, sizes);
  if (const auto value = values.find(described["name"].get<std::string>()); value != values.end()) {
    const auto whole = static_cast<int32_t>(value->second);
    for (float &element : tensor.elements())
      std::memcpy(&element, &whole, sizeof whole);
    return tensor;
  }
  std::mt19937 random(1); // the same on each run
  std::uniform_real_distribution<float> anyNumber(-1, 1);
  for (float &element : tensor.elements())
    element = anyNumber(random);
  return tensor;
}

constexpr size_t LineBytes = 64;

} // namespace

// Vectors that lie across lines take twice as long to load.
GraphTensor::GraphTensor(size_t count) : memory(count + LineBytes / sizeof(float)), count(count) {}

std::span<float> GraphTensor::elements() {
  void *first = memory.data();
  size_t space = memory.size() * sizeof(float);
  return {static_cast<float *>(std::align(LineBytes, count * sizeof(float), first, space)), count};
}

GraphWorkload::GraphWorkload(const Model &model, const GraphCallOptions &options, int threads)
    : model(model), pool(threads) {
  const Json manifest = Json::parse(model.manifest());
  const Json &described = findEntry(manifest["entries"], options.entry);
  name = described["name"];
  sizeNames = manifest["sizes"];
  const Numbers given =
      readNumbers("--sizes", options.sizes, ownSizes(described, sizeNames), {1, double(MostElements)});
  const Numbers values =
      readNumbers("--values", options.values, wholeInputs(described), {double(INT32_MIN), double(INT32_MAX)});
  for (const std::string &size : sizeNames) // nobody reads those of other entries
    sizeValues.push_back(given.contains(size) ? given.at(size) : 1);
  for (const Json &argument : described["arguments"])
    arguments.push_back(makeInput(argument, given, values));
  for (const Json &result : described["results"])
    results.push_back(makeTensor(result, given));
  for (std::vector<GraphTensor> *tensors : {&arguments, &results})
    for (GraphTensor &tensor : *tensors)
      pointers.push_back(tensor.elements().data());
}

void GraphWorkload::call() { model.call(name, sizeValues, pointers, &pool); }

void GraphWorkload::profile(std::span<attnrt_kernel_profile> kernels) {
  model.profile(name, sizeValues, pointers, kernels, &pool);
}

std::vector<float> GraphWorkload::outputs() {
  std::vector<float> all;
  for (GraphTensor &result : results)
    all.insert(all.end(), result.elements().begin(), result.elements().end());
  return all;
}

Json GraphWorkload::sizes() const {
  Json sizes = Json::object();
  for (size_t i = 0; i < sizeNames.size(); ++i)
    sizes[sizeNames[i]] = sizeValues[i];
  return sizes;
}

} // namespace attnc
