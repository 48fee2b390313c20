//===- LimitBench.cpp - what this machine can do at most --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// `LimitBench [THREADS...]` prints an object for each number of threads, which are one and one per processor
// unless said: operations per second by type, and bytes per second read from memory of several sizes, shared
// among them.

#include "attnrt/cpu.h"
#include "compiler/driver/MachineLimits.h"

#include <nlohmann/json.hpp>

#include <charconv>
#include <iostream>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

/// What limits look for, as /proc/cpuinfo names it.
std::string features() {
  std::string text;
  for (const char *name : {"avx2", "fma", "avx_vnni", "avx512f", "avx512bw", "avx512_vnni", "avx512_bf16",
                           "amx_int8", "amx_bf16"})
    if (attnrt_cpu_runs(name))
      text += std::string(" ") + name;
  return text;
}

nlohmann::ordered_json limitsOf(int threads) {
  nlohmann::ordered_json limits = {{"threads", threads}};
  const std::string all = features();
  for (const auto &[name, type] :
       {std::pair("f32", attnc::ProductType::F32), std::pair("bf16", attnc::ProductType::Bf16),
        std::pair("int8", attnc::ProductType::Int8)})
    limits["operations"][name] = attnc::productLimit(threads, type, all);
  for (size_t megabytes : {1, 4, 16, 32, 64, 144}) {
    const size_t bytes = megabytes << 20;
    limits["read"][std::to_string(bytes)] = attnc::readLimit(threads, bytes);
  }
  return limits;
}

} // namespace

int main(int argc, char **argv) {
  std::vector<int> counts = {1};
  if (const int cores = int(std::thread::hardware_concurrency()); cores > 1)
    counts.push_back(cores);
  if (argc > 1)
    counts.clear();
  for (const std::string_view text : std::span(argv + 1, argv + argc)) {
    int count = 0;
    const char *end = text.data() + text.size();
    if (const auto [rest, error] = std::from_chars(text.data(), end, count);
        error != std::errc() || rest != end || count < 1) {
      std::cerr << "LimitBench: a number of threads must be at least 1, but is '" << text << "'\n";
      return 2;
    }
    counts.push_back(count);
  }
  try {
    for (const int count : counts)
      std::cout << limitsOf(count) << std::endl;
  } catch (const std::exception &error) {
    std::cerr << "LimitBench: " << error.what() << "\n";
    return 1;
  }
}
