//===- YamlTree.h - a YAML text as a tree with places ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The only door to yaml-cpp. The tree has scalars, lists and mappings; depth, size, anchors, tags and
// repeated keys have been dealt with.

#ifndef ATTNC_SPEC_YAMLTREE_H
#define ATTNC_SPEC_YAMLTREE_H

#include "compiler/spec/Diagnostics.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attnc {

/// Larger texts are refused; nobody needs to read further.
constexpr size_t maxSpecBytes = 16 << 20;

struct YamlEntry;

struct YamlNode {
  enum class Kind { Null, Scalar, List, Mapping };
  Kind kind = Kind::Null;
  Location where;
  std::string text;    // of a scalar
  bool quoted = false; // a quoted scalar is text and never a number
  std::vector<YamlNode> items;
  std::vector<YamlEntry> entries;

  bool isNull() const { return kind == Kind::Null; }
  bool isScalar() const { return kind == Kind::Scalar; }
  bool isList() const { return kind == Kind::List; }
  bool isMapping() const { return kind == Kind::Mapping; }

  /// The entry or the value of `key` in a mapping, or null.
  const YamlEntry *findEntry(std::string_view key) const;
  const YamlNode *find(std::string_view key) const;

  /// What stands there, for messages: `'abc'`, `a list of 3`, `nothing`.
  std::string describe() const;
};

struct YamlEntry {
  std::string key;
  Location where;
  YamlNode value;
};

/// Parses `text`, which must be one document whose top is a mapping. Nothing is returned after an error.
std::optional<YamlNode> parseYaml(const std::string &text, Diagnostics &diagnostics);

} // namespace attnc

#endif // ATTNC_SPEC_YAMLTREE_H
