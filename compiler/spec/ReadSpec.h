//===- ReadSpec.h - YAML to spec -------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The way into this library: reads, checks and compares with the weight file.

#ifndef ATTNC_SPEC_READSPEC_H
#define ATTNC_SPEC_READSPEC_H

#include "compiler/spec/Diagnostics.h"
#include "compiler/spec/MapReader.h"
#include "compiler/spec/Spec.h"

#include <optional>
#include <string>

namespace attnc {

struct SpecOptions {
  /// Instead of the spec's own weights: a safetensors file; a folder, which holds the file that the spec
  /// names or `model.safetensors`, and where the spec's other files are looked for first; or `random:SEED`.
  /// Empty: as the spec says.
  std::string weights;
  /// Instead of `types.default`; empty: as the spec says.
  std::string type = {};
};

/// Reads the spec in `path`. On failure nothing is returned and `diagnostics` has all errors of the phase; it
/// throws nothing.
std::optional<Spec> loadSpec(const std::string &path, const SpecOptions &options, Diagnostics &diagnostics);

/// The same for a text; `path` names it in errors and is where relative files are looked up.
std::optional<Spec> parseSpec(const std::string &path, const std::string &text, const SpecOptions &options,
                              Diagnostics &diagnostics);

/// Reads the section `types`.
TypesSpec readTypes(MapReader reader, Diagnostics &diagnostics);

/// Reads `random:SEED` or the path of a file into `source`.
void readWeightOption(const std::string &weights, WeightSource &source, Diagnostics &diagnostics);

} // namespace attnc

#endif // ATTNC_SPEC_READSPEC_H
