//===- Bench.cpp - attnc bench: how fast a bundle is --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Times whole requests of a workload, encoder included. Graphs are called.

#include "compiler/driver/Commands.h"
#include "compiler/driver/Flags.h"
#include "compiler/driver/GraphWorkload.h"
#include "compiler/driver/Picture.h"
#include "compiler/driver/ProfileKernels.h"
#include "compiler/driver/Timing.h"
#include "compiler/driver/Workload.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <iostream>
#include <optional>

namespace attnc {
namespace {

struct BenchOptions {
  BundleOptions bundle;
  int batch = 0, sourceLength = 0, targetLength = 0, beam = 0; // 0: not given
  GraphCallOptions graph;
  double seconds = 1;
  bool profile = false, json = false;
  std::string picture; // of the profile: an SVG file
};

using Report = nlohmann::ordered_json;

/// The kinds of bundles differ in what a call needs.
void checkFlags(const BenchOptions &options, const std::string &name, const std::string &kind) {
  using enum KindFlag::Rule;
  const bool isGraph = kind == "graph", isEncoder = kind == "encoder";
  const KindFlag::Rule ofModels = isGraph ? Refused : Needed, ofGraphs = isGraph ? Taken : Refused;
  const bool decodes = !isGraph && !isEncoder;
  checkKindFlags({{"--batch", options.batch > 0, ofModels},
                  {"--source-length", options.sourceLength > 0, ofModels},
                  {"--target-length", options.targetLength > 0, decodes ? Needed : Refused},
                  {"--beam", options.beam > 0, decodes ? Taken : Refused},
                  {"--entry", !options.graph.entry.empty(), ofGraphs},
                  {"--sizes", !options.graph.sizes.empty(), ofGraphs},
                  {"--values", !options.graph.values.empty(), ofGraphs}},
                 "'" + name + "'", kind);
}

/// What is told of a bundle.
struct Measured {
  Report report;
  std::optional<Profile> profile;

  void add(Profile kernels) {
    report["kernels"] = describe(kernels);
    profile = std::move(kernels);
  }
};

/// Of a number that was measured, no more digits than mean anything.
std::string textOf(const Report &value) {
  if (value.is_string())
    return value.get<std::string>();
  if (!value.is_number_float())
    return value.dump();
  std::array<char, 32> text;
  const double number = value.get<double>();
  std::snprintf(text.data(), text.size(), number < 1000 ? "%.4g" : "%.0f", number);
  return text.data();
}

void printMeasured(const Measured &measured, bool json) {
  if (json) {
    std::cout << measured.report.dump() << '\n';
    return;
  }
  for (const auto &[name, value] : measured.report.items())
    if (name != "kernels") // a table of their own
      std::cout << name << ": " << textOf(value) << '\n';
  if (measured.profile)
    std::cout << '\n' << printProfile(*measured.profile);
}

/// Of models.
class RequestBench {
public:
  RequestBench(const Model &model, const BenchOptions &options)
      : options(options), model(model),
        workload(model, {options.batch, options.sourceLength, options.targetLength, options.beam,
                         options.bundle.threads}),
        manifest(workload.manifest()) {}

  /// `loading`: milliseconds.
  Measured run(double loading);

private:
  double sourceTime();
  Report firstRequest();
  Times measure(int length);
  std::string title() const;
  Profile profile();
  bool isEncoder() const { return workload.isEncoder(); }

