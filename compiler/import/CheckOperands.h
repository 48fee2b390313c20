//===- CheckOperands.h - operands of an op of a graph ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Refuses operands of the wrong axes or type in the spec's words, before an op is built of them.

#ifndef ATTNC_IMPORT_CHECKOPERANDS_H
#define ATTNC_IMPORT_CHECKOPERANDS_H

#include "compiler/import/SpecBuilder.h"

namespace attnc {

/// Whether the values may be operands of `op`, one for each name in it; errors are reported at the names.
bool checkOperands(SpecBuilder &build, const GraphOp &op, llvm::ArrayRef<mlir::Value> values);

} // namespace attnc

#endif // ATTNC_IMPORT_CHECKOPERANDS_H
