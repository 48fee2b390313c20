//===- ConstantWeights.h - weights that no file gives ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Sinusoidal position tables and literal numbers, computed when compiling; packing anew copies them.

#ifndef ATTNC_COMPILER_EMIT_CONSTANTWEIGHTS_H
#define ATTNC_COMPILER_EMIT_CONSTANTWEIGHTS_H

#include "compiler/emit/PackWeights.h"
#include "mlir/IR/BuiltinOps.h"

namespace attnc {

/// Reads the constants of `planned`, which must outlive the result.
ConstantReader computeConstants(mlir::ModuleOp planned);

/// The names of the source's tensors that scale normalised rows; made of `module` in phase `attn`.
std::set<std::string> scalingTensors(mlir::ModuleOp module);

} // namespace attnc

#endif // ATTNC_COMPILER_EMIT_CONSTANTWEIGHTS_H
