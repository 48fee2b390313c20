//===- Tuner.cpp - times schedules beside those of rules ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/driver/Tuner.h"

#include "compiler/driver/ProgressLine.h"
#include "compiler/driver/RecordFile.h"
#include "compiler/driver/TimedBundle.h"
#include "compiler/driver/Workload.h"
#include "compiler/emit/ChildProcess.h"
#include "compiler/emit/CompileKernel.h"
#include "compiler/emit/CpuVariant.h"
#include "compiler/emit/FileOutput.h"
#include "compiler/emit/Interrupts.h"
#include "compiler/tune/ScheduleSearch.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iomanip>
#include <iostream>
#include <memory>
#include <set>
#include <sstream>
#include <unistd.h>

namespace attnc {
namespace {

/// A folder for bundles, gone in the end.
class WorkFolder {
public:
  WorkFolder() {
    llvm::SmallString<128> parent;
    llvm::sys::path::system_temp_directory(/*ErasedOnReboot=*/true, parent);
    path = parent.str().str() + "/attnc-tune-XXXXXX";
    if (!mkdtemp(path.data()))
      throw std::runtime_error("cannot create a folder for bundles in " + parent.str().str() + ": " +
                               std::strerror(errno));
  }
  WorkFolder(const WorkFolder &) = delete;
  ~WorkFolder() { llvm::sys::fs::remove_directories(path); }

  std::string path;
};

class Tuner {
public:
  Tuner(Frontend &planned, const TuneOptions &options)
      : planned(planned), options(options),
        target(llvm::cantFail(parseTargets(options.target, planned.narrowWeights())).front().target) {}

  /// The exit code.
  int run();

private:
  bool changes(const std::string &kernel, const ScheduleChoice &choice);
  KernelChoices findKnown(const ScheduleRecords &records) const;
  std::string writeChoices(const KernelChoices &choices) const;
  bool compileBundle(const std::string &folder, const std::string &schedules) const;
  Comparison compare(const KernelChoices &choices, const std::string &what);
  Comparison timeBoth(const TimedBundle &tuned, const std::string &what);
  void addTimes(size_t workload, const TimedBundle &tuned, std::map<std::string, KernelTimes> &times) const;
  bool hasTime() const;
  void show(const std::string &text) const;
  void print(const std::map<std::string, TunedKernel> &tuned) const;

