//===- CpuTarget.h - what a schedule needs to know of a CPU -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The classes of CPU that have schedules of their own, and their counts.

#ifndef ATTNC_SCHEDULES_CPU_TARGET_H
#define ATTNC_SCHEDULES_CPU_TARGET_H

#include <Halide.h>

namespace attnc {

enum class CpuClass { Baseline, Avx2, Avx512 };

/// How products of bytes and integers are summed up: by Halide's loops (which use VNNI, or widen both), by
/// (Wide)ByteVectors, or by VNNI's instruction in (Wide)ByteDots. Matrix instructions go before all of these.
enum class ByteSums { ByHalide, Split, Dots };

/// How AVX-512's tiles of few rows read weights that come from memory: panels side by side, while they ask
/// for the next ones (Intel's); one panel after the other, which the core fetches in time by itself (Zen 4);
/// the same, but ahead into the first cache (Zen 5, which multiplies twice as fast).
enum class WeightReading { NextColumns, PanelByPanel, Ahead };

struct CpuTarget {
  CpuClass kind;
  int lanes;                   // float32 values in a register: 4, 8, 16
  bool hasMatrixTiles = false; // AMX, and the functions of MatrixTiles.c
  bool hasFastPairs = false;   // of bfloat16 (which take Intel's cores twice the time): BfloatVectors.c
  WeightReading reading = WeightReading::NextColumns;
  ByteSums byteSums = ByteSums::ByHalide;

  bool operator==(const CpuTarget &) const = default;

  /// Of 16 registers of 8 floats: the functions of FloatVectors.c, and of StepAttention.c as it is for AVX2.
  bool hasNarrowVectors() const { return kind == CpuClass::Avx2; }

  /// Of 32 registers of 16 floats and no fast instructions for bfloat16: the function of WideFloatVectors.c.
  bool hasWideFloatVectors() const { return kind == CpuClass::Avx512 && !hasMatrixTiles && !hasFastPairs; }

  /// Where a multiply-add is two instructions, sums may be strict at no cost. Otherwise the compiler may add
  /// in another order in another tile; where it fuses both, none has been seen to differ.
  bool sumsInOrder() const { return kind == CpuClass::Baseline; }

  /// External tiles of bfloat16 round rows of floats, too; those of narrow vectors widen both.
  bool roundsRows() const { return hasMatrixTiles || hasFastPairs; }
};

/// `hasVnni`: AVX-512's, which Halide does not know of apart from other features.
inline CpuTarget describeCpu(const Halide::Target &target, bool hasVnni = false) {
  auto has = [&](Halide::Target::Feature feature) { return target.has_feature(feature); };
  CpuTarget wide{.kind = CpuClass::Avx512, .lanes = 16};
  if (has(Halide::Target::AVX512_SapphireRapids)) {
    wide.hasMatrixTiles = true;
    return wide;
  }
  if (has(Halide::Target::AVX512_Zen4)) {
    const bool isZen5 = target.processor_tune == Halide::Target::ZnVer5;
    wide.hasFastPairs = isZen5 || target.processor_tune == Halide::Target::ZnVer4;
    if (wide.hasFastPairs)
      wide.reading = isZen5 ? WeightReading::Ahead : WeightReading::PanelByPanel;
    return wide;
  }
  if (has(Halide::Target::AVX512_Skylake)) {
    wide.byteSums = hasVnni ? ByteSums::Dots : ByteSums::Split;
    return wide;
  }
  if (has(Halide::Target::AVX2) && has(Halide::Target::FMA))
    return {.kind = CpuClass::Avx2,
            .lanes = 8,
            .byteSums = has(Halide::Target::AVXVNNI) ? ByteSums::Dots : ByteSums::Split};
  return {.kind = CpuClass::Baseline, .lanes = 4};
}

} // namespace attnc

#endif // ATTNC_SCHEDULES_CPU_TARGET_H
