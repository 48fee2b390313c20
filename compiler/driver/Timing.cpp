//===- Timing.cpp - how long something takes, run again and again -------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/driver/Timing.h"

#include <algorithm>
#include <chrono>
#include <vector>

namespace attnc {

Times timeRuns(const std::function<void()> &run, double seconds) {
  using Clock = std::chrono::steady_clock;
  run();
  std::vector<double> times;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  while (times.size() < 3 || Clock::now() < end) {
    const auto start = Clock::now();
    run();
    times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
  }
  std::sort(times.begin(), times.end());
  return {times.front(), times[times.size() / 2]};
}

} // namespace attnc
