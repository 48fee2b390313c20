//===- LimitBench.cpp - what this machine can do at most --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Prints an object for one core and one for all of them at once: operations per second by type, and bytes per
// second read from memory of several sizes, shared among the cores.

#include "compiler/driver/MachineLimits.h"

#include <nlohmann/json.hpp>

#include <functional>
#include <iostream>
#include <numeric>
#include <thread>
#include <vector>

namespace {

/// The sum of what `threads` cores reach when all measure at once.
double together(unsigned threads, const std::function<double()> &limit) {
  std::vector<double> rates(threads);
  std::vector<std::thread> running;
  for (double &rate : rates)
    running.emplace_back([&] { rate = limit(); });
  for (std::thread &thread : running)
    thread.join();
  return std::accumulate(rates.begin(), rates.end(), 0.0);
}

int lanes() { return __builtin_cpu_supports("avx512f") ? 16 : __builtin_cpu_supports("fma") ? 8 : 4; }

nlohmann::ordered_json limitsOf(unsigned threads) {
  nlohmann::ordered_json limits = {{"threads", threads}};
  limits["operations"]["f32"] = together(threads, [] { return attnc::arithmeticLimit(lanes()); });
  for (size_t megabytes : {1, 4, 16, 32, 64, 144}) {
    const size_t bytes = megabytes << 20;
    limits["read"][std::to_string(bytes)] =
        together(threads, [=] { return attnc::readLimit(bytes / threads); });
  }
  return limits;
}

} // namespace

int main() {
  const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  std::cout << limitsOf(1) << std::endl;
  if (cores > 1)
    std::cout << limitsOf(cores) << std::endl;
}
