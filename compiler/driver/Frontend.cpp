//===- Frontend.cpp - a spec on its way through the phases -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/driver/Frontend.h"

#include "compiler/emit/PlannedModule.h"
#include "compiler/import/ForwardDiagnostics.h"
#include "compiler/import/ImportSpec.h"

#include <iostream>

namespace attnc {

// One thread: modules are small, and remarks and errors keep their order.
Frontend::Frontend() : context(mlir::MLIRContext::Threading::DISABLED) {}

bool Frontend::reportUnless(bool succeeded) {
  if (succeeded && !diagnostics.hasErrors())
    return true;
  diagnostics.print(std::cerr);
  if (!diagnostics.hasErrors())
    std::cerr << "attnc: error: failed without saying why; please report it\n";
  return false;
}

bool Frontend::read(const std::string &path, const SpecOptions &options) {
  readSpec = loadSpec(path, options, diagnostics);
  if (!reportUnless(readSpec.has_value()))
    return false;
  diagnostics.print(std::cerr); // warnings
  return true;
}

bool Frontend::load(const std::string &path, const SpecOptions &options) {
  if (!read(path, options))
    return false;
  ForwardDiagnostics forward(context, diagnostics);
  imported = importSpec(*readSpec, context);
  return reportUnless(bool(imported));
}

bool Frontend::run(attn::Phase phase) {
  ForwardDiagnostics forward(context, diagnostics);
  mlir::ScopedDiagnosticHandler remarks(&context, [&](mlir::Diagnostic &found) {
    if (found.getSeverity() != mlir::DiagnosticSeverity::Remark)
      return mlir::failure(); // the handler before this one has it
    if (onRemark)
      onRemark(found.getLocation(), found.str());
    return mlir::success();
  });
  mlir::PassManager passes(&context);
  attn::buildPipeline(passes, phase);
  bool succeeded = mlir::succeeded(passes.run(*imported));
  if (succeeded && phase == attn::Phase::Planned) // sizes that are known may be too large
    succeeded = mlir::succeeded(readPlannedModule(*imported));
  return reportUnless(succeeded);
}

NarrowWeights Frontend::narrowWeights() {
  NarrowWeights narrow;
  for (attn::WeightOp weight : imported->getOps<attn::WeightOp>()) {
    mlir::Type element = mlir::cast<mlir::RankedTensorType>(weight.getType()).getElementType();
    narrow.integers |= element.isInteger();
    narrow.bfloats |= element.isBF16();
  }
  imported->walk([&](attn::MatmulOp product) { narrow.bfloats |= product.getRounded(); });
  return narrow;
}

} // namespace attnc
