//===- ScheduleFile.h - records of tuned schedules ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What `attnc tune` measured, as YAML: targets, their kernels by name, and what each one's schedule has
// instead of what rules choose.

#ifndef ATTNC_TUNE_SCHEDULEFILE_H
#define ATTNC_TUNE_SCHEDULEFILE_H

#include "compiler/schedules/ScheduleChoice.h"
#include "compiler/spec/Diagnostics.h"

#include <iosfwd>

namespace attnc {

struct ScheduleRecord {
  ScheduleChoice choice;
  /// In one request of each batch size, tuned and as rules have it.
  double milliseconds = 0, byRules = 0;
};

/// Of one file, by the names of a target and a kernel.
using ScheduleRecords = std::map<std::pair<std::string, std::string>, ScheduleRecord>;

/// Reads the file at `path`. Nothing is returned after errors, which `diagnostics` has.
std::optional<ScheduleRecords> readSchedules(const std::string &path, Diagnostics &diagnostics);

void writeSchedules(const ScheduleRecords &records, std::ostream &out);

} // namespace attnc

#endif // ATTNC_TUNE_SCHEDULEFILE_H
