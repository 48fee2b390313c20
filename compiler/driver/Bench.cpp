//===- Bench.cpp - attnc bench: how fast a bundle is --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Times whole requests of a workload, encoder included. Graphs are called.

#include "compiler/driver/BenchGraph.h"
#include "compiler/driver/Commands.h"
#include "compiler/driver/Flags.h"
#include "compiler/driver/MachineLimits.h"
#include "compiler/driver/Profile.h"
#include "compiler/driver/Timing.h"
#include "compiler/driver/Workload.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <set>
#include <thread>

namespace attnc {
namespace {

struct BenchOptions {
  BundleOptions bundle;
  int batch = 0, sourceLength = 0, targetLength = 0, beam = 0; // 0: not given
  GraphBenchOptions graph;
  double seconds = 1;
  bool profile = false, json = false;
  std::string picture; // of the profile: an SVG file
};

using Report = nlohmann::ordered_json;

/// The kinds of bundles differ in what a call needs.
void checkFlags(const BenchOptions &options, const std::string &name, const std::string &kind) {
  enum Rule { Needs, Takes, Refuses };
  const struct {
    const char *flag;
    bool isGiven;
    Rule decoder, encoder, graph;
  } flags[] = {{"--batch", options.batch > 0, Needs, Needs, Refuses},
               {"--source-length", options.sourceLength > 0, Needs, Needs, Refuses},
               {"--target-length", options.targetLength > 0, Needs, Refuses, Refuses},
               {"--beam", options.beam > 0, Takes, Refuses, Refuses},
               {"--profile", options.profile, Takes, Takes, Refuses},
               {"--entry", !options.graph.entry.empty(), Refuses, Refuses, Takes},
               {"--sizes", !options.graph.sizes.empty(), Refuses, Refuses, Takes},
               {"--values", !options.graph.values.empty(), Refuses, Refuses, Takes}};
  const std::string bundle = "'" + name + "', whose kind is " + kind;
  for (const auto &[flag, isGiven, decoder, encoder, graph] : flags) {
    const Rule rule = kind == "graph" ? graph : kind == "encoder" ? encoder : decoder;
    if (isGiven ? rule == Refuses : rule == Needs)
      throw CLI::ValidationError(std::string(flag) + (isGiven ? " has no meaning for " : " is needed for ") +
                                 bundle);
  }
}

void printReport(const Report &report, bool json) {
  if (json) {
    std::cout << report.dump() << '\n';
    return;
  }
  for (const auto &[name, value] : report.items())
    if (name != "kernels") // a table of their own
      std::cout << name << ": " << (value.is_string() ? value.get<std::string>() : value.dump()) << '\n';
}

class Bench {
public:
  Bench(const Model &model, const BenchOptions &options)
      : options(options), model(model),
        workload(model, {options.batch, options.sourceLength, options.targetLength, options.beam,
                         options.bundle.threads}),
        manifest(workload.manifest()) {}

  /// `loading`: milliseconds.
  void run(double loading);

private:
  double sourceTime();
  Report firstRequest();
  Times measure(int length);
  std::string title() const;
  Profile profile();
  std::vector<ProductType> productsOfKernels() const;
  void setLimits(Profile &profile, const std::vector<ProductType> &products) const;

  const nlohmann::json &variant() const;
  bool isEncoder() const { return workload.isEncoder(); }

