//===- Tune.cpp - attnc tune: schedules that are faster than the rules' -------===//
// SPDX-License-Identifier: Apache-2.0
//
// Compiles a model with other schedules and times its kernels beside those that rules schedule, in the same
// requests, by turns.

#include "compiler/driver/Commands.h"
#include "compiler/driver/Failure.h"
#include "compiler/driver/Flags.h"
#include "compiler/driver/Frontend.h"
#include "compiler/driver/Workload.h"
#include "compiler/emit/ChildProcess.h"
#include "compiler/emit/CpuVariant.h"
#include "compiler/emit/FileOutput.h"
#include "compiler/emit/Interrupts.h"
#include "compiler/tune/ScheduleFile.h"
#include "compiler/tune/ScheduleSearch.h"

#include "llvm/Support/FileSystem.h"
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstring>
#include <iomanip>
#include <memory>
#include <numeric>
#include <set>
#include <sstream>
#include <thread>
#include <unistd.h>

namespace attnc {
namespace {

struct TuneOptions {
  std::string spec, target = "host", dtype, weights, output;
  double minutes = 10;
  std::vector<int> batches = {1, 8, 64};
  int sourceLength = 32, targetLength = 32, beam = 1, threads = 0;
};

/// The file of records: it is replaced whole or not at all, and known to be writable before anything is
/// measured.
class RecordFile {
public:
  explicit RecordFile(const std::string &path) : path(path), partial(path + ".partial") { write(""); }
  RecordFile(const RecordFile &) = delete;
  ~RecordFile() { llvm::sys::fs::remove(partial); }

  /// Of earlier searches, for other models and targets as well; nothing after errors on stderr.
  std::optional<ScheduleRecords> read() const {
    if (!llvm::sys::fs::exists(path))
      return ScheduleRecords();
    Diagnostics diagnostics;
    std::optional<ScheduleRecords> records = readSchedules(path, diagnostics);
    diagnostics.print(std::cerr);
    return records;
  }

  void replace(const ScheduleRecords &records) {
    std::ostringstream text;
    writeSchedules(records, text);
    write(text.str());
    if (std::error_code code = llvm::sys::fs::rename(partial, path))
      throw std::runtime_error(path + ": " + code.message());
  }

private:
  void write(const std::string &text) {
    if (llvm::Error error = writeFile(partial, text))
      throw std::runtime_error(llvm::toString(std::move(error)));
  }

  std::string path, partial;
};

/// A folder for bundles, gone in the end.
class WorkFolder {
public:
  WorkFolder() {
    llvm::SmallString<128> made;
    if (std::error_code code = llvm::sys::fs::createUniqueDirectory("attnc-tune", made))
      throw std::runtime_error("cannot create a folder for bundles: " + code.message());
    path = made.str().str();
  }
  WorkFolder(const WorkFolder &) = delete;
  ~WorkFolder() { llvm::sys::fs::remove_directories(path); }

  std::string path;
};

/// A bundle with a workload for each batch size.
class Bundle {
public:
  Bundle(const std::string &folder, const TuneOptions &options) : model(load(folder)) {
    for (int batch : options.batches)
      workloads.push_back(
          std::make_unique<Workload>(model, WorkloadSizes{batch, options.sourceLength, options.targetLength,
                                                          options.beam, options.threads}));
  }

  std::string variant() const { return model.variant(); }
  std::vector<std::string> kernels() const { return workloads.front()->manifest()["kernels"]; }

  /// Of the only variant.
  std::set<std::string> tunedKernels() const {
    return workloads.front()->manifest()["variants"][0].value("tuned_kernels", std::set<std::string>());
  }

  /// Milliseconds of each kernel in one request.
  std::vector<double> time(size_t workload) {
    Session &session = workloads[workload]->session();
    session.startProfile();
    workloads[workload]->request();
    const size_t entries = workloads[workload]->manifest()["entries"].size();
    std::vector<double> times(workloads[workload]->manifest()["kernels"].size());
    for (size_t kernel = 0; kernel < times.size(); ++kernel)
      for (size_t entry = 0; entry < entries; ++entry)
        times[kernel] += double(session.profile(entry, kernel).nanoseconds) * 1e-6;
    return times;
  }

  std::vector<float> outputs(size_t workload) const { return workloads[workload]->outputs(); }

private:
  static Model load(const std::string &folder) {
    BundleOptions bundle;
    bundle.folder = folder;
    return loadBundle(bundle);
  }

  Model model;
  std::vector<std::unique_ptr<Workload>> workloads;
};

class Tuner {
public:
  explicit Tuner(const TuneOptions &options) : options(options) {}