  Frontend &planned;
  const TuneOptions &options;
  const std::string target; // as kernels are compiled for it
  const Clock::time_point start = Clock::now();
  WorkFolder folder;
  std::unique_ptr<TimedBundle> byRules;
  double longest = 0; // comparison, in minutes
  int comparisons = 0;
};

double minutesSince(Clock::time_point start) { return millisecondsSince(start) / 60000; }

/// Requests of each bundle, by turns; the fastest counts, kernel by kernel.
constexpr int rounds = 4;

/// Two comparisons confirm what was found.
bool Tuner::hasTime() const {
  return comparisons == 0 || minutesSince(start) + 3 * longest <= options.minutes;
}

void stopWhereInterrupted() {
  if (wasInterrupted())
    throw std::runtime_error("interrupted");
}

void Tuner::show(const std::string &text) const {
  std::ostringstream line;
  line << std::fixed << std::setprecision(1) << minutesSince(start) << " of " << options.minutes
       << " minutes: " << text;
  showProgress(line.str());
}

/// The path of a file with these choices.
std::string Tuner::writeChoices(const KernelChoices &choices) const {
  ScheduleRecords records;
  for (const auto &[kernel, choice] : choices)
    records[{byRules->variant(), kernel}] = {choice};
  std::ostringstream text;
  writeSchedules(records, text);
  std::string file = folder.path + "/schedules.yaml";
  if (llvm::Error error = writeFile(file, text.str()))
    throw std::runtime_error(llvm::toString(std::move(error)));
  return file;
}

/// False after errors on stderr.
bool Tuner::compileBundle(const std::string &to, const std::string &schedules) const {
  // Bundles differ in the kernels that a word schedules otherwise: others are compiled once.
  const std::string cache = options.cache.empty() ? folder.path + "/kernels" : options.cache;
  std::vector<std::string> arguments = {"compile",  options.spec,   "-o",      to,
                                        "--target", options.target, "--cache", cache};
  const std::pair<const char *, const std::string &> given[] = {
      {"--dtype", options.dtype}, {"--weights", options.weights}, {"--schedules", schedules}};
  for (const auto &[flag, value] : given)
    if (!value.empty())
      arguments.insert(arguments.end(), {flag, value});
  ChildResult child = runChild(thisProgram(), arguments);
  stopWhereInterrupted();
  if (child.code == 0)
    return true;
  clearProgress();
  std::cerr << (child.code < 0 ? child.reason : child.output) << "\n";
  return false;
}

void Tuner::addTimes(size_t workload, const TimedBundle &tuned,
                     std::map<std::string, KernelTimes> &times) const {
  const std::vector<std::string> kernels = byRules->kernels();
  std::vector<double> rules, others;
  for (int round = 0; round < rounds; ++round) {
    stopWhereInterrupted();
    std::vector<double> rule, other;
    for (bool isRule : {round % 2 == 0, round % 2 != 0}) // each is first as often as the other
      (isRule ? rule : other) = (isRule ? *byRules : tuned).workloads()[workload]->time();
    if (round == 0) {
      rules = rule;
      others = other;
    }
    for (size_t i = 0; i < kernels.size(); ++i) {
      rules[i] = std::min(rules[i], rule[i]);
      others[i] = std::min(others[i], other[i]);
    }
  }
  addBatch({kernels, rules, others, tuned.workloads().size()}, times);
}

bool haveSameBits(const std::vector<float> &a, const std::vector<float> &b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

Comparison Tuner::timeBoth(const TimedBundle &tuned, const std::string &what) {
  const std::set<std::string> changed = tuned.tunedKernels();
  if (changed.empty())
    return {};
  std::map<std::string, KernelTimes> times;
  for (size_t workload = 0; workload < tuned.workloads().size(); ++workload) {
    addTimes(workload, tuned, times);
    if (!haveSameBits(tuned.workloads()[workload]->outputs(), byRules->workloads()[workload]->outputs()))
      throw std::runtime_error("schedules with " + what + " give other outputs; please report it");
  }
  Comparison comparison;
  for (const auto &[kernel, time] : times)
    if (changed.count(kernel))
      comparison.kernels[kernel] = time;
    else if (time.matters() && time.share > 0)
      comparison.noise = std::max(comparison.noise, time.speedup());
  return comparison;
}

Comparison Tuner::compare(const KernelChoices &choices, const std::string &what) {
  const auto begin = Clock::now();
  show(what);
  // A library that was loaded from a path may be loaded from there again, whatever the file is then.
  const std::string bundle = folder.path + "/" + std::to_string(comparisons);
  if (!compileBundle(bundle, writeChoices(choices)))
    throw std::runtime_error("schedules with " + what + " do not compile");
  Comparison comparison;
  {
    const TimedBundle tuned(bundle, options);
    comparison = timeBoth(tuned, what);
  }
  llvm::sys::fs::remove_directories(bundle);
  longest = std::max(longest, minutesSince(begin));
  ++comparisons;
  return comparison;
}

void Tuner::print(const std::map<std::string, TunedKernel> &tuned) const {
  for (const auto &[kernel, found] : tuned)
    std::cout << kernel << ": " << choiceText(found.choice) << ", " << std::fixed << std::setprecision(2)
              << found.times.speedup() << " times as fast\n";
  std::cout << options.output << ": " << tuned.size() << " of " << byRules->kernels().size() << " kernels of "
            << byRules->variant() << " are faster than by rules";
  double saved = 0;
  for (const auto &[kernel, found] : tuned)
    saved += found.times.shareByRules - found.times.share;
  if (!tuned.empty())
    std::cout << ", all kernels together by " << std::setprecision(1) << saved * 100 << "%";
  std::cout << "\n";
}

bool Tuner::changes(const std::string &kernel, const ScheduleChoice &choice) {
  stopWhereInterrupted();
  llvm::Expected<bool> tuned =
      isTuned(planned.module().lookupSymbol<attn::KernelOp>(kernel), {target, /*asserts=*/false, choice});
  if (tuned)
    return *tuned;
  llvm::consumeError(tuned.takeError()); // which it has when it is compiled, too
  return true;
}

/// What the file has for these kernels already.
KernelChoices Tuner::findKnown(const ScheduleRecords &records) const {
  KernelChoices known;
  for (const std::string &kernel : byRules->kernels())
    if (auto found = records.find({byRules->variant(), kernel}); found != records.end())
      known[kernel] = found->second.choice;
  return known;
}

int Tuner::run() {
  RecordFile file(options.output);
  const std::optional<ScheduleRecords> earlier = file.read();
  if (!earlier)
    return 1;
  show("compiling");
  if (!compileBundle(folder.path + "/rules", ""))
    return 1;
  byRules = std::make_unique<TimedBundle>(folder.path + "/rules", options);
  const ScheduleTimer timer = {
      [&](const std::string &kernel, const ScheduleChoice &choice) { return changes(kernel, choice); },
      [&](const KernelChoices &choices, const std::string &what) { return compare(choices, what); },
      [&] { return hasTime(); }};
  const SearchResult found = searchSchedules(byRules->kernels(), findKnown(*earlier), timer);
  clearProgress();
  print(found.tuned); // whatever becomes of the file
  const auto put = [&](ScheduleRecords &records) { updateRecords(records, byRules->variant(), found); };
  return file.update(put) ? 0 : 1;
}

} // namespace

int tuneKernels(Frontend &planned, const TuneOptions &options) {
  InterruptCatcher catcher;              // outlives the bundles, which it would leave behind
  llvm::scope_exit clear(clearProgress); // before a message of what went wrong
  return Tuner(planned, options).run();
}

} // namespace attnc
