//===- ReadGraph.h - the `graph:` level from YAML --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Structure and types only; CheckGraph connects the names.

#ifndef ATTNC_SPEC_READGRAPH_H
#define ATTNC_SPEC_READGRAPH_H

#include "compiler/spec/GraphSpec.h"
#include "compiler/spec/MapReader.h"

namespace attnc {

/// What an op of the `graph:` level takes.
struct GraphOpRule {
  std::string_view key;
  GraphOpKind kind;
  unsigned fewestOperands;
  unsigned mostOperands;
  std::string_view attributes; // keys beside the op's own, separated by spaces
};
std::span<const GraphOpRule> graphOpRules();

GraphSpec readGraph(MapReader graph, Diagnostics &diagnostics);

} // namespace attnc

#endif // ATTNC_SPEC_READGRAPH_H