  const BenchOptions &options;
  const Model &model;
  Workload workload;
  const nlohmann::json &manifest;
};

/// What kernels of the entries that read the source took, in milliseconds.
double RequestBench::sourceTime() {
  uint64_t nanoseconds = 0;
  for (size_t entry = 0; entry < manifest["entries"].size(); ++entry)
    if (const std::string name = manifest["entries"][entry]["name"]; name == "encode" || name == "prefill")
      for (size_t kernel = 0; kernel < manifest["kernels"].size(); ++kernel)
        nanoseconds += workload.session().profile(entry, kernel).nanoseconds;
  return double(nanoseconds) * 1e-6;
}

/// What a process that has just loaded the bundle waits for: weights are not in its memory yet.
Report RequestBench::firstRequest() {
  TokenTimes tokens;
  workload.request(options.targetLength, options.beam == 1 ? &tokens : nullptr);
  Report report = {{"ms_first_request", millisecondsSince(tokens.start)}};
  const std::vector<double> &times = tokens.times;
  if (!times.empty())
    report.update({{"ms_first_token", times.front()}, {"ms_first_step", times.front() - sourceTime()}});
  if (times.size() >= 10)
    report["ms_tenth_step"] = times[9] - times[8];
  return report;
}

Times RequestBench::measure(int length) {
  return timeRuns([&] { workload.request(length); }, options.seconds);
}

std::string RequestBench::title() const {
  std::string text =
      model.name() + ", " + model.variant() + ", batch " + std::to_string(options.batch) + ", ";
  if (!isEncoder())
    text += "beam " + std::to_string(options.beam) + ", ";
  text += std::to_string(options.sourceLength);
  if (!isEncoder())
    text += " to " + std::to_string(options.targetLength);
  return text + " tokens, threads " + std::to_string(options.bundle.threads);
}

/// The mean of some requests.
Profile RequestBench::profile() {
  constexpr int requests = 5;
  Profile profile = measureLimits(model, manifest, options.bundle.threads);
  profile.title = title();
  workload.request(); // measuring limits has taken the caches
  workload.session().startProfile();
  const auto start = Clock::now();
  for (int i = 0; i < requests; ++i)
    workload.request();
  profile.milliseconds = millisecondsSince(start) / requests;
  profile.kernels = readKernels(model, manifest, requests, [&](size_t entry, size_t kernel) {
    return workload.session().profile(entry, kernel);
  });
  return profile;
}

Measured RequestBench::run(double loading) {
  checkPicture(options.picture);
  workload.session().startProfile();
  const Report first = firstRequest();
  workload.renewSession();
  const Times times = measure(options.targetLength);
  const double tokens = double(options.batch) * (isEncoder() ? options.sourceLength : options.targetLength);
  Measured measured;
  Report &report = measured.report;
  report = {{"variant", model.variant()}, {"batch", options.batch}};
  if (!isEncoder())
    report["beam"] = options.beam;
  report["source_length"] = options.sourceLength;
  if (!isEncoder())
    report["target_length"] = options.targetLength;
  report.update({{"threads", options.bundle.threads},
                 {"tokens_per_second", tokens / times.median * 1000},
                 {"ms_minimum", times.minimum},
                 {"ms_median", times.median},
                 {"ms_load", loading}});
  report.update(first);
  report.update({{"arena_bytes", workload.session().arenaBytes()},
                 {"state_bytes", workload.session().stateBytes()},
                 {"weight_bytes", manifest["weights"]["bytes"]}});
  if (options.profile && options.targetLength > 1) {
    const Times one = measure(1);
    report["ms_encode_and_first_step"] = one.median;
    report["ms_each_further_step"] = (times.median - one.median) / (options.targetLength - 1);
  }
  if (options.profile)
    measured.add(profile());
  return measured;
}

/// The mean of calls that take a tenth of a second together, or of one.
Profile profileGraph(const Model &model, const BenchOptions &options, GraphWorkload &workload) {
  const nlohmann::json manifest = nlohmann::json::parse(model.manifest());
  Profile profile = measureLimits(model, manifest, options.bundle.threads);
  profile.title = model.name() + ", " + model.variant() + ", " + workload.entry() + ", ";
  for (const std::string &size : options.graph.sizes)
    profile.title += size + ", ";
  profile.title += "threads " + std::to_string(options.bundle.threads);
  workload.call(); // measuring limits has taken the caches
  std::vector<attnrt_kernel_profile> kernels(manifest["kernels"].size());
  int calls = 0;
  const auto start = Clock::now();
  do {
    workload.profile(kernels);
    ++calls;
  } while (millisecondsSince(start) < 100);
  profile.milliseconds = millisecondsSince(start) / calls;
  profile.kernels = readKernels(model, manifest, calls, [&](size_t entry, size_t kernel) {
    return manifest["entries"][entry]["name"] == workload.entry() ? kernels[kernel] : attnrt_kernel_profile{};
  });
  return profile;
}

Measured benchGraph(const Model &model, const BenchOptions &options) {
  GraphWorkload workload(model, options.graph, options.bundle.threads);
  checkPicture(options.picture);
  const Times times = timeRuns([&] { workload.call(); }, options.seconds);
  Measured measured;
  measured.report = {{"variant", model.variant()}, {"entry", workload.entry()}};
  if (const Report sizes = workload.sizes(); !sizes.empty())
    measured.report["sizes"] = sizes;
  measured.report.update(
      {{"threads", options.bundle.threads}, {"ms_minimum", times.minimum}, {"ms_median", times.median}});
  if (options.profile)
    measured.add(profileGraph(model, options, workload));
  return measured;
}

void bench(BenchOptions &options) {
  if (options.bundle.threads == 0) // the report and the limits say how many that is
    options.bundle.threads = attnrt::api::coreCount();
  const auto start = Clock::now();
  const Model model = loadBundle(options.bundle);
  const double loading = millisecondsSince(start);
  const std::string kind = nlohmann::json::parse(model.manifest())["kind"];
  checkFlags(options, model.name(), kind);
  options.beam = std::max(options.beam, 1);
  const Measured measured =
      kind == "graph" ? benchGraph(model, options) : RequestBench(model, options).run(loading);
  printMeasured(measured, options.json);
  if (!options.picture.empty())
    writePicture(options.picture, drawProfile(*measured.profile));
}

} // namespace
} // namespace attnc

