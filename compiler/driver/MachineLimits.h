//===- MachineLimits.h - what this machine can do at most -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Measured in the same run as the kernels that are held against it: each limit on one core, or on
// several together.

#ifndef ATTNC_COMPILER_DRIVER_MACHINELIMITS_H
#define ATTNC_COMPILER_DRIVER_MACHINELIMITS_H

#include <cstddef>
#include <functional>
#include <string_view>

namespace attnc {

/// What is multiplied, be it weights or rows.
enum class ProductType { F32, Bf16, Int8 };

/// Operations per second on such numbers by the fastest of the instructions that `features` name, as
/// /proc/cpuinfo does, separated by spaces; the machine must have them, and the process the system's
/// permission for matrix instructions. Where none is faster, numbers are turned into floats.
double productLimit(ProductType type, std::string_view features);

/// Bytes per second read from `bytes` of memory, again and again.
double readLimit(size_t bytes);

/// The sum of what `threads` cores reach when all measure one of these at once: they share memory, caches and
/// the package's power. Throws std::runtime_error where the system has no such number of threads.
double together(int threads, const std::function<double()> &limit);

} // namespace attnc

#endif // ATTNC_COMPILER_DRIVER_MACHINELIMITS_H
