//===- LimitBench.cpp - what this machine can do at most --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// `LimitBench [THREADS...]` prints an object for each number of threads, which are one and one per processor
// unless said: operations per second by type, and bytes per second read from memory of several sizes, shared
// among them.

#include "compiler/driver/MachineLimits.h"

#include <nlohmann/json.hpp>

#include <charconv>
#include <iostream>
#include <span>
#include <string>
#include <string_view>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

/// Whether the system lets this process use matrix instructions.
bool mayUseTiles() {
  constexpr long requestPermission = 0x1023, tileData = 18; // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, requestPermission, tileData) == 0;
}

/// What limits look for, as /proc/cpuinfo names it.
std::string features() {
  std::string text;
  const auto add = [&](bool has, const char *name) { text += has ? std::string(" ") + name : ""; };
  add(__builtin_cpu_supports("avx2"), "avx2");
  add(__builtin_cpu_supports("fma"), "fma");
  add(__builtin_cpu_supports("avxvnni"), "avx_vnni");
  add(__builtin_cpu_supports("avx512f"), "avx512f");
  add(__builtin_cpu_supports("avx512bw"), "avx512bw");
  add(__builtin_cpu_supports("avx512vnni"), "avx512_vnni");
  add(__builtin_cpu_supports("avx512bf16"), "avx512_bf16");
  add(__builtin_cpu_supports("amx-int8") && mayUseTiles(), "amx_int8");
  add(__builtin_cpu_supports("amx-bf16") && mayUseTiles(), "amx_bf16");
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
