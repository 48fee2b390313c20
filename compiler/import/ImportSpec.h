//===- ImportSpec.h - spec to attn module ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The phase `attn`: functions with unfused attention, weights as symbols, a YAML location on every op.

#ifndef ATTNC_IMPORT_IMPORTSPEC_H
#define ATTNC_IMPORT_IMPORTSPEC_H

#include "compiler/spec/Spec.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace attnc {

/// Builds the module of a checked spec; loads the dialects it needs. A model cannot fail. A graph whose
/// shapes do not fit gives null, after an error at each op that does not fit.
mlir::OwningOpRef<mlir::ModuleOp> importSpec(const Spec &spec, mlir::MLIRContext &context);

} // namespace attnc

#endif // ATTNC_IMPORT_IMPORTSPEC_H
