//===- Config.h - a config.json, read with suspicion -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Gives the fields of a JSON object with their types checked. Errors name the key, its value and its place.

#ifndef ATTNC_HUGGINGFACE_CONFIG_H
#define ATTNC_HUGGINGFACE_CONFIG_H

#include "compiler/spec/YamlTree.h"

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

namespace attnc {

struct Range {
  int64_t low, high;
};
constexpr Range sizes{1, 1 << 20}; // of widths, layers and lengths; the spec's own limits are narrower
constexpr Range vocabularySizes{1, 1 << 24};
constexpr Range ids{0, (1 << 24) - 1}; // of tokens

/// One JSON object. After an error a field has its fallback, or the least value it may have.
class Config {
public:
  /// `object` may be null: an object without fields. Both must outlive this.
  Config(const YamlNode *object, Diagnostics &diagnostics) : object(object), diagnostics(diagnostics) {}

  bool exists() const { return object; }
  bool has(std::string_view key); // and it is not null
  Location placeOf(std::string_view key);
  int64_t integer(std::string_view key, Range range);
  int64_t integer(std::string_view key, Range range, int64_t fallback);
  std::optional<int64_t> id(std::string_view key);
  /// One id or a list of them.
  std::vector<int64_t> idList(std::string_view key);
  std::vector<std::vector<int64_t>> idLists(std::string_view key);
  double number(std::string_view key, double fallback);
  bool boolean(std::string_view key, bool fallback);
  std::string text(std::string_view key, std::string fallback = {});
  std::vector<std::string> textList(std::string_view key);
  /// A value that may be of several types, as it is written.
  std::string scalar(std::string_view key);
  Config member(std::string_view key);

  /// Keys that change nothing of what is computed: `warnOfUnread` passes over them.
  void passOver(std::initializer_list<std::string_view> keys) { known.insert(keys.begin(), keys.end()); }
  /// Passes over `key` where it is `harmless` (as JSON writes it), so that `warnOfUnread` finds other values.
  void passOverIf(std::string_view key, std::string_view harmless);
  /// Warns that outputs will differ, unless `key` is missing, null or `harmless`.
  void warnUnless(std::string_view key, std::string_view harmless);
  /// Reports `key` unless it is missing, null or `expected` (as JSON writes it).
  void expect(std::string_view key, std::string_view expected);
  /// Reports `key` with its value, and why it cannot be.
  void reject(std::string_view key, const std::string &why);
  /// Warns of each key that nobody asked for: it may mean something.
  void warnOfUnread();

private:
  const YamlNode *find(std::string_view key);
  std::vector<int64_t> idsIn(std::string_view key, const YamlNode &list);
  void reportType(std::string_view key, const YamlNode &found, std::string_view wanted);

  const YamlNode *object;
  Diagnostics &diagnostics;
  std::set<std::string, std::less<>> known;
};

/// A file that holds one JSON object, with the errors about it.
class ConfigFile {
public:
  /// Reads `path`; where it does not exist and is optional, there are no fields.
  bool read(const std::string &path, bool isOptional);

  Config top() { return {tree ? &*tree : nullptr, diagnostics}; }
  const std::string &path() const { return diagnostics.file(); }
  bool hasErrors() const { return diagnostics.hasErrors(); }
  void print(std::ostream &out) const { diagnostics.print(out); }

private:
  std::optional<YamlNode> tree;
  Diagnostics diagnostics;
};

} // namespace attnc

#endif // ATTNC_HUGGINGFACE_CONFIG_H
