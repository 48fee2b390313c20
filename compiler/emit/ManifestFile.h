//===- ManifestFile.h - manifest.json, read and changed --------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ATTNC_COMPILER_EMIT_MANIFESTFILE_H
#define ATTNC_COMPILER_EMIT_MANIFESTFILE_H

#include "llvm/Support/Error.h"
#include <nlohmann/json.hpp>

#include <string>

namespace attnc {

/// The manifest of the bundle in `folder`, keys in their order.
llvm::Expected<nlohmann::ordered_json> readManifestFile(const std::string &folder);

} // namespace attnc

#endif // ATTNC_COMPILER_EMIT_MANIFESTFILE_H
