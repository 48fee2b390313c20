//===- Keys.h - every key a spec may have ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One table drives the reader, its messages and the test that compares it with docs/yaml-reference.md.

#ifndef ATTNC_SPEC_KEYS_H
#define ATTNC_SPEC_KEYS_H

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attnc {

enum class KeyType {
  Integer,
  OptionalInteger,
  Number,
  OptionalNumber,
  NumberOrWord,
  Boolean,
  Word, // one of `allowed`
  Text, // `allowed` says what it is
  Mapping,
  Mappings, // one, or a list of them
  List,
  Integers, // one, or a list; `low` and `high` are of its elements
  Names     // a name or a list of names
};

struct KeyRule {
  std::string_view path; // "model.norm.epsilon"; NAME stands for a name of the user's choice
  KeyType type;
  std::string_view fallback;     // as YAML; empty: the key is required
  double low = 0, high = 0;      // of numbers, inclusive
  std::string_view allowed = {}; // of words, separated by spaces; of texts and lists, a description
};

/// The whole table, in the order of the reference.
std::span<const KeyRule> keyRules();

/// The rule of `path` and `key`; a key that the table lacks is a mistake of the compiler.
const KeyRule &keyRule(std::string_view path, std::string_view key);

/// The keys of the mapping at `path` (empty: the top).
std::vector<std::string> keysOf(std::string_view path);

/// Whether the user chooses the keys of the mapping at `path`.
bool hasFreeKeys(std::string_view path);

/// `whole number`, `1 to 65536`, ...: what messages and the reference say about a rule.
std::string typeText(const KeyRule &rule);
std::string constraintText(const KeyRule &rule);
std::string rangeText(const KeyRule &rule);

/// The words of `text`, which spaces separate.
std::vector<std::string> wordsOf(std::string_view text);

} // namespace attnc

#endif // ATTNC_SPEC_KEYS_H
