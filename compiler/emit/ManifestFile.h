//===- ManifestFile.h - manifest.json, read and changed --------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ATTNC_COMPILER_EMIT_MANIFESTFILE_H
#define ATTNC_COMPILER_EMIT_MANIFESTFILE_H

#include "llvm/Support/Error.h"
#include <nlohmann/json.hpp>

#include <set>
#include <string>

namespace attnc {

/// The manifest of the bundle in `folder`, keys in their order.
llvm::Expected<nlohmann::ordered_json> readManifestFile(const std::string &folder);

/// The files that the manifest in `folder` tells of, of whichever version it is; none where it is no
/// bundle's.
std::set<std::string> bundleFiles(const std::string &folder);

} // namespace attnc

#endif // ATTNC_COMPILER_EMIT_MANIFESTFILE_H