  /// The exit code.
  int run();

private:
  KernelChoices findKnown(const ScheduleRecords &records) const;
  bool compileBundle(const std::string &folder, const std::string &schedules, std::string &messages);
  std::map<std::string, KernelTimes> compare(const KernelChoices &choices, const std::string &what);
  std::map<std::string, KernelTimes> timeBoth(Bundle &tuned, const std::string &what);
  void addTimes(size_t workload, Bundle &tuned, std::map<std::string, KernelTimes> &times);
  bool hasTime() const;
  void show(const std::string &text) const;
  void print(const std::map<std::string, TunedKernel> &tuned) const;

  const TuneOptions &options;
  const Clock::time_point start = Clock::now();
  WorkFolder folder;
  std::unique_ptr<Bundle> byRules;
  double longest = 0; // comparison, in minutes
  int comparisons = 0;
};

double minutesSince(Clock::time_point start) { return millisecondsSince(start) / 60000; }

/// Requests of each bundle, by turns; the fastest counts, kernel by kernel.
constexpr int rounds = 4;

/// Two comparisons confirm what was found.
bool Tuner::hasTime() const {
  return !wasInterrupted() && (comparisons == 0 || minutesSince(start) + 3 * longest <= options.minutes);
}

/// One line that is written over again and again, on a terminal only.
void Tuner::show(const std::string &text) const {
  if (isatty(STDERR_FILENO))
    std::cerr << "\r\x1b[K" << std::fixed << std::setprecision(1) << minutesSince(start) << " of "
              << options.minutes << " minutes: " << text << std::flush;
}

void clearLine() {
  if (isatty(STDERR_FILENO))
    std::cerr << "\r\x1b[K" << std::flush;
}

/// Neither should happen.
void warn(const std::string &what, const std::string &flaw) {
  clearLine();
  std::cerr << "attnc: warning: schedules with " << what << " " << flaw << "\n";
}

bool Tuner::compileBundle(const std::string &to, const std::string &schedules, std::string &messages) {
  std::vector<std::string> arguments = {"compile", options.spec, "-o", to, "--target", options.target};
  const std::pair<const char *, const std::string &> given[] = {
      {"--dtype", options.dtype}, {"--weights", options.weights}, {"--schedules", schedules}};
  for (const auto &[flag, value] : given)
    if (!value.empty())
      arguments.insert(arguments.end(), {flag, value});
  static int address; // anything inside this program tells where it is
  ChildResult child = runChild(llvm::sys::fs::getMainExecutable("attnc", &address), arguments);
  messages = child.code < 0 ? child.reason : child.output;
  return child.code == 0;
}

void Tuner::addTimes(size_t workload, Bundle &tuned, std::map<std::string, KernelTimes> &times) {
  const std::vector<std::string> kernels = byRules->kernels();
  std::vector<double> rules, others;
  for (int round = 0; round < rounds; ++round) {
    const std::vector<double> rule = byRules->time(workload), other = tuned.time(workload);
    if (round == 0) {
      rules = rule;
      others = other;
    }
    for (size_t i = 0; i < kernels.size(); ++i) {
      rules[i] = std::min(rules[i], rule[i]);
      others[i] = std::min(others[i], other[i]);
    }
  }
  const double request = std::accumulate(rules.begin(), rules.end(), 0.0);
  const double whole = request * double(options.batches.size());
  for (size_t i = 0; i < kernels.size(); ++i) {
    KernelTimes &sum = times[kernels[i]];
    sum.milliseconds += others[i];
    sum.byRules += rules[i];
    sum.share += others[i] / whole;
    sum.shareByRules += rules[i] / whole;
    if (rules[i] >= LeastShare * request)
      sum.worst = std::max(sum.worst, others[i] / rules[i]);
  }
}

bool haveSameBits(const std::vector<float> &a, const std::vector<float> &b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

std::map<std::string, KernelTimes> Tuner::timeBoth(Bundle &tuned, const std::string &what) {
  std::map<std::string, KernelTimes> times;
  for (size_t workload = 0; workload < options.batches.size() && !wasInterrupted(); ++workload) {
    addTimes(workload, tuned, times);
    if (!haveSameBits(tuned.outputs(workload), byRules->outputs(workload))) {
      warn(what, "give other outputs: they are left out; please report it");
      return {};
    }
  }
  const std::set<std::string> changed = tuned.tunedKernels();
  std::erase_if(times, [&](const auto &entry) { return !changed.count(entry.first); });
  return times;
}

std::map<std::string, KernelTimes> Tuner::compare(const KernelChoices &choices, const std::string &what) {
  const auto begin = Clock::now();
  show(what);
  ScheduleRecords records;
  for (const auto &[kernel, choice] : choices)
    records[{byRules->variant(), kernel}] = {choice};
  std::ostringstream text;
  writeSchedules(records, text);
  // A library that was loaded from a path may be loaded from there again, whatever the file is then.
  const std::string file = folder.path + "/schedules.yaml",
                    bundle = folder.path + "/" + std::to_string(comparisons);
  std::string messages;
  if (llvm::Error error = writeFile(file, text.str()))
    throw std::runtime_error(llvm::toString(std::move(error)));
  std::map<std::string, KernelTimes> times;
  if (compileBundle(bundle, file, messages)) {
    Bundle tuned(bundle, options);
    times = timeBoth(tuned, what);
  } else if (!wasInterrupted()) {
    warn(what, "do not compile and are left out: " + messages);
  }
  llvm::sys::fs::remove_directories(bundle);
  longest = std::max(longest, minutesSince(begin));
  ++comparisons;
  return times;
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
    std::cout << ", requests by " << std::setprecision(1) << saved * 100 << "%";
  std::cout << "\n";
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
  InterruptCatcher catcher;
  RecordFile file(options.output);
  std::optional<ScheduleRecords> records = file.read();
  if (!records)
    return 1;
  show("compiling");
  std::string messages;
  if (!compileBundle(folder.path + "/rules", "", messages)) {
    std::cerr << messages << "\n";
    return 1;
  }
  byRules = std::make_unique<Bundle>(folder.path + "/rules", options);
  const ScheduleSearch search = {
      [&](const KernelChoices &choices, const std::string &what) { return compare(choices, what); },
      [&] { return hasTime(); }};
  const auto tuned = searchSchedules(byRules->kernels(), findKnown(*records), search);
  clearLine();
  if (wasInterrupted())
    return fail("interrupted");
  for (const std::string &kernel : byRules->kernels())
    records->erase({byRules->variant(), kernel});
  for (const auto &[kernel, found] : tuned)
    (*records)[{byRules->variant(), kernel}] = {found.choice, found.times.milliseconds, found.times.byRules};
  file.replace(*records);
  print(tuned);
  return 0;
}

/// Whether the spec is one of a model; mistakes are told on stderr.
bool isModel(const TuneOptions &options) {
  Frontend frontend;
  if (!frontend.read(options.spec, {options.weights, options.dtype}))
    return false;
  if (!frontend.spec().model)
    fail(options.spec + " is a graph: what is timed are requests, which models have");
  return frontend.spec().model.has_value();
}

/// Of one target: kernels are timed where it runs.
void checkTarget(const std::string &target) {
  llvm::Expected<std::vector<CpuVariant>> named = parseTargets(target);
  if (!named)
    throw CLI::ValidationError("--target", llvm::toString(named.takeError()));
  if (named->size() != 1)
    throw CLI::ValidationError("--target", "takes one target: tune once for each");
  if (!runsHere(named->front()))
    throw CLI::ValidationError("--target", "this machine cannot run " + target);
}

int tune(TuneOptions &options) {
  checkTarget(options.target);
  if (options.threads == 0)
    options.threads = int(std::max(1u, std::thread::hardware_concurrency()));
  return isModel(options) ? Tuner(options).run() : 1;
}

} // namespace
} // namespace attnc

void addTuneCommand(CLI::App &app, int &exitCode) {
  auto options = std::make_shared<attnc::TuneOptions>();
  CLI::App *command = app.add_subcommand(
      "tune", "Search schedules that are faster on this machine than those that rules choose");
  command->add_option("SPEC", options->spec, "The model's YAML file")->required()->type_name("FILE");
  command
      ->add_option(
          "-o,--output", options->output,
          "File of schedules to write, for 'attnc compile --schedules'; records there of other kernels "
          "and targets stay")
      ->required()
      ->type_name("FILE");
  command->add_option("--target", options->target, "The CPU to tune for, as 'attnc compile' takes them")
      ->capture_default_str();
  command->add_option("--minutes", options->minutes, "Search for so long, and one comparison at least")
      ->check(attnc::numberIn({0, 1440}))
      ->capture_default_str();
  command->add_option("--dtype", options->dtype, "Type of the matrices of linears, as in 'attnc compile'")
      ->check(CLI::IsMember({"f32", "bf16", "int8"}));
  command->add_option("--weights", options->weights, "Instead of the spec's weights, as in 'attnc compile'")
      ->check(attnc::weightSource())
      ->type_name("FILE");
  const auto length = attnc::wholeIn(attnrt::ranges::maxLength);
  command
      ->add_option("--batch", options->batches, "Sentences at once in a request; several sizes count alike")
      ->check(attnc::wholeIn(attnrt::ranges::batch))
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--source-length", options->sourceLength, "Tokens of each source")
      ->check(length)
      ->capture_default_str();
  command->add_option("--target-length", options->targetLength, "Decoders: tokens of each output, exactly")
      ->check(length)
      ->capture_default_str();
  command->add_option("--beam,--num-beams", options->beam, "Decoders: hypotheses per sentence")
      ->check(attnc::wholeIn(attnrt::ranges::beam))
      ->capture_default_str();
  command->add_option("--threads", options->threads, "Threads; 0: one per core")
      ->check(attnc::wholeIn(attnrt::ranges::threads));
  command->callback([options, &exitCode] {
    int found = 0;
    const int failed = attnc::runCommand([&] { found = attnc::tune(*options); });
    exitCode = failed ? failed : found;
  });
}
