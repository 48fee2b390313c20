//===- CpuTarget.h - what a schedule needs to know of a CPU -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The classes of CPU that have schedules of their own, and their counts.

#ifndef ATTNC_SCHEDULES_CPU_TARGET_H
#define ATTNC_SCHEDULES_CPU_TARGET_H

#include <Halide.h>

namespace attnc {

enum class CpuClass { Baseline, Avx2, Avx512 };

/// How products of bytes and integers are summed up: after both were widened, by ByteVectors.c, or by an
/// instruction that adds four of them to a sum (VNNI; ByteDots.c on AVX2).
enum class ByteSums { Widened, Split, Dots };

struct CpuTarget {
  CpuClass kind;
  int lanes;                   // float32 values in a register: 4, 8, 16
  bool hasMatrixTiles = false; // AMX, and the functions of MatrixTiles.c
  ByteSums byteSums = ByteSums::Widened;
  bool isZen4 = false; // or later: BfloatVectors.c, and tiles of its own
  bool isZen5 = false; // which needs to be asked ahead for what few rows multiply

  /// Of 16 registers of 8 floats: the functions of FloatVectors.c.
  bool hasNarrowVectors() const { return kind == CpuClass::Avx2; }

  /// External tiles of bfloat16 round rows of floats, too; those of narrow vectors widen both.
  bool roundsRows() const { return hasMatrixTiles || isZen4; }
};

inline CpuTarget describeCpu(const Halide::Target &target) {
  if (target.has_feature(Halide::Target::AVX512_SapphireRapids))
    return {CpuClass::Avx512, 16, true, ByteSums::Dots};
  bool isZen5 = target.processor_tune == Halide::Target::ZnVer5;
  bool isZen4 = isZen5 || target.processor_tune == Halide::Target::ZnVer4;
  if (target.has_feature(Halide::Target::AVX512_Zen4))
    return {CpuClass::Avx512, 16, false, ByteSums::Dots, isZen4, isZen5};
  if (target.has_feature(Halide::Target::AVX512_Skylake))
    return {CpuClass::Avx512, 16, false, ByteSums::Split};
  if (target.has_feature(Halide::Target::AVX512))
    return {CpuClass::Avx512, 16};
  bool hasDots = target.has_feature(Halide::Target::AVXVNNI);
  if (target.has_feature(Halide::Target::AVX2) && target.has_feature(Halide::Target::FMA))
    return {CpuClass::Avx2, 8, false, hasDots ? ByteSums::Dots : ByteSums::Split};
  return {CpuClass::Baseline, 4};
}

} // namespace attnc

#endif // ATTNC_SCHEDULES_CPU_TARGET_H
