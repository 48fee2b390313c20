//===- EmbeddedFiles.cpp - files that attnc carries inside itself ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/emit/shim/EmbeddedFiles.h"

// Defined in EmbeddedFiles.S.
extern "C" const char attnc_shim_begin[], attnc_shim_end[], attnc_tiles_begin[], attnc_tiles_end[],
    attnc_vectors_begin[], attnc_vectors_end[], attnc_bytes_begin[], attnc_bytes_end[],
    attnc_wide_bytes_begin[], attnc_wide_bytes_end[], attnc_dots_begin[], attnc_dots_end[],
    attnc_wide_dots_begin[], attnc_wide_dots_end[], attnc_floats_begin[], attnc_floats_end[],
    attnc_wide_floats_begin[], attnc_wide_floats_end[], attnc_step_begin[], attnc_step_end[],
    attnc_wide_step_begin[], attnc_wide_step_end[], attnc_bundle_header_begin[], attnc_bundle_header_end[];

namespace attnc {

std::string_view halideShimObject() { return {attnc_shim_begin, attnc_shim_end}; }

std::string_view matrixTilesObject() { return {attnc_tiles_begin, attnc_tiles_end}; }

std::string_view bfloatVectorsObject() { return {attnc_vectors_begin, attnc_vectors_end}; }

std::string_view byteVectorsObject() { return {attnc_bytes_begin, attnc_bytes_end}; }

std::string_view wideByteVectorsObject() { return {attnc_wide_bytes_begin, attnc_wide_bytes_end}; }

std::string_view byteDotsObject() { return {attnc_dots_begin, attnc_dots_end}; }

std::string_view wideByteDotsObject() { return {attnc_wide_dots_begin, attnc_wide_dots_end}; }

std::string_view floatVectorsObject() { return {attnc_floats_begin, attnc_floats_end}; }

std::string_view wideFloatVectorsObject() { return {attnc_wide_floats_begin, attnc_wide_floats_end}; }

std::string_view stepAttentionObject() { return {attnc_step_begin, attnc_step_end}; }

std::string_view wideStepAttentionObject() { return {attnc_wide_step_begin, attnc_wide_step_end}; }

std::string_view bundleHeader() { return {attnc_bundle_header_begin, attnc_bundle_header_end}; }

} // namespace attnc
