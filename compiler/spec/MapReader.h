//===- MapReader.h - reads one mapping by the table of keys ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Types, ranges, defaults, missing and unknown keys are dealt with here, so that reading a section is a list
// of its fields.

#ifndef ATTNC_SPEC_MAPREADER_H
#define ATTNC_SPEC_MAPREADER_H

#include "compiler/spec/Keys.h"
#include "compiler/spec/YamlTree.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attnc {

/// Reads a whole number (decimal) or a finite number; nothing is returned where the text is none.
std::optional<int64_t> parseInteger(std::string_view text);
std::optional<double> parseNumber(std::string_view text);

class MapReader {
public:
  /// `node` null is a mapping that is not there: every field takes its default, placed at `where`. `path` is
  /// the mapping's path in the table; `name` is how messages call it. Unknown keys are reported at once.
  MapReader(const YamlNode *node, Location where, std::string path, std::string name,
            Diagnostics &diagnostics);

  Located<int64_t> integer(std::string_view key);
  Located<std::optional<int64_t>> optionalInteger(std::string_view key);
  Located<double> number(std::string_view key);
  Located<std::optional<double>> optionalNumber(std::string_view key);
  Located<bool> boolean(std::string_view key);
  Located<std::string> text(std::string_view key); // null and defaults that are none are empty
  Located<std::string> word(std::string_view key);
  Located<std::vector<int64_t>> integers(std::string_view key); // one may stand without a list
  /// A list of lists, none of them empty.
  Located<std::vector<std::vector<int64_t>>> integerLists(std::string_view key);

  /// A word as a value of `Enum`, whose values stand in the order of the table's words.
  template <typename Enum> Located<Enum> choice(std::string_view key) {
    Located<std::string> found = word(key);
    Enum value = found.valid ? Enum(indexOfWord(key, found.value)) : Enum();
    return {value, found.where, found.valid, found.given};
  }

  /// The mapping under `key`; required ones are reported where they are missing.
  MapReader mapping(std::string_view key);

  /// The value of `key` as it stands, or null (reported where it is required).
  const YamlNode *find(std::string_view key);
  bool has(std::string_view key) const { return node && node->find(key); }

  /// For keys that only some specs have: reports that `key` lacks, or that it has no meaning `here` ("for a
  /// model of kind 'encoder'"). True where it is there, as it should be.
  bool require(std::string_view key);
  void refuse(std::string_view key, const std::string &here);

  Location location() const { return where; }
  const YamlNode *map() const { return node; }
  bool isBroken() const { return broken; }

  /// Reports that `found` is not what `key` takes.
  void reportType(std::string_view key, const YamlNode &found);

private:
  template <typename T> Located<T> numeric(std::string_view key);
  template <typename T> Located<std::optional<T>> optional(std::string_view key);
  template <typename T> std::optional<T> inRange(std::string_view key, const YamlNode &found);
  bool readIntegers(std::string_view key, const std::vector<YamlNode> &items, std::vector<int64_t> &values);
  size_t indexOfWord(std::string_view key, std::string_view word) const;
  const KeyRule &rule(std::string_view key) const { return keyRule(path, hasFreeKeys(path) ? "NAME" : key); }

  const YamlNode *node;
  Location where;
  std::string path;
  std::string name;
  Diagnostics &diagnostics;
  bool broken = false; // an error was reported in place of the mapping: what it lacks is not reported again
};

} // namespace attnc

#endif // ATTNC_SPEC_MAPREADER_H
