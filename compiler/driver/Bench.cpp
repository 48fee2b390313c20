//===- Bench.cpp - attnc bench: how fast a bundle decodes ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Decodes made-up sources to outputs of exactly the wanted length (the end token is suppressed) and times
// whole requests, encoder included.

#include "compiler/driver/Commands.h"
#include "compiler/driver/Flags.h"
#include "compiler/driver/MachineLimits.h"
#include "compiler/driver/Profile.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>
#include <random>
#include <thread>

namespace attnc {
namespace {

struct BenchOptions {
  BundleOptions bundle;
  int batch = 1, sourceLength = 32, targetLength = 32, beam = 1;
  bool profile = false, json = false;
  std::string picture; // of the profile: an SVG file
};

struct Times {
  double minimum = 0, median = 0; // milliseconds
};

class Bench {
public:
  explicit Bench(const BenchOptions &options)
      : options(options), model(loadDecoder(options.bundle, "bench")),
        manifest(nlohmann::json::parse(model.manifest())), sources(makeSources()),
        session(model, makeCapacity()) {}

  void run();

private:
  std::vector<Ids> makeSources() const;
  attnrt_session_options makeCapacity() const;
  void decodeOnce(int length);
  Times measure(int length);
  Profile profile();
  void setLimits(Profile &profile) const;

  const BenchOptions &options;
  Model model;
  nlohmann::json manifest;
  std::vector<Ids> sources;
  Session session;
};

std::vector<Ids> Bench::makeSources() const {
  const int32_t vocabulary = manifest["vocabulary"]["source"];
  std::mt19937 random(1); // the same sources on each run
  std::uniform_int_distribution<int32_t> anyId(0, vocabulary - 1);
  std::vector<Ids> all(options.batch, Ids(options.sourceLength));
  for (Ids &ids : all)
    for (int32_t &id : ids)
      id = anyId(random);
  return all;
}

attnrt_session_options Bench::makeCapacity() const {
  attnrt_session_options capacity = model.sessionOptions();
  capacity.batch = options.batch;
  capacity.beam = options.beam;
  capacity.source = options.sourceLength;
  capacity.target = options.targetLength;
  capacity.uses = ATTNRT_USE_DECODE | ATTNRT_USE_SAMPLE | ATTNRT_USE_ATTEND; // what the bundle's rules need
  capacity.threads = options.bundle.threads;
  return capacity;
}

void Bench::decodeOnce(int length) {
  attnrt_decode_options decoding = model.decodeOptions();
  decoding.beam = options.beam;
  decoding.n_best = decoding.num_beam_groups = 1;
  decoding.sample = decoding.return_alternatives = 0;
  decoding.diversity_penalty = 0;
  decoding.forced_eos_token_id = -1; // or the last token would be the end token
  decoding.min_length = decoding.max_length = length;
  const auto results = session.decode(sources, decoding);
  for (const auto &nBest : results)
    if (nBest.empty() || nBest.front().ids.size() != static_cast<size_t>(length))
      throw std::runtime_error("an output has not the wanted length: the model gives no other tokens");
}

/// One run to warm up, then at least five and at least a second.
Times Bench::measure(int length) {
  using Clock = std::chrono::steady_clock;
  decodeOnce(length);
  std::vector<double> times;
  const auto begin = Clock::now();
  while (times.size() < 5 || Clock::now() - begin < std::chrono::seconds(1)) {
    const auto start = Clock::now();
    decodeOnce(length);
    times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
  }
  std::sort(times.begin(), times.end());
  return {times.front(), times[times.size() / 2]};
}

/// Limits of one core, as many times as there are threads.
void Bench::setLimits(Profile &profile) const {
  std::string features;
  for (const nlohmann::json &variant : manifest["variants"])
    if (variant["name"] == model.variant())
      features = variant["features"];
  const int lanes = features.find("avx512f") != features.npos ? 16
                    : features.find("avx2") != features.npos  ? 8
                                                              : 4;
  profile.arithmeticLimit = options.bundle.threads * arithmeticLimit(lanes);
  profile.readLimit =
      options.bundle.threads * readLimit(std::max<size_t>(size_t(64) << 20, manifest["weights"]["bytes"]));
}

/// The mean of some requests.
Profile Bench::profile() {
  constexpr int requests = 5;
  Profile profile;
  profile.title = std::string(model.name()) + ", " + model.variant() + ", batch " +
                  std::to_string(options.batch) + ", beam " + std::to_string(options.beam) + ", " +
                  std::to_string(options.sourceLength) + " to " + std::to_string(options.targetLength) +
                  " tokens, threads " + std::to_string(options.bundle.threads);
  setLimits(profile);
  session.startProfile();
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < requests; ++i)
    decodeOnce(options.targetLength);
  profile.milliseconds =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count() / requests;
  for (size_t entry = 0; entry < manifest["entries"].size(); ++entry)
    for (size_t kernel = 0; kernel < manifest["kernels"].size(); ++kernel) {
      const attnrt_kernel_profile counts = session.profile(entry, kernel);
      if (counts.calls > 0)
        profile.kernels.push_back({manifest["entries"][entry]["name"], manifest["kernels"][kernel],
                                   double(counts.calls) / requests,
                                   double(counts.nanoseconds) * 1e-6 / requests,
                                   double(counts.operations) / requests, double(counts.bytes) / requests});
    }
  std::stable_sort(profile.kernels.begin(), profile.kernels.end(),
                   [](const auto &a, const auto &b) { return a.milliseconds > b.milliseconds; });
  return profile;
}

nlohmann::ordered_json describe(const Profile &profile) {
  nlohmann::ordered_json kernels = nlohmann::ordered_json::array();
  for (const KernelLine &line : profile.kernels)
    kernels.push_back({{"entry", line.entry},
                       {"kernel", line.kernel},
                       {"calls", line.calls},
                       {"ms", line.milliseconds},
                       {"operations", line.operations},
                       {"bytes", line.bytes},
                       {"share_of_limit", profile.shareOfLimit(line)}});
  return kernels;
}

void Bench::run() {
  const Times times = measure(options.targetLength);
  const double tokens = double(options.batch) * options.targetLength;
  nlohmann::ordered_json report = {{"variant", model.variant()},
                                   {"batch", options.batch},
                                   {"beam", options.beam},
                                   {"source_length", options.sourceLength},
                                   {"target_length", options.targetLength},
                                   {"threads", options.bundle.threads},
                                   {"tokens_per_second", tokens / times.median * 1000},
                                   {"ms_minimum", times.minimum},
                                   {"ms_median", times.median},
                                   {"arena_bytes", session.arenaBytes()},
                                   {"state_bytes", session.stateBytes()},
                                   {"weight_bytes", manifest["weights"]["bytes"]}};
  if (options.profile && options.targetLength > 1) {
    const Times first = measure(1);
    report["ms_encode_and_first_step"] = first.median;
    report["ms_each_further_step"] = (times.median - first.median) / (options.targetLength - 1);
  }
  Profile kernels;
  if (options.profile) {
    kernels = profile();
    report["kernels"] = describe(kernels);
  }
  if (!options.picture.empty() && !(std::ofstream(options.picture) << drawProfile(kernels)).flush())
    throw std::runtime_error(options.picture + ": cannot be written");
  if (options.json) {
    std::cout << report.dump() << '\n';
    return;
  }
  report.erase("kernels");
  for (const auto &[name, value] : report.items())
    std::cout << name << ": " << (value.is_string() ? value.get<std::string>() : value.dump()) << '\n';
  if (options.profile)
    std::cout << '\n' << printProfile(kernels);
}

} // namespace
} // namespace attnc

