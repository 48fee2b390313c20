//===- EmbeddedFiles.h - files that attnc carries inside itself ------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ATTNC_COMPILER_EMIT_SHIM_EMBEDDEDFILES_H
#define ATTNC_COMPILER_EMIT_SHIM_EMBEDDEDFILES_H

#include <string_view>

namespace attnc {

/// A static library for x86-64: what a bundle's entries and kernels call, the functions of this folder.
std::string_view carriedLibrary();

/// The text of attnrt/bundle.h.
std::string_view bundleHeader();

/// The text of attnrt/cpu.h.
std::string_view cpuHeader();

} // namespace attnc

#endif // ATTNC_COMPILER_EMIT_SHIM_EMBEDDEDFILES_H
