//===- JsonTree.h - a JSON text as a tree with places ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The same tree that specs have, so that an error about a config names its line and column too.

#ifndef ATTNC_HUGGINGFACE_JSONTREE_H
#define ATTNC_HUGGINGFACE_JSONTREE_H

#include "compiler/spec/YamlTree.h"

namespace attnc {

/// Parses `text`, which must be one JSON object. Nothing is returned after an error.
std::optional<YamlNode> parseJsonObject(const std::string &text, Diagnostics &diagnostics);

} // namespace attnc

#endif // ATTNC_HUGGINGFACE_JSONTREE_H
