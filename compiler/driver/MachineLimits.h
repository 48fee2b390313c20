//===- MachineLimits.h - what this machine can do at most -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Measured on one core, in the same run as the kernels that are held against it.

#ifndef ATTNC_COMPILER_DRIVER_MACHINELIMITS_H
#define ATTNC_COMPILER_DRIVER_MACHINELIMITS_H

#include <cstddef>

namespace attnc {

/// Floating-point operations per second with vectors of `lanes` floats: 16 and 8 fused, 4 as multiply and
/// add.
double arithmeticLimit(int lanes);

/// Bytes per second read from `bytes` of memory, again and again.
double readLimit(size_t bytes);

} // namespace attnc

#endif // ATTNC_COMPILER_DRIVER_MACHINELIMITS_H
