//===- Timing.cpp - how long something takes, run again and again -------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/driver/Timing.h"

#include <algorithm>
#include <vector>

namespace attnc {

constexpr size_t MostRuns = 1 << 24; // whose times are 128 MiB

Times timeRuns(const std::function<void()> &run, double seconds) {
  run();
  std::vector<double> times;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  while (times.size() < 3 || (Clock::now() < end && times.size() < MostRuns)) {
    const auto start = Clock::now();
    run();
    times.push_back(millisecondsSince(start));
  }
  std::sort(times.begin(), times.end());
  return {times.front(), times[times.size() / 2]};
}

} // namespace attnc
