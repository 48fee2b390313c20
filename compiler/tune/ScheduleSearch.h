//===- ScheduleSearch.h - looks for schedules that are faster than the rules' -===//
// SPDX-License-Identifier: Apache-2.0
//
// Tries one parameter after the other, in all kernels at once, then what was best for each kernel together.
// Only what is faster once more is kept. A graph's request is a call, with sizes for a batch size.

#ifndef ATTNC_TUNE_SCHEDULESEARCH_H
#define ATTNC_TUNE_SCHEDULESEARCH_H

#include "compiler/tune/ScheduleFile.h"

#include <functional>

namespace attnc {

/// Of a request, and in milliseconds of one request of each batch size: kernels that take less are left to
/// rules, for their times are mostly noise.
constexpr double LeastShare = 0.002, LeastMilliseconds = 0.02;

/// What a kernel takes in one request of each batch size.
struct KernelTimes {
  double milliseconds = 0, byRules = 0;
  double share = 0, shareByRules = 0; // of a request by rules, the mean of all batch sizes
  double worst = 0; // the largest ratio of both in one batch size, of those where the kernel matters

  bool matters() const { return shareByRules >= LeastShare && byRules >= LeastMilliseconds; }
  double speedup() const { return shareByRules / share; }
};

/// What each of `kernels` takes in a request of one of `sizes` batch sizes, in milliseconds.
struct BatchTimes {
  const std::vector<std::string> &kernels;
  const std::vector<double> &byRules, &tuned;
  size_t sizes;
};

/// Adds a batch size. All count alike, however long their requests take.
void addBatch(const BatchTimes &batch, std::map<std::string, KernelTimes> &times);

/// Of kernels whose schedules some choices change.
struct Comparison {
  std::map<std::string, KernelTimes> kernels;
  double noise = 1; // how many times as fast a kernel seemed to be whose schedule they do not change
};

using KernelChoices = std::map<std::string, ScheduleChoice>;

struct ScheduleTimer {
  /// Whether a kernel's schedule with this choice is another than that of rules.
  std::function<bool(const std::string &kernel, const ScheduleChoice &choice)> changes;
  /// Times kernels with these choices and by rules, by turns. `what` is for people to read.
  std::function<Comparison(const KernelChoices &choices, const std::string &what)> compare;
  /// Whether there is time for another comparison beside those that confirm.
  std::function<bool()> hasTime;
};

struct TunedKernel {
  ScheduleChoice choice;
  KernelTimes times;
};

struct SearchResult {
  std::map<std::string, TunedKernel> tuned;
  KernelChoices outdated; // known choices that are not faster any more, or change nothing
};

/// Choices that make one of `kernels` faster by three percent or more, and slower in no batch size by more
/// than two. `known`: of an earlier search, tried first.
SearchResult searchSchedules(const std::vector<std::string> &kernels, const KernelChoices &known,
                             const ScheduleTimer &timer);

/// Puts what was found for `target` in; records of other kernels and targets stay, and choices that another
/// search has put in the place of outdated ones.
void updateRecords(ScheduleRecords &records, const std::string &target, const SearchResult &found);

} // namespace attnc

#endif // ATTNC_TUNE_SCHEDULESEARCH_H