void addBenchCommand(CLI::App &app, int &exitCode) {
  auto options = std::make_shared<attnc::BenchOptions>();
  CLI::App *command =
      app.add_subcommand("bench", "Time decoding: tokens/s and ms (minimum and median) of whole requests");
  attnc::addBundleFlags(*command, options->bundle, "Options");
  const auto length = attnc::wholeIn({1, 1 << 20});
  command->add_option("--batch", options->batch, "Sentences at once")->required()->check(length);
  command->add_option("--source-length", options->sourceLength, "Tokens of each source")
      ->required()
      ->check(length);
  command->add_option("--target-length", options->targetLength, "Tokens of each output, exactly")
      ->required()
      ->check(length);
  command->add_option("--beam", options->beam, "Hypotheses per sentence")
      ->check(attnc::wholeIn(attnrt::ranges::beam));
  CLI::Option *profile = command->add_flag("--profile", options->profile,
                                           "Also the time before and of each further step, and of each "
                                           "kernel, with its share of the machine's limit");
  command->add_option("--profile-picture", options->picture, "Draw the kernels' times into this SVG file")
      ->type_name("FILE")
      ->needs(profile);
  command->add_flag("--json", options->json, "Print one object");
  command->callback([options, &exitCode] {
    if (options->bundle.threads == 0) // one per core: the report and the limits say how many that is
      options->bundle.threads = int(std::max(1u, std::thread::hardware_concurrency()));
    exitCode = attnc::runCommand([&] { attnc::Bench(*options).run(); });
  });
}
