//===- Config.cpp - a config.json, read with suspicion ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/huggingface/Config.h"
#include "compiler/huggingface/JsonTree.h"
#include "compiler/spec/MapReader.h"
#include "compiler/spec/Words.h"

#include <filesystem>
#include <fstream>

namespace attnc {

const YamlNode *Config::find(std::string_view key) {
  known.emplace(key);
  const YamlNode *found = object ? object->find(key) : nullptr;
  return found && !found->isNull() ? found : nullptr;
}

bool Config::has(std::string_view key) { return find(key); }

Location Config::placeOf(std::string_view key) {
  const YamlNode *found = find(key);
  return found ? found->where : Location{};
}

void Config::reportType(std::string_view key, const YamlNode &found, std::string_view wanted) {
  diagnostics.error(found.where,
                    quote(key) + " must be " + std::string(wanted) + ", found " + found.describe());
}

int64_t Config::integer(std::string_view key, Range range) {
  if (!find(key)) {
    diagnostics.error(object ? object->where : Location{}, quote(key) + " is missing");
    return range.low;
  }
  return integer(key, range, range.low);
}

static std::optional<int64_t> integerIn(const YamlNode &node, Range range) {
  std::optional<int64_t> value =
      node.isScalar() && !node.quoted ? parseInteger(node.text) : std::optional<int64_t>();
  return value && *value >= range.low && *value <= range.high ? value : std::nullopt;
}

static std::string rangeText(Range range) {
  return "a whole number from " + std::to_string(range.low) + " to " + std::to_string(range.high);
}

int64_t Config::integer(std::string_view key, Range range, int64_t fallback) {
  const YamlNode *found = find(key);
  if (!found)
    return fallback;
  if (std::optional<int64_t> value = integerIn(*found, range))
    return *value;
  reportType(key, *found, rangeText(range));
  return fallback;
}

std::optional<int64_t> Config::id(std::string_view key) {
  if (!find(key))
    return std::nullopt;
  return integer(key, ids, 0);
}

std::vector<int64_t> Config::idsIn(std::string_view key, const YamlNode &list) {
  std::vector<int64_t> values;
  for (const YamlNode &item : list.items) {
    std::optional<int64_t> value = integerIn(item, ids);
    if (!value)
      reportType(key, item, "a list of token ids");
    values.push_back(value.value_or(0));
  }
  return values;
}

std::vector<int64_t> Config::idList(std::string_view key) {
  const YamlNode *found = find(key);
  if (!found || !found->isList())
    return found ? std::vector{integer(key, ids, 0)} : std::vector<int64_t>();
  return idsIn(key, *found);
}

std::vector<std::vector<int64_t>> Config::idLists(std::string_view key) {
  const YamlNode *found = find(key);
  if (found && !found->isList())
    reportType(key, *found, "a list of lists of token ids");
  std::vector<std::vector<int64_t>> lists;
  for (const YamlNode &item : found ? found->items : std::vector<YamlNode>()) {
    if (!item.isList())
      reportType(key, item, "a list of token ids");
    lists.push_back(idsIn(key, item));
  }
  return lists;
}

double Config::number(std::string_view key, double fallback) {
  const YamlNode *found = find(key);
  if (!found)
    return fallback;
  std::optional<double> value =
      found->isScalar() && !found->quoted ? parseNumber(found->text) : std::optional<double>();
  if (!value)
    reportType(key, *found, "a number");
  return value.value_or(fallback);
}

bool Config::boolean(std::string_view key, bool fallback) {
  const YamlNode *found = find(key);
  if (!found)
    return fallback;
  bool isTruth = found->isScalar() && !found->quoted && (found->text == "true" || found->text == "false");
  if (!isTruth)
    reportType(key, *found, "true or false");
  return isTruth ? found->text == "true" : fallback;
}

std::string Config::text(std::string_view key, std::string fallback) {
  const YamlNode *found = find(key);
  if (!found)
    return fallback;
  if (found->isScalar() && found->quoted)
    return found->text;
  reportType(key, *found, "a text");
  return fallback;
}

std::vector<std::string> Config::textList(std::string_view key) {
  const YamlNode *found = find(key);
  std::vector<std::string> texts;
  if (found && !found->isList())
    reportType(key, *found, "a list of texts");
  for (const YamlNode &item : found ? found->items : std::vector<YamlNode>()) {
    if (!item.isScalar() || !item.quoted)
      reportType(key, item, "a list of texts");
    texts.push_back(item.text);
  }
  return texts;
}

std::string Config::scalar(std::string_view key) {
  const YamlNode *found = find(key);
  if (found && !found->isScalar())
    reportType(key, *found, "one value");
  return found && found->isScalar() ? found->text : std::string();
}

Config Config::member(std::string_view key) {
  const YamlNode *found = find(key);
  if (found && !found->isMapping())
    reportType(key, *found, "an object");
  return {found && found->isMapping() ? found : nullptr, diagnostics};
}

/// Whether a node is this value as JSON writes it; 1 is 1.0.
static bool isValue(const YamlNode &node, std::string_view value) {
  if (!node.isScalar() || node.quoted)
    return false;
  std::optional<double> number = parseNumber(node.text);
  return node.text == value || (number && number == parseNumber(value));
}

void Config::passOverIf(std::string_view key, std::string_view harmless) {
  const YamlNode *found = object ? object->find(key) : nullptr;
  if (found && isValue(*found, harmless))
    passOver({key});
}

void Config::warnUnless(std::string_view key, std::string_view harmless) {
  const YamlNode *found = find(key);
  if (found && !isValue(*found, harmless))
    diagnostics.report(Severity::Warning, found->where,
                       quote(key) + " is " + found->describe() +
                           ": it cannot be represented, so outputs will differ");
}

void Config::expect(std::string_view key, std::string_view expected) {
  const YamlNode *found = find(key);
  if (found && (!found->isScalar() || found->text != expected))
    reject(key, "only " + std::string(expected) + " can be represented");
}

void Config::reject(std::string_view key, const std::string &why) {
  const YamlNode *found = find(key);
  Location where = found ? found->where : object ? object->where : Location{};
  diagnostics.error(where, quote(key) + " is " + (found ? found->describe() : "missing") + ": " + why);
}

void Config::warnOfUnread() {
  for (const YamlEntry &entry : object ? object->entries : std::vector<YamlEntry>())
    if (!known.contains(entry.key) && !entry.value.isNull())
      diagnostics.report(Severity::Warning, entry.where,
                         quote(entry.key) + " is " + entry.value.describe() +
                             ": not known here, so it is passed over");
}

/// The whole of a small file; nothing where it cannot be read or is larger than a spec may be.
static std::optional<std::string> readSmallFile(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  std::string text(maxSpecBytes + 1, '\0');
  if (!in || !in.read(text.data(), std::streamsize(text.size())).eof())
    return std::nullopt;
  text.resize(size_t(in.gcount()));
  return text;
}

/// Why the file above was not read.
static std::string explainUnread(const std::string &path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status))
    return "there is no such file";
  if (!std::filesystem::is_regular_file(status))
    return "this is not a regular file";
  if (std::filesystem::file_size(path, error) > maxSpecBytes && !error)
    return "the file is larger than " + std::to_string(maxSpecBytes) + " bytes";
  return "the file cannot be read";
}

bool ConfigFile::read(const std::string &path, bool isOptional) {
  diagnostics.setSource(path, {});
  std::optional<std::string> text = readSmallFile(path);
  if (!text) {
    if (!isOptional)
      diagnostics.error({}, explainUnread(path));
    return isOptional;
  }
  diagnostics.setSource(path, *text);
  tree = parseJsonObject(*text, diagnostics);
  return tree.has_value();
}

} // namespace attnc
