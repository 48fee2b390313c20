//===- LoopBench.cpp - what it costs to share a loop among threads ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// `LoopBench [THREADS]` (2 unless said) prints microseconds of one parallel loop, by its tasks and how long
// each of them takes: on one thread, on all of them, and what a loop without any cost would take.

#include "runtime/src/ThreadPool.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string_view>

namespace {

using Clock = std::chrono::steady_clock;

double microsecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

/// A task that takes as many microseconds as the closure says.
int spin(attnrt_kernel_context *, int, uint8_t *closure) {
  const double wanted = *reinterpret_cast<const double *>(closure);
  const Clock::time_point start = Clock::now();
  while (microsecondsSince(start) < wanted) {
  }
  return 0;
}

/// The least mean of some blocks of loops, which follow each other as those of a step do.
double timeLoop(attnrt::Executor &executor, int tasks, double taskMicroseconds) {
  const attnrt::ParallelLoop loop{nullptr, spin, 0, tasks, reinterpret_cast<uint8_t *>(&taskMicroseconds)};
  constexpr int blocks = 20, loops = 500;
  double least = 1e9;
  for (int block = 0; block < blocks; ++block) {
    const Clock::time_point start = Clock::now();
    for (int i = 0; i < loops; ++i)
      executor.run(loop);
    least = std::min(least, microsecondsSince(start) / loops);
  }
  return least;
}

void measure(int threads) {
  const std::unique_ptr<attnrt::Executor> alone = attnrt::makeThreadPool(1),
                                          together = attnrt::makeThreadPool(threads);
  std::printf("| tasks | us each | one thread | %d threads | without any cost |\n|---|---|---|---|---|\n",
              threads);
  for (int tasks : {threads, 4 * threads})
    for (double each : {0.5, 2.0, 5.0, 10.0, 20.0})
      std::printf("| %d | %.1f | %.2f | %.2f | %.2f |\n", tasks, each, timeLoop(*alone, tasks, each),
                  timeLoop(*together, tasks, each), tasks * each / threads);
}

} // namespace

int main(int argc, char **argv) {
  int threads = 2;
  const std::string_view given = argc > 1 ? argv[1] : "2";
  const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), threads);
  if (argc > 2 || error != std::errc() || end != given.data() + given.size() || threads < 2 ||
      threads > 256) {
    std::fprintf(stderr, "usage: LoopBench [THREADS], from 2 to 256\n");
    return 2;
  }
  measure(threads);
  return 0;
}
