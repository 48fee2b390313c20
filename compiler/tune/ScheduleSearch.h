//===- ScheduleSearch.h - looks for schedules that are faster than the rules' -===//
// SPDX-License-Identifier: Apache-2.0
//
// Tries one parameter after the other, in all kernels at once, then what was best for each kernel together.
// Only what was faster twice is kept, so that a record is never worse than the rules but by chance.

#ifndef ATTNC_TUNE_SCHEDULESEARCH_H
#define ATTNC_TUNE_SCHEDULESEARCH_H

#include "compiler/schedules/ScheduleChoice.h"

#include <functional>

namespace attnc {

/// Of a request: kernels that take less are not worth a record.
constexpr double LeastShare = 0.002;

/// What a kernel takes in one request of each batch size.
struct KernelTimes {
  double milliseconds = 0, byRules = 0;
  double share = 0, shareByRules = 0; // of a request by rules, the mean of all batch sizes
  double worst = 0; // the largest ratio of both in one batch size, of those where the kernel matters

  double speedup() const { return shareByRules / share; }
};

using KernelChoices = std::map<std::string, ScheduleChoice>;

struct ScheduleSearch {
  /// Times kernels with these choices and by rules, one after the other. Kernels are left out whose schedules
  /// these choices do not change, and all where the choices cannot be had.
  std::function<std::map<std::string, KernelTimes>(const KernelChoices &choices, const std::string &what)>
      compare;
  /// Whether there is time for another comparison beside those that confirm.
  std::function<bool()> hasTime;
};

struct TunedKernel {
  ScheduleChoice choice;
  KernelTimes times;
};

/// Choices that make one of `kernels` faster by three percent or more, and slower in no batch size by more
/// than two. `known`: of an earlier search, tried
/// first.
std::map<std::string, TunedKernel> searchSchedules(const std::vector<std::string> &kernels,
                                                   const KernelChoices &known, const ScheduleSearch &search);

} // namespace attnc

#endif // ATTNC_TUNE_SCHEDULESEARCH_H
