//===- TimedBundle.cpp - a bundle whose kernels are timed ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/driver/TimedBundle.h"

#include "compiler/driver/Workload.h"

#include <algorithm>
#include <limits>

namespace attnc {
namespace {

constexpr double MillisecondsPerNanosecond = 1e-6;

class TimedRequest : public TimedWorkload {
public:
  TimedRequest(const Model &model, const WorkloadSizes &sizes) : workload(model, sizes) {}

  std::vector<double> time() override {
    Session &session = workload.session();
    session.startProfile();
    workload.request();
    const size_t entries = workload.manifest()["entries"].size();
    std::vector<double> times(workload.manifest()["kernels"].size());
    for (size_t kernel = 0; kernel < times.size(); ++kernel)
      for (size_t entry = 0; entry < entries; ++entry)
        times[kernel] += double(session.profile(entry, kernel).nanoseconds) * MillisecondsPerNanosecond;
    return times;
  }

  std::vector<float> outputs() override { return workload.outputs(); }

private:
  Workload workload;
};

/// A call may be so short that an interrupt doubles its time: of many the fastest counts, kernel by kernel.
class TimedCall : public TimedWorkload {
public:
  TimedCall(const Model &model, const GraphCallOptions &options, int threads, size_t kernels)
      : workload(model, options, threads), kernels(kernels) {}

  std::vector<double> time() override {
    constexpr double enough = 20; // milliseconds
    std::vector<double> times(kernels, std::numeric_limits<double>::infinity());
    const auto start = Clock::now();
    do {
      std::vector<attnrt_kernel_profile> counts(kernels);
      workload.profile(counts);
      for (size_t kernel = 0; kernel < kernels; ++kernel)
        times[kernel] =
            std::min(times[kernel], double(counts[kernel].nanoseconds) * MillisecondsPerNanosecond);
    } while (millisecondsSince(start) < enough);
    return times;
  }

  std::vector<float> outputs() override { return workload.outputs(); }

private:
  GraphWorkload workload;
  size_t kernels;
};

Model load(const std::string &folder) {
  BundleOptions bundle;
  bundle.folder = folder;
  return loadBundle(bundle);
}

} // namespace

TimedBundle::TimedBundle(const std::string &folder, const TuneOptions &options)
    : model(load(folder)), manifest(nlohmann::json::parse(model.manifest())) {
  if (manifest["kind"] == "graph")
    for (const GraphCallOptions &call : options.calls)
      all.push_back(std::make_unique<TimedCall>(model, call, options.threads, kernels().size()));
  else
    for (int batch : options.batches)
      all.push_back(std::make_unique<TimedRequest>(
          model,
          WorkloadSizes{batch, options.sourceLength, options.targetLength, options.beam, options.threads}));
}

std::set<std::string> TimedBundle::tunedKernels() const {
  return manifest["variants"][0].value("tuned_kernels", std::set<std::string>());
}

} // namespace attnc
