//===- ScheduleSearch.cpp - looks for schedules that are faster than the rules' ===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/tune/ScheduleSearch.h"

#include <algorithm>
#include <numeric>

namespace attnc {
namespace {

/// Less is within what machines that do something else as well change from run to run.
constexpr double leastSpeedup = 1.03, mostSlowdown = 1.02;

struct Candidate {
  ScheduleChoice choice;
  double speedup;
};

/// By kernel, the fastest first.
using Candidates = std::map<std::string, std::vector<Candidate>>;

class Search {
public:
  Search(const std::vector<std::string> &kernels, const KernelChoices &known, const ScheduleTimer &timer)
      : kernels(kernels), known(known), timer(timer) {}

  SearchResult run();

private:
  void tryKnown();
  void tryParameters();
  void addCandidates(const KernelChoices &choices, const Comparison &comparison);
  void confirm(const KernelChoices &choices);

  const std::vector<std::string> &kernels;
  const KernelChoices &known;
  const ScheduleTimer &timer;
  Candidates candidates;
  SearchResult result;
};

bool isFaster(const KernelTimes &times, double noise) {
  return times.matters() && times.share > 0 && times.speedup() >= std::max(leastSpeedup, noise) &&
         times.worst <= mostSlowdown;
}

void Search::addCandidates(const KernelChoices &choices, const Comparison &comparison) {
  for (const auto &[kernel, times] : comparison.kernels)
    if (auto found = choices.find(kernel); found != choices.end() && isFaster(times, comparison.noise)) {
      std::vector<Candidate> &own = candidates[kernel];
      own.push_back({found->second, times.speedup()});
      std::ranges::stable_sort(own, std::greater(), &Candidate::speedup);
    }
}

/// Whatever of these matters in the requests that are timed stays only if it is confirmed.
void Search::tryKnown() {
  if (known.empty() || !timer.hasTime())
    return;
  const Comparison comparison = timer.compare(known, "earlier records");
  addCandidates(known, comparison);
  for (const auto &[kernel, choice] : known)
    if (auto found = comparison.kernels.find(kernel);
        found == comparison.kernels.end() || found->second.matters())
      result.outdated[kernel] = choice;
}

void Search::tryParameters() {
  for (const ScheduleParameter &parameter : scheduleParameters())
    for (std::string_view word : parameter.words) {
      const ScheduleChoice choice = {{std::string(parameter.name), std::string(word)}};
      KernelChoices changed;
      for (const std::string &kernel : kernels)
        if (timer.changes(kernel, choice))
          changed[kernel] = choice;
      if (changed.empty())
        continue;
      if (!timer.hasTime())
        return;
      addCandidates(changed, timer.compare(changed, choiceText(choice)));
    }
}

/// Measures `choices` once more and takes what is faster again, and than what was taken before.
void Search::confirm(const KernelChoices &choices) {
  if (choices.empty())
    return;
  const Comparison comparison = timer.compare(choices, "what was faster");
  for (const auto &[kernel, times] : comparison.kernels)
    if (auto found = choices.find(kernel); found != choices.end() && isFaster(times, comparison.noise)) {
      auto [tuned, isNew] = result.tuned.try_emplace(kernel, TunedKernel{found->second, times});
      if (!isNew && tuned->second.times.speedup() < times.speedup())
        tuned->second = {found->second, times};
      result.outdated.erase(kernel);
    }
}

/// The words of all, those of faster ones first.
ScheduleChoice together(const std::vector<Candidate> &own) {
  ScheduleChoice choice;
  for (const Candidate &candidate : own)
    choice.insert(candidate.choice.begin(), candidate.choice.end());
  return choice;
}

SearchResult Search::run() {
  tryKnown();
  tryParameters();
  KernelChoices choices;
  for (const auto &[kernel, own] : candidates)
    choices[kernel] = together(own);
  confirm(choices);
  // What is good alone may be less so together.
  KernelChoices best;
  for (const auto &[kernel, own] : candidates) {
    auto tuned = result.tuned.find(kernel);
    bool isWorse = tuned == result.tuned.end() || tuned->second.times.speedup() < own.front().speedup;
    if (isWorse && own.front().choice != choices.at(kernel))
      best[kernel] = own.front().choice;
  }
  confirm(best);
  return std::move(result);
}

} // namespace

void addBatch(const BatchTimes &batch, std::map<std::string, KernelTimes> &times) {
  const double request = std::accumulate(batch.byRules.begin(), batch.byRules.end(), 0.0);
  const double whole = request * double(batch.sizes);
  for (size_t i = 0; i < batch.kernels.size(); ++i) {
    const double rules = batch.byRules[i], tuned = batch.tuned[i];
    KernelTimes &sum = times[batch.kernels[i]];
    sum.milliseconds += tuned;
    sum.byRules += rules;
    sum.share += tuned / whole;
    sum.shareByRules += rules / whole;
    if (rules >= LeastShare * request)
      sum.worst = std::max(sum.worst, tuned / rules);
  }
}

void updateRecords(ScheduleRecords &records, const std::string &target, const SearchResult &found) {
  for (const auto &[kernel, choice] : found.outdated)
    if (auto record = records.find({target, kernel});
        record != records.end() && record->second.choice == choice)
      records.erase(record);
  for (const auto &[kernel, tuned] : found.tuned)
    records[{target, kernel}] = {tuned.choice, tuned.times.milliseconds, tuned.times.byRules};
}

SearchResult searchSchedules(const std::vector<std::string> &kernels, const KernelChoices &known,
                             const ScheduleTimer &timer) {
  return Search(kernels, known, timer).run();
}

} // namespace attnc
