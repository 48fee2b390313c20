//===- MapReader.cpp - reads one mapping by the table of keys --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Turns scalars into values and says what is wrong with them.

#include "compiler/spec/MapReader.h"
#include "compiler/spec/Words.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <type_traits>

namespace attnc {

template <typename T> static std::optional<T> parseWhole(std::string_view text) {
  T value{};
  if (text.starts_with('+'))
    text.remove_prefix(1);
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

std::optional<int64_t> parseInteger(std::string_view text) { return parseWhole<int64_t>(text); }

std::optional<double> parseNumber(std::string_view text) {
  std::optional<double> value = parseWhole<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

MapReader::MapReader(const YamlNode *node, Location where, std::string path, std::string name,
                     Diagnostics &diagnostics)
    : node(node), where(where), path(std::move(path)), name(std::move(name)), diagnostics(diagnostics) {
  if (!node)
    return;
  if (!node->isMapping()) {
    diagnostics.error(node->where, quote(this->name) + " must be a mapping, found " + node->describe());
    this->node = nullptr;
    broken = true;
    return;
  }
  if (hasFreeKeys(this->path))
    return;
  std::vector<std::string> known = keysOf(this->path);
  for (const YamlEntry &entry : node->entries)
    if (std::find(known.begin(), known.end(), entry.key) == known.end())
      diagnostics.error(entry.where, quote(entry.key) + " is not a key of " +
                                         (this->path.empty() ? this->name : quote(this->name)) +
                                         didYouMeanOrKnown(entry.key, known));
}

void MapReader::reportType(std::string_view key, const YamlNode &found) {
  std::string type = typeText(rule(key));
  std::string article = type == "true or false" ? "" : "a ";
  diagnostics.error(found.where, quote(key) + " must be " + article + type + ", found " + found.describe());
}

const YamlNode *MapReader::find(std::string_view key) {
  const YamlNode *found = node ? node->find(key) : nullptr;
  const KeyRule &keyRule = rule(key);
  if (found && found->isNull() && keyRule.fallback != "null") {
    reportType(key, *found);
    return nullptr;
  }
  if (found && !found->isNull())
    return found;
  if (keyRule.fallback.empty() && !broken)
    diagnostics.error(where, quote(name) + " lacks the key " + quote(key));
  return nullptr;
}

/// The number in `found`, or nothing after an error. Whole numbers past 64 bits count as out of range.
template <typename T> std::optional<T> MapReader::inRange(std::string_view key, const YamlNode &found) {
  const KeyRule &range = rule(key);
  std::optional<T> value;
  bool isNumber = false;
  if (found.isScalar() && !found.quoted) {
    if constexpr (std::is_same_v<T, int64_t>) {
      value = parseInteger(found.text);
      isNumber =
          value || (!found.text.empty() &&
                    found.text.find_first_not_of("0123456789", found.text[0] == '-') == std::string::npos);
    } else {
      value = parseNumber(found.text);
      isNumber = value.has_value();
    }
  }
  if (!isNumber) {
    reportType(key, found);
    return std::nullopt;
  }
  if (value && double(*value) >= range.low && double(*value) <= range.high)
    return value;
  diagnostics.error(found.where,
                    quote(key) + " is " + quote(found.text) + ", which is not in " + constraintText(range));
  return std::nullopt;
}

template <typename T> Located<T> MapReader::numeric(std::string_view key) {
  const KeyRule &keyRule = rule(key);
  const YamlNode *given = node ? node->find(key) : nullptr;
  if (given && !given->isNull()) {
    std::optional<T> value = inRange<T>(key, *given);
    return {value.value_or(T()), given->where, value.has_value(), true};
  }
  bool hasDefault = !find(key) && !keyRule.fallback.empty() && !given;
  return {hasDefault ? T(parseNumber(keyRule.fallback).value_or(0)) : T(), where, hasDefault, false};
}

template <typename T> Located<std::optional<T>> MapReader::optional(std::string_view key) {
  const YamlNode *given = node ? node->find(key) : nullptr;
  if (!given || given->isNull())
    return {std::nullopt, given ? given->where : where, true, given != nullptr};
  Located<T> found = numeric<T>(key);
  return {found.value, found.where, found.valid, true};
}

Located<int64_t> MapReader::integer(std::string_view key) { return numeric<int64_t>(key); }
Located<double> MapReader::number(std::string_view key) { return numeric<double>(key); }

Located<std::optional<int64_t>> MapReader::optionalInteger(std::string_view key) {
  return optional<int64_t>(key);
}
Located<std::optional<double>> MapReader::optionalNumber(std::string_view key) {
  return optional<double>(key);
}

Located<bool> MapReader::boolean(std::string_view key) {
  const YamlNode *given = node ? node->find(key) : nullptr;
  if (!given)
    return {rule(key).fallback == "true", where, true, false};
  bool isBoolean = given->isScalar() && !given->quoted && (given->text == "true" || given->text == "false");
  if (!isBoolean)
    reportType(key, *given);
  return {isBoolean && given->text == "true", given->where, isBoolean, true};
}

Located<std::string> MapReader::text(std::string_view key) {
  const YamlNode *given = find(key);
  if (!given) {
    std::string_view fallback = rule(key).fallback;
    return {fallback == "null" ? std::string() : std::string(fallback), where, !has(key) && !broken, false};
  }
  bool isText = given->isScalar() && !given->text.empty();
  if (!isText)
    reportType(key, *given);
  return {isText ? given->text : std::string(), given->where, isText, true};
}

Located<std::string> MapReader::word(std::string_view key) {
  const KeyRule &keyRule = rule(key);
  const YamlNode *given = find(key);
  if (!given)
    return {std::string(keyRule.fallback), where, !keyRule.fallback.empty() && !has(key), false};
  std::vector<std::string> allowed = wordsOf(keyRule.allowed);
  bool isAllowed =
      given->isScalar() && std::find(allowed.begin(), allowed.end(), given->text) != allowed.end();
  if (!given->isScalar())
    reportType(key, *given);
  else if (!isAllowed)
    diagnostics.error(given->where,
                      quote(key) + " is " + quote(given->text) + "; allowed are " + listed(allowed));
  return {given->text, given->where, isAllowed, true};
}

bool MapReader::require(std::string_view key) {
  bool isGiven = has(key) && !node->find(key)->isNull();
  if (!isGiven && !broken)
    diagnostics.error(where, quote(name) + " lacks the key " + quote(key));
  return isGiven;
}

void MapReader::refuse(std::string_view key, const std::string &here) {
  if (has(key) && !node->find(key)->isNull())
    diagnostics.error(node->findEntry(key)->where, quote(key) + " has no meaning " + here);
}

bool MapReader::readIntegers(std::string_view key, const std::vector<YamlNode> &items,
                             std::vector<int64_t> &values) {
  const KeyRule &range = rule(key);
  bool isValid = true;
  for (const YamlNode &item : items) {
    const std::optional<int64_t> value =
        item.isScalar() && !item.quoted ? parseInteger(item.text) : std::nullopt;
    const bool isInRange = value && double(*value) >= range.low && double(*value) <= range.high;
    isValid &= isInRange;
    if (!value)
      diagnostics.error(item.where, quote(key) + " must hold whole numbers, found " + item.describe());
    else if (!isInRange)
      diagnostics.error(item.where,
                        quote(key) + " has " + quote(item.text) + ", which is not in " + rangeText(range));
    values.push_back(value.value_or(0));
  }
  return isValid;
}

Located<std::vector<int64_t>> MapReader::integers(std::string_view key) {
  const YamlNode *given = find(key);
  if (!given)
    return {{}, where, !has(key), false};
  Located<std::vector<int64_t>> found{{}, given->where, given->isList() || given->isScalar(), true};
  if (!found.valid)
    reportType(key, *given);
  else
    found.valid = readIntegers(key, given->isList() ? given->items : std::vector{*given}, found.value);
  return found;
}

Located<std::vector<std::vector<int64_t>>> MapReader::integerLists(std::string_view key) {
  const YamlNode *given = find(key);
  if (!given)
    return {{}, where, !has(key), false};
  Located<std::vector<std::vector<int64_t>>> found{{}, given->where, given->isList(), true};
  if (!given->isList())
    reportType(key, *given);
  for (const YamlNode &item : given->items) {
    if (!item.isList() || item.items.empty()) {
      diagnostics.error(item.where, quote(key) + " must hold lists of ids, found " + item.describe());
      found.valid = false;
      continue;
    }
    found.valid &= readIntegers(key, item.items, found.value.emplace_back());
  }
  return found;
}

size_t MapReader::indexOfWord(std::string_view key, std::string_view word) const {
  std::vector<std::string> allowed = wordsOf(rule(key).allowed);
  return std::find(allowed.begin(), allowed.end(), word) - allowed.begin();
}

MapReader MapReader::mapping(std::string_view key) {
  const YamlNode *found = find(key);
  Location keyWhere = found ? node->findEntry(key)->where : where;
  std::string keyPath = path.empty() ? std::string(key) : path + "." + std::string(key);
  MapReader reader(found, keyWhere, std::move(keyPath), std::string(key), diagnostics);
  bool isReported = broken || (node && node->find(key)) || rule(key).fallback.empty();
  if (!found && isReported)
    reader.broken = true;
  return reader;
}

} // namespace attnc
