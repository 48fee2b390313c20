//===- Frontend.h - a spec on its way through the phases -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What compile, explain and tune share: reads a spec, imports it and runs the passes; prints what goes wrong.

#ifndef ATTNC_COMPILER_DRIVER_FRONTEND_H
#define ATTNC_COMPILER_DRIVER_FRONTEND_H

#include "compiler/emit/CpuVariant.h"
#include "compiler/spec/ReadSpec.h"
#include "dialect/Transforms/Passes.h"

#include <functional>

namespace attnc {

class Frontend {
public:
  Frontend();

  /// Reads and checks the spec, then imports it: phase `attn`. False after errors on stderr.
  bool load(const std::string &path, const SpecOptions &options);

  /// Reads and checks the spec alone.
  bool read(const std::string &path, const SpecOptions &options);

  /// Runs the passes from phase `attn` to `phase`, and checks what is planned then. False after errors on
  /// stderr.
  bool run(attn::Phase phase);

  /// Gets the remarks of the passes, with where in the spec they belong.
  std::function<void(mlir::Location where, const std::string &text)> onRemark;

  /// What the weights, and the products of attention, of the planned module are beside floats.
  NarrowWeights narrowWeights();

  const Spec &spec() const { return *readSpec; }
  mlir::ModuleOp module() { return *imported; }

private:
  mlir::MLIRContext context;
  Diagnostics diagnostics;
  std::optional<Spec> readSpec;
  mlir::OwningOpRef<mlir::ModuleOp> imported;

  bool reportUnless(bool succeeded);
};

} // namespace attnc

#endif // ATTNC_COMPILER_DRIVER_FRONTEND_H
