//===- MachineLimits.h - what this machine can do at most -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Measured in the same run as the kernels that are held against it: each limit on one core, or on several
// together. Throws std::runtime_error where the system has no such number of threads.

#ifndef ATTNC_COMPILER_DRIVER_MACHINELIMITS_H
#define ATTNC_COMPILER_DRIVER_MACHINELIMITS_H

#include <cstddef>
#include <string_view>

namespace attnc {

/// What is multiplied, be it weights or rows.
enum class ProductType { F32, Bf16, Int8 };

/// Operations per second on such numbers by the fastest of the instructions that `features` name, as
/// /proc/cpuinfo does, separated by spaces; the machine must have them, and the process the system's
/// permission for matrix instructions. Where none is faster, numbers are turned into floats. `threads` work
/// at the same time: they share the package's power.
double productLimit(int threads, ProductType type, std::string_view features);

/// Bytes per second read from `bytes` of memory, again and again, by `threads` that have a part each and work
/// at the same time.
double readLimit(int threads, size_t bytes);

} // namespace attnc

#endif // ATTNC_COMPILER_DRIVER_MACHINELIMITS_H
