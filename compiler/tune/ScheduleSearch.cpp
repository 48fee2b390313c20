//===- ScheduleSearch.cpp - looks for schedules that are faster than the rules' ===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/tune/ScheduleSearch.h"

namespace attnc {
namespace {

/// Less is within what machines that do something else as well change from run to run.
constexpr double leastSpeedup = 1.03, mostSlowdown = 1.02;

bool isFaster(const KernelTimes &times) {
  return times.shareByRules >= LeastShare && times.share > 0 && times.speedup() >= leastSpeedup &&
         times.worst <= mostSlowdown;
}

/// The best word of each parameter for one kernel.
struct Candidate {
  struct Word {
    std::string word;
    double speedup;
  };
  std::map<std::string, Word> words;

  void add(const std::string &parameter, const std::string &word, double speedup) {
    auto [found, isNew] = words.try_emplace(parameter, Word{word, speedup});
    if (!isNew && found->second.speedup < speedup)
      found->second = {word, speedup};
  }

  ScheduleChoice together() const {
    ScheduleChoice choice;
    for (const auto &[parameter, best] : words)
      choice[parameter] = best.word;
    return choice;
  }

  ScheduleChoice best() const {
    auto most = words.begin();
    for (auto it = words.begin(); it != words.end(); ++it)
      if (it->second.speedup > most->second.speedup)
        most = it;
    return {{most->first, most->second.word}};
  }
};

using Candidates = std::map<std::string, Candidate>;

/// Measures `choices` and adds what is faster to `candidates`.
void tryChoices(const KernelChoices &choices, const std::string &what, const ScheduleSearch &search,
                Candidates &candidates) {
  for (const auto &[kernel, times] : search.compare(choices, what))
    if (auto found = choices.find(kernel); found != choices.end() && isFaster(times))
      for (const auto &[parameter, word] : found->second)
        candidates[kernel].add(parameter, word, times.speedup());
}

Candidates tryParameters(const std::vector<std::string> &kernels, const KernelChoices &known,
                         const ScheduleSearch &search) {
  Candidates candidates;
  if (!known.empty() && search.hasTime())
    tryChoices(known, "earlier records", search, candidates);
  for (const ScheduleParameter &parameter : scheduleParameters())
    for (std::string_view word : parameter.words) {
      if (!search.hasTime())
        return candidates;
      KernelChoices all;
      for (const std::string &kernel : kernels)
        all[kernel] = {{std::string(parameter.name), std::string(word)}};
      tryChoices(all, choiceText(all.begin()->second), search, candidates);
    }
  return candidates;
}

/// Measures `choices` once more and moves what is faster again to `tuned`.
void confirm(KernelChoices &choices, const ScheduleSearch &search,
             std::map<std::string, TunedKernel> &tuned) {
  if (choices.empty())
    return;
  for (const auto &[kernel, times] : search.compare(choices, "what was faster"))
    if (auto found = choices.find(kernel); found != choices.end() && isFaster(times)) {
      tuned[kernel] = {found->second, times};
      choices.erase(found);
    }
}

} // namespace

std::map<std::string, TunedKernel> searchSchedules(const std::vector<std::string> &kernels,
                                                   const KernelChoices &known, const ScheduleSearch &search) {
  const Candidates candidates = tryParameters(kernels, known, search);
  KernelChoices choices;
  for (const auto &[kernel, candidate] : candidates)
    choices[kernel] = candidate.together();
  std::map<std::string, TunedKernel> tuned;
  confirm(choices, search, tuned);
  // Words that are good alone may be bad together.
  std::erase_if(choices, [](const auto &entry) { return entry.second.size() == 1; });
  for (auto &[kernel, choice] : choices)
    choice = candidates.at(kernel).best();
  confirm(choices, search, tuned);
  return tuned;
}

} // namespace attnc
