//===- Tuner.h - times schedules beside those of rules ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Compiles a spec with other schedules and times its kernels beside those that rules schedule, in the same
// requests, by turns. A graph's request is a call.

#ifndef ATTNC_COMPILER_DRIVER_TUNER_H
#define ATTNC_COMPILER_DRIVER_TUNER_H

#include "compiler/driver/Frontend.h"
#include "compiler/driver/GraphWorkload.h"

#include <string>
#include <vector>

namespace attnc {

struct TuneOptions {
  std::string spec, target = "host", dtype, weights; // as `attnc compile` takes them
  std::string cache;                                 // alike; empty: one for this run alone
  std::string output;                                // the file of schedules
  double minutes = 10;
  std::vector<int> batches;                                      // of models: one request of each
  int sourceLength = 0, targetLength = 0, beam = 0, threads = 0; // of each; 0: not given
  std::vector<GraphCallOptions> calls;                           // of graphs
};

/// Writes what is faster for the kernels of a planned spec to the file of schedules, and tells on stdout what
/// that is. The exit code; what goes wrong is on stderr, or thrown.
int tuneKernels(Frontend &planned, const TuneOptions &options);

} // namespace attnc

#endif // ATTNC_COMPILER_DRIVER_TUNER_H
