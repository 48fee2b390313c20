//===- WriteHeader.h - the bundle's C header -------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// NAME.h: bundle.h, the descriptor's declaration, and for graphs cpu.h and a typed function each, over plain
// pointers and sizes.

#ifndef ATTNC_COMPILER_EMIT_WRITEHEADER_H
#define ATTNC_COMPILER_EMIT_WRITEHEADER_H

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace attnc {

std::string headerText(const nlohmann::ordered_json &manifest);

} // namespace attnc

#endif // ATTNC_COMPILER_EMIT_WRITEHEADER_H
