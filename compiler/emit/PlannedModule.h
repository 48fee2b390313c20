//===- PlannedModule.h - what memory planning recorded ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Reads the attributes that attn-plan-memory leaves on a module and its entries, and what follows from them.

#ifndef ATTNC_COMPILER_EMIT_PLANNEDMODULE_H
#define ATTNC_COMPILER_EMIT_PLANNEDMODULE_H

#include "compiler/emit/SizeBounds.h"

namespace attnc {

struct PlannedEntry {
  std::string name;
  mlir::func::FuncOp function;
  attn::SizeAttr arena; // bytes
  EntryCalls code;
  std::vector<SizeBound> bounds;
};

struct PlannedModule {
  std::vector<std::string> sizes; // sorted: the order of the vector that every entry gets
  std::vector<PlannedEntry> entries;
  std::vector<std::string> kernels; // in the order of the kernel table
  attn::SizeAttr state;             // bytes
  int64_t weightBytes = 0;
};

/// Fails with a located error where `module` is not planned, or constants are past their bounds.
mlir::FailureOr<PlannedModule> readPlannedModule(mlir::ModuleOp module);

} // namespace attnc

#endif // ATTNC_COMPILER_EMIT_PLANNEDMODULE_H
