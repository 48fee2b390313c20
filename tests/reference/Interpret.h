//===- Interpret.h - runs an attn.kernel's region with the reference ops ----===//
// SPDX-License-Identifier: Apache-2.0
//
// Gives what a kernel must compute, from its region alone.

#ifndef ATTNC_TESTS_REFERENCE_INTERPRET_H
#define ATTNC_TESTS_REFERENCE_INTERPRET_H

#include "dialect/IR/Attn.h"
#include "tests/reference/ReferenceOps.h"

namespace reference {

/// One array per block argument (weights as out x in), one per yielded value. `candidates` is the size of
/// that name.
std::vector<Array> interpret(attn::KernelOp kernel, const std::vector<Array> &inputs, int64_t candidates);

/// A value inside of the kernel.
Array interpretValue(attn::KernelOp kernel, const std::vector<Array> &inputs, mlir::Value value);

} // namespace reference

#endif // ATTNC_TESTS_REFERENCE_INTERPRET_H
