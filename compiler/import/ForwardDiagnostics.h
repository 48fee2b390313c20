//===- ForwardDiagnostics.h - MLIR's errors among the spec's ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// While one lives, what MLIR reports in its context is collected with the spec's own diagnostics.

#ifndef ATTNC_IMPORT_FORWARDDIAGNOSTICS_H
#define ATTNC_IMPORT_FORWARDDIAGNOSTICS_H

#include "compiler/spec/Diagnostics.h"

#include "mlir/IR/Diagnostics.h"

namespace attnc {

class ForwardDiagnostics : public mlir::ScopedDiagnosticHandler {
public:
  /// `diagnostics` must outlive this. Ops are no longer printed after errors: the YAML line is.
  ForwardDiagnostics(mlir::MLIRContext &context, Diagnostics &diagnostics);
};

} // namespace attnc

#endif // ATTNC_IMPORT_FORWARDDIAGNOSTICS_H