  const BenchOptions &options;
  const Model &model;
  Workload workload;
  const nlohmann::json &manifest;
};

/// What kernels of the entries that read the source took, in milliseconds.
double Bench::sourceTime() {
  uint64_t nanoseconds = 0;
  for (size_t entry = 0; entry < manifest["entries"].size(); ++entry)
    if (const std::string name = manifest["entries"][entry]["name"]; name == "encode" || name == "prefill")
      for (size_t kernel = 0; kernel < manifest["kernels"].size(); ++kernel)
        nanoseconds += workload.session().profile(entry, kernel).nanoseconds;
  return double(nanoseconds) * 1e-6;
}

/// What a process that has just loaded the bundle waits for: weights are not in its memory yet.
Report Bench::firstRequest() {
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

Times Bench::measure(int length) {
  return timeRuns([&] { workload.request(length); }, options.seconds);
}

/// The variant that runs, as the manifest describes it.
const nlohmann::json &Bench::variant() const {
  const nlohmann::json &variants = manifest["variants"];
  return *std::find_if(variants.begin(), variants.end(),
                       [&](const nlohmann::json &variant) { return variant["name"] == model.variant(); });
}

/// Weights of int8 are multiplied by every variant; products of bfloat16 are added up by those that can.
std::vector<ProductType> Bench::productsOfKernels() const {
  using Names = std::set<std::string>;
  const Names rounding = variant().value("bf16_kernels", Names()),
              bytes = manifest.value("int8_kernels", Names());
  std::vector<ProductType> products;
  for (const nlohmann::json &name : manifest["kernels"]) {
    const auto kernel = name.get<std::string>();
    products.push_back(rounding.count(kernel) ? ProductType::Bf16
                       : bytes.count(kernel)  ? ProductType::Int8
                                              : ProductType::F32);
  }
  return products;
}

/// Of all threads at once, each of which reads its part of the bytes.
void Bench::setLimits(Profile &profile, const std::vector<ProductType> &products) const {
  const std::string features = variant()["features"];
  const auto has = [&](const char *feature) { return features.find(feature) != features.npos; };
  const auto multiplies = [&](ProductType type) {
    return std::find(products.begin(), products.end(), type) != products.end();
  };
  const int lanes = has("avx512f") ? 16 : has("avx2") ? 8 : 4;
  const int threads = options.bundle.threads;
  profile.arithmeticLimit = together(threads, [&] { return arithmeticLimit(lanes); });
  const auto bytesLimit = [&] {
    return has("amx_int8")      ? tileLimit(TileType::Int8)
           : has("avx512_vnni") ? integerLimit(ByteInstructions::Avx512Vnni)
           : has("avx512bw")    ? integerLimit(ByteInstructions::Avx512)
           : has("avx_vnni")    ? integerLimit(ByteInstructions::AvxVnni)
           : has("avx2")        ? integerLimit(ByteInstructions::Avx2)
                                : 0.0;
  };
  if (multiplies(ProductType::Int8))
    profile.int8Limit = std::max(together(threads, bytesLimit), profile.arithmeticLimit);
  const auto roundedLimit = [&] {
    return has("amx_bf16") ? tileLimit(TileType::Bf16) : has("avx512_bf16") ? pairLimit() : 0.0;
  };
  if (multiplies(ProductType::Bf16))
    profile.bf16Limit = std::max(together(threads, roundedLimit), profile.arithmeticLimit);
  const size_t largest = std::max<size_t>(size_t(128) << 20, manifest["weights"]["bytes"]);
  for (size_t bytes = size_t(512) << 10; bytes <= largest; bytes *= 4) // from the second caches to memory
    profile.readLimits[double(bytes)] = together(threads, [&] { return readLimit(bytes / threads); });
}

std::string Bench::title() const {
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
Profile Bench::profile() {
  constexpr int requests = 5;
  Profile profile;
  profile.title = title();
  const std::vector<ProductType> products = productsOfKernels();
  setLimits(profile, products);
  workload.request(); // measuring limits has taken the caches
  workload.session().startProfile();
  const auto start = Clock::now();
  for (int i = 0; i < requests; ++i)
    workload.request();
  profile.milliseconds = millisecondsSince(start) / requests;
  for (size_t entry = 0; entry < manifest["entries"].size(); ++entry)
    for (size_t kernel = 0; kernel < manifest["kernels"].size(); ++kernel) {
      const attnrt_kernel_profile counts = workload.session().profile(entry, kernel);
      if (counts.calls > 0)
        profile.kernels.push_back({manifest["entries"][entry]["name"], manifest["kernels"][kernel],
                                   products[kernel], double(counts.calls) / requests,
                                   double(counts.nanoseconds) * 1e-6 / requests,
                                   double(counts.operations) / requests, double(counts.bytes) / requests});
    }
  std::stable_sort(profile.kernels.begin(), profile.kernels.end(),
                   [](const auto &a, const auto &b) { return a.milliseconds > b.milliseconds; });
  return profile;
}

const char *nameOf(ProductType type) {
  return type == ProductType::Int8 ? "int8" : type == ProductType::Bf16 ? "bf16" : "f32";
}

nlohmann::ordered_json describe(const Profile &profile) {
  nlohmann::ordered_json kernels = nlohmann::ordered_json::array();
  for (const KernelLine &line : profile.kernels)
    kernels.push_back({{"entry", line.entry},
                       {"kernel", line.kernel},
                       {"products", nameOf(line.type)},
                       {"calls", line.calls},
                       {"ms", line.milliseconds},
                       {"operations", line.operations},
                       {"bytes", line.bytes},
                       {"share_of_limit", profile.shareOfLimit(line)}});
  return kernels;
}

static std::ofstream openPicture(const std::string &path, std::ios::openmode mode = std::ios::trunc) {
  std::ofstream picture(path, mode);
  if (!picture)
    throw std::runtime_error(path + ": cannot be written");
  return picture;
}

void Bench::run(double loading) {
  if (!options.picture.empty()) // before anything is measured, which would be lost; an earlier picture stays
    openPicture(options.picture, std::ios::app);
  workload.session().startProfile();
  const Report first = firstRequest();
  workload.renewSession();
  const Times times = measure(options.targetLength);
  const double tokens = double(options.batch) * (isEncoder() ? options.sourceLength : options.targetLength);
  Report report = {{"variant", model.variant()}, {"batch", options.batch}};
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
  Profile kernels;
  if (options.profile) {
    kernels = profile();
    report["kernels"] = describe(kernels);
  }
  printReport(report, options.json);
  if (options.profile && !options.json)
    std::cout << '\n' << printProfile(kernels);
  if (!options.picture.empty() && !(openPicture(options.picture) << drawProfile(kernels)).flush())
    throw std::runtime_error(options.picture + ": cannot be written");
}

void bench(BenchOptions &options) {
  if (options.bundle.threads == 0) // one per core: the report and the limits say how many that is
    options.bundle.threads = int(std::max(1u, std::thread::hardware_concurrency()));
  const auto start = Clock::now();
  const Model model = loadBundle(options.bundle);
  const double loading = millisecondsSince(start);
  const std::string kind = nlohmann::json::parse(model.manifest())["kind"];
  checkFlags(options, model.name(), kind);
  if (kind == "graph")
    return printReport(benchGraph(model, options.graph, options.bundle.threads, options.seconds),
                       options.json);
  options.beam = std::max(options.beam, 1);
  Bench(model, options).run(loading);
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
  command->add_option("--seconds", options->seconds, "Measure for so long, and five runs at least")
      ->check(attnc::numberIn({0, 3600}))
      ->capture_default_str();
  CLI::Option *profile = command->add_flag("--profile", options->profile,
                                           "Models: also the time before and of each further step, and of "
                                           "each kernel, with its share of the machine's limit");
  command->add_option("--profile-picture", options->picture, "Draw the kernels' times into this SVG file")
      ->type_name("FILE")
      ->needs(profile);
  command->add_flag("--json", options->json, "Print one object");
  command->callback([options, &exitCode] { exitCode = attnc::runCommand([&] { attnc::bench(*options); }); });
}
