//===- TileEmulator.h - AMX's instructions on machines without --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Tests of the variant `amx` run with it where the processor lacks nothing else that they use
// (CONTRIBUTING.md).

#ifndef ATTNC_TESTS_KERNELS_TILE_EMULATOR_H
#define ATTNC_TESTS_KERNELS_TILE_EMULATOR_H

namespace attnc::test {

/// Has this process execute matrix instructions (Intel's manual, volume 2, AMX-TILE, AMX-INT8 and AMX-BF16)
/// which the processor does not know, one by one when they trap. A microsecond each: for results, not for
/// times. False, and nothing done, elsewhere than on Linux on x86-64. All other instructions of a kernel must
/// be the processor's own: one that is not ends the process.
bool emulateTiles();

} // namespace attnc::test

#endif // ATTNC_TESTS_KERNELS_TILE_EMULATOR_H
