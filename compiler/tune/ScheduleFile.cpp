//===- ScheduleFile.cpp - records of tuned schedules --------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/tune/ScheduleFile.h"

#include "compiler/spec/MapReader.h"
#include "compiler/spec/ReadText.h"
#include "compiler/spec/Words.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <ostream>

namespace attnc {
namespace {

constexpr std::string_view measured = "ms", measuredByRules = "ms_by_rules";

std::vector<std::string> knownKeys() {
  std::vector<std::string> keys;
  for (const ScheduleParameter &parameter : scheduleParameters())
    keys.emplace_back(parameter.name);
  keys.emplace_back(measured);
  keys.emplace_back(measuredByRules);
  return keys;
}

class ScheduleReader {
public:
  explicit ScheduleReader(Diagnostics &diagnostics) : diagnostics(diagnostics) {}

  ScheduleRecords read(const YamlNode &file);

private:
  void checkName(const YamlEntry &entry);
  ScheduleRecord readRecord(const YamlEntry &kernel);
  void readMilliseconds(const YamlEntry &entry, double &milliseconds);
  void readChoice(const YamlEntry &entry, ScheduleChoice &choice);

  Diagnostics &diagnostics;
};

ScheduleRecords ScheduleReader::read(const YamlNode &file) {
  ScheduleRecords records;
  for (const YamlEntry &target : file.entries) {
    checkName(target);
    if (!target.value.isMapping() && !target.value.isNull())
      diagnostics.error(target.value.where, "target " + quote(target.key) +
                                                " takes its kernels by name, not " + target.value.describe());
    for (const YamlEntry &kernel : target.value.entries)
      records[{target.key, kernel.key}] = readRecord(kernel);
  }
  return records;
}

/// Names that are written again need no quotes.
void ScheduleReader::checkName(const YamlEntry &entry) {
  auto isOfNames = [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '-' || c == '.'; };
  const std::string &name = entry.key;
  if (name.empty() || !std::isalnum(static_cast<unsigned char>(name.front())) ||
      !std::ranges::all_of(name, isOfNames))
    diagnostics.error(entry.where, quote(name) +
                                       " is no name of a target or a kernel, which begins with a "
                                       "letter or a digit and goes on with these, '_', '-' and '.'");
}

ScheduleRecord ScheduleReader::readRecord(const YamlEntry &kernel) {
  ScheduleRecord record;
  checkName(kernel);
  if (!kernel.value.isMapping())
    diagnostics.error(kernel.value.where,
                      "kernel " + quote(kernel.key) + " takes parameters, not " + kernel.value.describe());
  for (const YamlEntry &entry : kernel.value.entries)
    if (entry.key == measured)
      readMilliseconds(entry, record.milliseconds);
    else if (entry.key == measuredByRules)
      readMilliseconds(entry, record.byRules);
    else
      readChoice(entry, record.choice);
  return record;
}

void ScheduleReader::readMilliseconds(const YamlEntry &entry, double &milliseconds) {
  std::optional<double> number = entry.value.isScalar() ? parseNumber(entry.value.text) : std::nullopt;
  if (!number || *number < 0)
    diagnostics.error(entry.value.where,
                      quote(entry.key) + " takes a number from 0 on, not " + entry.value.describe());
  milliseconds = number.value_or(0);
}

void ScheduleReader::readChoice(const YamlEntry &entry, ScheduleChoice &choice) {
  const ScheduleParameter *parameter = findScheduleParameter(entry.key);
  if (!parameter)
    return diagnostics.error(entry.where, "unknown parameter " + quote(entry.key) +
                                              didYouMeanOrKnown(entry.key, knownKeys()));
  const std::string &word = entry.value.text;
  if (!entry.value.isScalar() || !parameter->takes(word))
    return diagnostics.error(entry.value.where,
                             quote(entry.key) + " is " + entry.value.describe() + "; it takes " +
                                 listed({parameter->words.begin(), parameter->words.end()}));
  choice[entry.key] = word;
}

std::string formatMilliseconds(double value) {
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), "%.6g", value);
  return text.data();
}

} // namespace

std::optional<ScheduleRecords> readSchedules(const std::string &path, Diagnostics &diagnostics) {
  std::optional<std::string> text = readFile(path, maxSpecBytes, "file of schedules", diagnostics);
  if (!text)
    return std::nullopt;
  diagnostics.setSource(path, *text);
  std::optional<YamlNode> file = parseYaml(*text, diagnostics);
  if (!file)
    return std::nullopt;
  ScheduleRecords records = ScheduleReader(diagnostics).read(*file);
  if (diagnostics.hasErrors())
    return std::nullopt;
  return records;
}

void writeSchedules(const ScheduleRecords &records, std::ostream &out) {
  out << "# Written by attnc tune, read by attnc compile --schedules: targets, their kernels, and what is "
         "better\n"
         "# there than what rules choose; milliseconds of the kernel in one request of each batch size.\n";
  if (records.empty())
    out << "{} # rules are best\n";
  std::string target;
  for (const auto &[names, record] : records) {
    if (names.first != target)
      out << (target = names.first) << ":\n";
    std::vector<std::string> fields;
    for (const auto &[parameter, word] : record.choice)
      fields.push_back(parameter + ": " + word);
    if (record.milliseconds > 0) // else it was written by hand, and not measured
      fields.push_back(std::string(measured) + ": " + formatMilliseconds(record.milliseconds));
    if (record.byRules > 0)
      fields.push_back(std::string(measuredByRules) + ": " + formatMilliseconds(record.byRules));
    out << "  " << names.second << ": {" << listed(fields) << "}\n";
  }
}

} // namespace attnc
