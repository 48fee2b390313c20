//===- CpuVariant.h - what `--target` may name -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Turns the command line's targets into the variants of a bundle.

#ifndef ATTNC_COMPILER_EMIT_CPUVARIANT_H
#define ATTNC_COMPILER_EMIT_CPUVARIANT_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace attnc {

/// A feature of targets that Halide does not know: AVX-512's instruction for products of bytes alone, where
/// its own `avx512_zen4` asks for bfloat16 and more.
constexpr llvm::StringLiteral VnniFeature = "avx512_vnni";

/// Kernels compiled for one set of CPU features.
struct CpuVariant {
  std::string name;     // x86-64, avx2, avx512, or the features of a target string
  std::string target;   // as Halide writes it, and VnniFeature: x86-64-linux-avx2-...
  std::string features; // as /proc/cpuinfo names them, separated by spaces
};

/// What there is beside floats: weights of integers; weights, and products of attention, of bfloat16.
struct NarrowWeights {
  bool integers = false, bfloats = false;
};

/// All targets that have names but `host`, separated by commas.
std::string targetNames();

/// Reads a list such as `avx2,avx512`, `host` or `x86-64-linux-avx-avx2-fma`; empty gives plain x86-64, AVX2,
/// AVX-512, Zen 4 and Zen 5 and, where there are narrow weights, what has instructions for them. Variants
/// come out from the least to the most demanding, each once.
llvm::Expected<std::vector<CpuVariant>> parseTargets(llvm::StringRef list, NarrowWeights narrow = {});

/// Whether this process may use all features of `variant`.
bool runsHere(const CpuVariant &variant);

/// A variant's target without what Halide does not know.
std::string halidesTarget(llvm::StringRef target);

} // namespace attnc

#endif // ATTNC_COMPILER_EMIT_CPUVARIANT_H
