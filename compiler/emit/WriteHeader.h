//===- WriteHeader.h - the bundle's C header -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// NAME.h: bundle.h, the descriptor's declaration, and for graphs a typed function each, over plain pointers
// and sizes.

#ifndef ATTNC_COMPILER_EMIT_WRITEHEADER_H
#define ATTNC_COMPILER_EMIT_WRITEHEADER_H

#include "compiler/emit/CpuVariant.h"
#include <nlohmann/json_fwd.hpp>

namespace attnc {

std::string headerText(const nlohmann::ordered_json &manifest, llvm::ArrayRef<CpuVariant> variants);

} // namespace attnc

#endif // ATTNC_COMPILER_EMIT_WRITEHEADER_H