void addBenchCommand(CLI::App &app, int &exitCode) {
  auto options = std::make_shared<attnc::BenchOptions>();
  CLI::App *command = app.add_subcommand(
      "bench", "Time requests: tokens/s and ms (minimum and median) of decoding, of encoders, of graphs");
  attnc::addBundleFlags(*command, options->bundle, "Options");
  const auto length = attnc::wholeIn(attnrt::ranges::maxLength);
  command->add_option("--batch", options->batch, "Models: sentences at once")
      ->check(attnc::wholeIn(attnrt::ranges::batch));
  command->add_option("--source-length", options->sourceLength, "Models: tokens of each source")
      ->check(length);
  command->add_option("--target-length", options->targetLength, "Decoders: tokens of each output, exactly")
      ->check(length);
  command
      ->add_option("--beam,--num-beams", options->beam, "Decoders: hypotheses per sentence; 1 if not given")
      ->check(attnc::wholeIn(attnrt::ranges::beam));
  command->add_option("--entry", options->graph.entry, "Graphs: the graph to call, if there are several");
  command
      ->add_option("--sizes", options->graph.sizes,
                   "Graphs: the sizes and strides of a call, as batch=1,query=512")
      ->type_name("NAME=N")
      ->delimiter(',');
  command
      ->add_option("--values", options->graph.values,
                   "Graphs: what all elements of an input of whole numbers are, as lengths=512")
      ->type_name("NAME=N")
      ->delimiter(',');
  command->add_option("--seconds", options->seconds, "Measure for so long, and three runs at least")
      ->check(attnc::numberIn({0, 3600}))
      ->capture_default_str();
  CLI::Option *profile = command->add_flag("--profile", options->profile,
                                           "Also the time of each kernel, with its share of the machine's "
                                           "limit; decoders: the time before and of each further step");
  command->add_option("--profile-picture", options->picture, "Draw the kernels' times into this SVG file")
      ->type_name("FILE")
      ->needs(profile);
  command->add_flag("--json", options->json, "Print one object");
  command->callback([options, &exitCode] {
    exitCode = attnc::runCommand([&] {
      attnc::bench(*options);
      return 0;
    });
  });
}
