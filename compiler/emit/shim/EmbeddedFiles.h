//===- EmbeddedFiles.h - files that attnc carries inside itself ------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ATTNC_COMPILER_EMIT_SHIM_EMBEDDEDFILES_H
#define ATTNC_COMPILER_EMIT_SHIM_EMBEDDEDFILES_H

#include <string_view>

namespace attnc {

/// HalideShim.c, compiled for x86-64.
std::string_view halideShimObject();

/// MatrixTiles.c, compiled for x86-64 with AMX.
std::string_view matrixTilesObject();

/// BfloatVectors.c, compiled for x86-64 with AVX512_BF16.
std::string_view bfloatVectorsObject();

/// ByteVectors.c, compiled for x86-64 with AVX2.
std::string_view byteVectorsObject();

/// The same with AVX-512 (BW).
std::string_view wideByteVectorsObject();

/// ByteDots.c, compiled for x86-64 with AVX-VNNI.
std::string_view byteDotsObject();

/// WideByteDots.c, compiled for x86-64 with AVX-512 and VNNI.
std::string_view wideByteDotsObject();

/// FloatVectors.c, compiled for x86-64 with AVX2 and FMA.
std::string_view floatVectorsObject();

/// WideFloatVectors.c, compiled for x86-64 with AVX-512 (BW and VL).
std::string_view wideFloatVectorsObject();

/// StepAttention.c, compiled for x86-64 with AVX2 and FMA.
std::string_view stepAttentionObject();

/// The same with AVX-512.
std::string_view wideStepAttentionObject();

/// The text of attnrt/bundle.h.
std::string_view bundleHeader();

} // namespace attnc

#endif // ATTNC_COMPILER_EMIT_SHIM_EMBEDDEDFILES_H
