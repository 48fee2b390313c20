//===- EmbeddedFiles.cpp - files that attnc carries inside itself ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/emit/shim/EmbeddedFiles.h"

// Defined in EmbeddedFiles.S.
extern "C" const char attnc_carried_begin[], attnc_carried_end[], attnc_bundle_header_begin[],
    attnc_bundle_header_end[], attnc_cpu_header_begin[], attnc_cpu_header_end[];

namespace attnc {

std::string_view carriedLibrary() { return {attnc_carried_begin, attnc_carried_end}; }

std::string_view bundleHeader() { return {attnc_bundle_header_begin, attnc_bundle_header_end}; }

std::string_view cpuHeader() { return {attnc_cpu_header_begin, attnc_cpu_header_end}; }

} // namespace attnc
