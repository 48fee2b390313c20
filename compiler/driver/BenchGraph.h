//===- BenchGraph.h - attnc bench of a graph ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ATTNC_COMPILER_DRIVER_BENCHGRAPH_H
#define ATTNC_COMPILER_DRIVER_BENCHGRAPH_H

#include "compiler/driver/SentenceLines.h"

#include <nlohmann/json.hpp>

namespace attnc {

struct GraphBenchOptions {
  std::string entry;                      // empty: the only one
  std::vector<std::string> sizes, values; // NAME=N: sizes and strides; elements of inputs of whole numbers
};

/// Times calls of an entry on inputs made up; the report of it.
nlohmann::ordered_json benchGraph(const Model &model, const GraphBenchOptions &options, int threads,
                                  double seconds);

} // namespace attnc

#endif // ATTNC_COMPILER_DRIVER_BENCHGRAPH_H
