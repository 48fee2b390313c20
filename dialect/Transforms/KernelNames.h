//===- KernelNames.h - names that say what a kernel does ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// `linear_512x2048_relu`, `attention_step_8x64`: for profiles, symbols and people.

#ifndef ATTNC_DIALECT_TRANSFORMS_KERNELNAMES_H
#define ATTNC_DIALECT_TRANSFORMS_KERNELNAMES_H

#include "dialect/IR/Attn.h"

namespace attn {

/// A name of letters, digits and underscores; kernels that differ in something else may share it.
std::string describeKernel(KernelOp kernel);

} // namespace attn

#endif // ATTNC_DIALECT_TRANSFORMS_KERNELNAMES_H
