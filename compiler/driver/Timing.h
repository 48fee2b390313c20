//===- Timing.h - how long something takes, run again and again ---------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ATTNC_COMPILER_DRIVER_TIMING_H
#define ATTNC_COMPILER_DRIVER_TIMING_H

#include <chrono>
#include <functional>

namespace attnc {

using Clock = std::chrono::steady_clock;

inline double millisecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

struct Times {
  double minimum = 0, median = 0; // milliseconds
};

/// One run to warm up, then at least three, until `seconds` are over or millions of runs.
Times timeRuns(const std::function<void()> &run, double seconds);

} // namespace attnc

#endif // ATTNC_COMPILER_DRIVER_TIMING_H
