//===- TimedBundle.h - a bundle whose kernels are timed -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ATTNC_COMPILER_DRIVER_TIMEDBUNDLE_H
#define ATTNC_COMPILER_DRIVER_TIMEDBUNDLE_H

#include "compiler/driver/SentenceLines.h"
#include "compiler/driver/Tuner.h"

#include <nlohmann/json.hpp>

#include <memory>
#include <set>

namespace attnc {

/// What is asked of a bundle again and again.
class TimedWork {
public:
  virtual ~TimedWork() = default;
  /// Milliseconds of each kernel.
  virtual std::vector<double> time() = 0;
  /// What was computed last.
  virtual std::vector<float> outputs() = 0;
};

/// Of models requests, of graphs calls: of each batch size, or of each `--sizes`. Throws
/// CLI::ValidationError where the bundle cannot have them.
class TimedBundle {
public:
  TimedBundle(const std::string &folder, const TuneOptions &options);

  std::string variant() const { return model.variant(); }
  std::vector<std::string> kernels() const { return manifest["kernels"]; }
  /// Of the only variant.
  std::set<std::string> tunedKernels() const;

  const std::vector<std::unique_ptr<TimedWork>> &works() const { return all; }

private:
  Model model;
  nlohmann::json manifest;
  std::vector<std::unique_ptr<TimedWork>> all;
};

} // namespace attnc

#endif // ATTNC_COMPILER_DRIVER_TIMEDBUNDLE_H
