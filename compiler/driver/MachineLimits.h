//===- MachineLimits.h - what this machine can do at most -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Measured in the same run as the kernels that are held against it: each limit on one core, or on
// several together.

#ifndef ATTNC_COMPILER_DRIVER_MACHINELIMITS_H
#define ATTNC_COMPILER_DRIVER_MACHINELIMITS_H

#include <cstddef>
#include <functional>

namespace attnc {

/// Floating-point operations per second with vectors of `lanes` floats: 16 and 8 fused, 4 as multiply and
/// add.
double arithmeticLimit(int lanes);

/// What sums up products of bytes and 8-bit integers in 32 bits, in vectors of 8 or 16 sums: three
/// instructions, the first of which may saturate, or VNNI's one.
enum class ByteInstructions { Avx2, Avx512, AvxVnni, Avx512Vnni };
/// The same of such products.
double integerLimit(ByteInstructions instructions);

/// The same of pairs of bfloat16, summed up as floats (AVX512_BF16).
double pairLimit();

enum class TileType { Int8, Bf16 };
/// The same of matrix instructions (AMX), whose tiles come from the first cache: two and two for four
/// products. The process must have the system's permission.
double tileLimit(TileType type);

/// Bytes per second read from `bytes` of memory, again and again.
double readLimit(size_t bytes);

/// The sum of what `threads` cores reach when all measure one of these at once: they share memory, caches and
/// the package's power.
double together(int threads, const std::function<double()> &limit);

} // namespace attnc

#endif // ATTNC_COMPILER_DRIVER_MACHINELIMITS_H
