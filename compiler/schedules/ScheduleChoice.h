//===- ScheduleChoice.h - what may be chosen instead of by rules ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The parameters that tuned schedules have, as words: what `attnc tune` tries, its file holds and
// the functions of ChooseSchedule.h read. Any word suits any kernel and target, and gives the same bits; a
// kernel leaves aside what it has no use for.

#ifndef ATTNC_SCHEDULES_SCHEDULE_CHOICE_H
#define ATTNC_SCHEDULES_SCHEDULE_CHOICE_H

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attnc {

struct ScheduleParameter {
  std::string_view name;
  std::vector<std::string_view> words;

  bool takes(std::string_view word) const;
};

/// All of them, in the order in which they are tried.
std::span<const ScheduleParameter> scheduleParameters();

/// The parameter called `name`, or null.
const ScheduleParameter *findScheduleParameter(std::string_view name);

/// Words by the names of their parameters; what is not there is chosen by rules.
using ScheduleChoice = std::map<std::string, std::string, std::less<>>;

/// The word chosen for a parameter, or nothing.
std::string_view chosen(const ScheduleChoice &choice, std::string_view parameter);

/// The first whole number of a word (`6` of `6x64`), and the second one.
int numberOf(std::string_view word);
int secondNumberOf(std::string_view word);

/// `prefetch=none,tile=6x64`, and back; nothing where a name or a word is unknown.
std::string choiceText(const ScheduleChoice &choice);
std::optional<ScheduleChoice> parseChoice(std::string_view text);

} // namespace attnc

#endif // ATTNC_SCHEDULES_SCHEDULE_CHOICE_H
