//===- ScheduleChoice.cpp - what may be chosen instead of by rules ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/schedules/ScheduleChoice.h"

#include <algorithm>
#include <cstdlib>

namespace attnc {

bool ScheduleParameter::takes(std::string_view word) const {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::span<const ScheduleParameter> scheduleParameters() {
  static const ScheduleParameter parameters[] = {
      // Rows x columns of sums of the tile that many rows take, where Halide's loops make it.
      {"tile", {"4x16", "6x16", "8x32", "6x64"}},
      // Weights that this tile asks for before it needs them.
      {"prefetch", {"none", "next_columns"}},
      // The same of tiles of 2 to 12 rows.
      {"few_rows_prefetch", {"none", "next_columns", "ahead", "ahead_second"}},
      // Columns that one row sums up at a time, where Halide's loops do.
      {"one_row_columns", {"32", "64", "128"}},
      // Columns of the tiles that functions of emit/shim sum up.
      {"external_columns", {"64", "128", "256"}},
      // Whether tasks that follow each other have the same rows or the same columns.
      {"tasks", {"by_rows", "by_columns"}},
      // Blocks of queries that a task of attention has, or as many as its stack holds.
      {"query_blocks", {"1", "2", "4", "8"}},
      // Rows x columns of sums of attention's context, where Halide's loops make them.
      {"context_tile", {"4x16", "4x32", "8x32", "4x64"}},
      // Tasks of all heads of one query, where they need not be one each.
      {"head_tasks", {"1", "2", "4", "8"}},
  };
  return parameters;
}

const ScheduleParameter *findScheduleParameter(std::string_view name) {
  for (const ScheduleParameter &parameter : scheduleParameters())
    if (parameter.name == name)
      return &parameter;
  return nullptr;
}

std::string_view chosen(const ScheduleChoice &choice, std::string_view parameter) {
  auto found = choice.find(parameter);
  return found == choice.end() ? std::string_view() : std::string_view(found->second);
}

int numberOf(std::string_view word) { return std::atoi(std::string(word).c_str()); }

int secondNumberOf(std::string_view word) { return numberOf(word.substr(word.find('x') + 1)); }

std::string choiceText(const ScheduleChoice &choice) {
  std::string text;
  for (const auto &[name, word] : choice)
    text += (text.empty() ? "" : ",") + name + "=" + word;
  return text;
}

std::optional<ScheduleChoice> parseChoice(std::string_view text) {
  ScheduleChoice choice;
  while (!text.empty()) {
    std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    const size_t sign = item.find('=');
    if (sign == item.npos)
      return std::nullopt;
    const ScheduleParameter *parameter = findScheduleParameter(item.substr(0, sign));
    const std::string_view word = item.substr(sign + 1);
    if (!parameter || !parameter->takes(word))
      return std::nullopt;
    choice.emplace(parameter->name, word);
  }
  return choice;
}

} // namespace attnc
