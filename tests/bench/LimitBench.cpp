//===- LimitBench.cpp - what this machine can do at most --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// `LimitBench [THREADS...]` prints an object for each number of threads, which are one and one per core
// unless said: operations per second by type, and bytes per second read from memory of several sizes, shared
// among them.

#include "compiler/driver/MachineLimits.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <iostream>
#include <span>
#include <string_view>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

int lanes() { return __builtin_cpu_supports("avx512f") ? 16 : __builtin_cpu_supports("fma") ? 8 : 4; }

/// Whether the machine has matrix instructions of a type, and the system lets this process use them.
bool hasTiles(attnc::TileType type) {
  constexpr long requestPermission = 0x1023, tileData = 18; // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  const bool has =
      type == attnc::TileType::Int8 ? __builtin_cpu_supports("amx-int8") : __builtin_cpu_supports("amx-bf16");
  return has && syscall(SYS_arch_prctl, requestPermission, tileData) == 0;
}

/// Of the fastest instructions that multiply this type; numbers of other types are turned into floats.
double typeLimit(attnc::TileType type) {
  if (hasTiles(type))
    return attnc::tileLimit(type);
  double limit = attnc::arithmeticLimit(lanes());
  if (type == attnc::TileType::Bf16)
    return __builtin_cpu_supports("avx512bf16") ? std::max(limit, attnc::pairLimit()) : limit;
  if (__builtin_cpu_supports("avx512vnni"))
    return attnc::integerLimit(attnc::ByteInstructions::Avx512Vnni);
  if (__builtin_cpu_supports("avx512bw"))
    return attnc::integerLimit(attnc::ByteInstructions::Avx512);
  if (__builtin_cpu_supports("avxvnni"))
    return attnc::integerLimit(attnc::ByteInstructions::AvxVnni);
  return __builtin_cpu_supports("avx2") ? std::max(limit, attnc::integerLimit(attnc::ByteInstructions::Avx2))
                                        : limit;
}

nlohmann::ordered_json limitsOf(int threads) {
  nlohmann::ordered_json limits = {{"threads", threads}};
  limits["operations"]["f32"] = attnc::together(threads, [] { return attnc::arithmeticLimit(lanes()); });
  limits["operations"]["bf16"] = attnc::together(threads, [] { return typeLimit(attnc::TileType::Bf16); });
  limits["operations"]["int8"] = attnc::together(threads, [] { return typeLimit(attnc::TileType::Int8); });
  for (size_t megabytes : {1, 4, 16, 32, 64, 144}) {
    const size_t bytes = megabytes << 20;
    limits["read"][std::to_string(bytes)] =
        attnc::together(threads, [=] { return attnc::readLimit(bytes / threads); });
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
  for (const int count : counts)
    std::cout << limitsOf(count) << std::endl;
}
