//===- GraphWorkload.h - calls of a graph to measure --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What Workload is to models: calls through attnrt_graph_call(), as programs make them.

#ifndef ATTNC_COMPILER_DRIVER_GRAPHWORKLOAD_H
#define ATTNC_COMPILER_DRIVER_GRAPHWORKLOAD_H

#include "compiler/driver/BundleCommand.h"

#include <nlohmann/json.hpp>

#include <span>

namespace attnc {

struct GraphCallOptions {
  std::string entry;                      // empty: the only one
  std::vector<std::string> sizes, values; // NAME=N: sizes and strides; elements of inputs of whole numbers
};

/// The elements of an argument or result, which begin with a line of the cache.
class GraphTensor {
public:
  explicit GraphTensor(size_t count);
  std::span<float> elements();

private:
  std::vector<float> memory;
  size_t count;
};

/// Calls an entry as programs do, with inputs made up, the same on each run. Throws CLI::ValidationError
/// where the graph has no such entry, sizes or values.
class GraphWorkload {
public:
  GraphWorkload(const Model &model, const GraphCallOptions &options, int threads);

  void call();
  /// The same, and adds what each kernel did.
  void profile(std::span<attnrt_kernel_profile> kernels);

  /// The elements of the last call's results, whole numbers as their bits.
  std::vector<float> outputs();

  const std::string &entry() const { return name; }
  /// Of each name in the manifest's order; 1 of those that the entry has not.
  nlohmann::ordered_json sizes() const;

private:
  const Model &model;
  std::string name;
  std::vector<std::string> sizeNames;
  std::vector<int64_t> sizeValues;
  std::vector<GraphTensor> arguments, results;
  std::vector<void *> pointers;
  attnrt::api::Pool pool;
};

} // namespace attnc

#endif // ATTNC_COMPILER_DRIVER_GRAPHWORKLOAD_H
