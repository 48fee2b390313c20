//===- BenchGraph.cpp - attnc bench of a graph --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Calls an entry as programs do, through attnrt_graph_call(), with random numbers as inputs.

#include "compiler/driver/BenchGraph.h"
#include "compiler/driver/Timing.h"
#include "compiler/spec/MapReader.h"
#include "compiler/spec/Words.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>
#include <random>
#include <span>

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

/// Those of `names` that are in shapes of the entry, in their order.
std::vector<std::string> ownSizes(const Json &entry, const std::vector<std::string> &names) {
  std::vector<std::string> own;
  const auto isIn = [](const Json &shape, const std::string &name) {
    return std::find(shape.begin(), shape.end(), name) != shape.end();
  };
  for (const std::string &name : names)
    for (const char *side : {"arguments", "results"})
      for (const Json &tensor : entry[side])
        if (isIn(tensor["shape"], name) && (own.empty() || own.back() != name))
          own.push_back(name);
  return own;
}

/// The values of `names`, in their order; 1 for those that are not `own`, which nobody reads.
std::vector<int64_t> readSizes(const std::vector<std::string> &given, const std::vector<std::string> &names,
                               const std::vector<std::string> &own) {
  const std::string known = "; the graph's names are " + listed(own);
  std::vector<int64_t> sizes(names.size(), 1);
  const auto valueOf = [&](const std::string &name) -> int64_t & {
    return sizes[std::find(names.begin(), names.end(), name) - names.begin()];
  };
  for (const std::string &name : own)
    valueOf(name) = 0; // not given
  for (const std::string &text : given) {
    const size_t equals = std::min(text.find('='), text.size());
    const auto at = std::find(own.begin(), own.end(), text.substr(0, equals));
    const std::optional<int64_t> value =
        equals < text.size() ? parseInteger(text.substr(equals + 1)) : std::nullopt;
    if (at == own.end() || !value || *value < 1)
      throw CLI::ValidationError("--sizes", quote(text) + " is no NAME=N" + known);
    valueOf(*at) = *value;
  }
  for (const std::string &name : own)
    if (valueOf(name) == 0)
      throw CLI::ValidationError("--sizes", quote(name) + " is not given" + known);
  return sizes;
}

constexpr size_t LineBytes = 64;

/// The elements of an argument or result, which begin with a line of the cache. Vectors that lie across lines
/// take twice as long to load.
class Tensor {
public:
  explicit Tensor(size_t count) : memory(count + LineBytes / sizeof(float)), count(count) {}

  std::span<float> elements() {
    void *first = memory.data();
    size_t space = memory.size() * sizeof(float);
    return {static_cast<float *>(std::align(LineBytes, count * sizeof(float), first, space)), count};
  }

private:
  std::vector<float> memory;
  size_t count;
};

/// Room for an argument or result, random if it is read.
Tensor makeTensor(const Json &described, const std::vector<std::string> &names,
                  const std::vector<int64_t> &sizes, bool isInput) {
  const std::string name = described["name"];
  if (isInput && described["type"] != "f32")
    throw std::runtime_error(quote(name) + " is of type " + described["type"].get<std::string>() +
                             ": bench makes up inputs of f32 only");
  if (described.contains("strides"))
    throw std::runtime_error(quote(name) + " has strides: bench makes up dense tensors only");
  constexpr int64_t most = (int64_t(1) << 31) - 1; // elements of a tensor of a graph
  int64_t count = 1;
  for (const Json &extent : described["shape"]) {
    const int64_t value =
        extent.is_number()
            ? extent.get<int64_t>()
            : sizes[std::find(names.begin(), names.end(), extent.get<std::string>()) - names.begin()];
    if (value > most / count)
      throw std::runtime_error(quote(name) + " has more than " + std::to_string(most) + " elements");
    count *= value;
  }
  Tensor values(count);
  std::mt19937 random(1); // the same on each run
  std::uniform_real_distribution<float> anyNumber(-1, 1);
  if (isInput)
    for (float &value : values.elements())
      value = anyNumber(random);
  return values;
}

} // namespace

Json benchGraph(const Model &model, const GraphBenchOptions &options, int threads, double seconds) {
  const Json manifest = Json::parse(model.manifest());
  const Json &entry = findEntry(manifest["entries"], options.entry);
  const std::string name = entry["name"];
  const std::vector<std::string> names = manifest["sizes"];
  const std::vector<int64_t> sizes = readSizes(options.sizes, names, ownSizes(entry, names));
  std::vector<Tensor> tensors;
  for (const Json &argument : entry["arguments"])
    tensors.push_back(makeTensor(argument, names, sizes, true));
  for (const Json &result : entry["results"])
    tensors.push_back(makeTensor(result, names, sizes, false));
  std::vector<void *> pointers;
  for (Tensor &tensor : tensors)
    pointers.push_back(tensor.elements().data());

  attnrt_pool *made = nullptr;
  attnrt::api::check(attnrt_pool_create(threads, &made));
  const std::unique_ptr<attnrt_pool, decltype(&attnrt_pool_destroy)> pool(made, attnrt_pool_destroy);
  const Times times = timeRuns(
      [&] {
        attnrt::api::check(attnrt_graph_call(model.handle(), pool.get(), name.c_str(), sizes.size(),
                                             sizes.data(), pointers.size(), pointers.data()));
      },
      seconds);
  Json report = {{"variant", model.variant()}, {"entry", name}};
  for (size_t i = 0; i < names.size(); ++i)
    report["sizes"][names[i]] = sizes[i];
  report.update({{"threads", threads}, {"ms_minimum", times.minimum}, {"ms_median", times.median}});
  return report;
}

} // namespace attnc
