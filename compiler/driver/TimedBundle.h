//===- TimedBundle.h - a bundle whose kernels are timed -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Loads a bundle and asks for the same things again and again, and for how long each kernel took.

#ifndef ATTNC_COMPILER_DRIVER_TIMEDBUNDLE_H
#define ATTNC_COMPILER_DRIVER_TIMEDBUNDLE_H

#include "compiler/driver/BundleCommand.h"
#include "compiler/driver/Tuner.h"

#include <nlohmann/json.hpp>

#include <memory>
#include <set>

namespace attnc {

/// What is asked of a bundle again and again.
class TimedWorkload {
public:
  virtual ~TimedWorkload() = default;
  /// Milliseconds of each kernel.
  virtual std::vector<double> time() = 0;
  /// What was computed last.
  virtual std::vector<float> outputs() = 0;
};

/// With a workload for each batch size, or each `--sizes` of a graph. Throws CLI::ValidationError where the
/// bundle cannot have them.
class TimedBundle {
public:
  TimedBundle(const std::string &folder, const TuneOptions &options);
  TimedBundle(const TimedBundle &) = delete; // workloads hold its model

  std::string variant() const { return model.variant(); }
  std::vector<std::string> kernels() const { return manifest["kernels"]; }
  /// Of the only variant.
  std::set<std::string> tunedKernels() const;

  const std::vector<std::unique_ptr<TimedWorkload>> &workloads() const { return all; }

private:
  Model model;
  nlohmann::json manifest;
  std::vector<std::unique_ptr<TimedWorkload>> all;
};

} // namespace attnc

#endif // ATTNC_COMPILER_DRIVER_TIMEDBUNDLE_H
