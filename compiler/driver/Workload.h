//===- Workload.h - requests to measure ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ATTNC_COMPILER_DRIVER_WORKLOAD_H
#define ATTNC_COMPILER_DRIVER_WORKLOAD_H

#include "compiler/driver/BundleCommand.h"
#include "compiler/driver/Timing.h"

#include <nlohmann/json.hpp>

namespace attnc {

/// When the first sentence's tokens came, in milliseconds since the request began.
struct TokenTimes {
  Clock::time_point start = Clock::now();
  std::vector<double> times;
};

struct WorkloadSizes {
  int batch = 0, sourceLength = 0, targetLength = 0, beam = 1, threads = 1;
};

/// Decodes made-up sources, the same on each run, to outputs of exactly the wanted length (the end token is
/// suppressed). Encoders that stand alone encode. Throws CLI::ValidationError where the model cannot have
/// such lengths.
class Workload {
public:
  Workload(const Model &model, const WorkloadSizes &sizes);

  void request() { request(sizes.targetLength); }
  /// Of outputs of `length` tokens. Writes to `tokens`, where it is given, what a search of one hypothesis
  /// tells.
  void request(int length, TokenTimes *tokens = nullptr);

  Session &session() { return current; }
  /// A new session, without a profile.
  void renewSession() { current = makeSession(); }

  bool isEncoder() const { return model.width() > 0; }
  const nlohmann::json &manifest() const { return description; }

  /// What the last request gave: hidden states, or tokens and their log-probabilities.
  std::vector<float> outputs() const;

private:
  std::vector<Ids> makeSources() const;
  Session makeSession() const;
  void decode(int length, TokenTimes *tokens);
  void encode();

  const Model &model;
  WorkloadSizes sizes;
  nlohmann::json description;
  Session current; // which refuses sizes before sources of them are made
  std::vector<Ids> sources;
  std::vector<float> hidden; // batch x source x width
  std::vector<std::vector<attnrt::api::Hypothesis>> hypotheses;
};

} // namespace attnc

#endif // ATTNC_COMPILER_DRIVER_WORKLOAD_H
