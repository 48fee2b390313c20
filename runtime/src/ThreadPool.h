//===- ThreadPool.h - threads that share the loops of kernels ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Turns parallel loops of kernels into work for a few threads. Loops inside loops run on the thread they are
// on: kernels split their outermost loop evenly, and nothing can then wait for a thread that waits itself.

#ifndef ATTNRT_SRC_THREADPOOL_H
#define ATTNRT_SRC_THREADPOOL_H

#include "attnrt/attnrt.h"

#include <atomic>
#include <memory>
#include <sys/types.h>
#include <thread>
#include <vector>

namespace attnrt {

/// One parallel loop: task(context, begin + i, closure) for i in [0, count).
struct ParallelLoop {
  attnrt_kernel_context *context;
  attnrt_task task;
  int begin, count;
  uint8_t *closure;
  bool isShared = false; // always: what one task takes says nothing of the others
};

/// Who runs parallel loops. Any number of threads may call run() at once.
class Executor {
public:
  virtual ~Executor() = default;

  /// Returns when every task has returned: 0, or the first failure (of several, any). Throws nothing: the
  /// caller is a kernel.
  int run(const ParallelLoop &loop) noexcept;

  /// How many threads work on a loop; where the host program has them, as many as there are cores for.
  virtual int threadCount() const = 0;

protected:
  /// Shared by the threads that work on one loop. Each begins with a part of its own, the same one in every
  /// loop, so that it finds in its caches what it wrote in the last one; then it helps with the others'.
  class Progress {
  public:
    Progress(const ParallelLoop &loop, int threads);
    void runTask(int index);
    /// `thread`: counts from 0, the thread that started the loop.
    /// Returns how many tasks this thread has run.
    int runAll(int thread);
    bool isExhausted() const;
    /// A failure that is no task's.
    void fail(const char *message);
    int result() const { return failure.load(); }
    int count() const { return loop.count; }

    const ParallelLoop &loop;

  private:
    /// More threads share parts.
    static constexpr int mostParts = 16;
    struct alignas(64) Part {
      std::atomic<int> next{0};
      int end = 0;
    };

    const int partCount;
    Part parts[mostParts];
    std::atomic<int> failure{0};
  };

  /// Whether other threads are not to be told of the loop.
  virtual bool isForOneThread(const ParallelLoop &) { return false; }

  /// Runs every task of `progress`, on whichever threads, or has it fail.
  virtual void share(Progress &progress) = 0;
};

/// The loops that were over, when they last were timed, before another thread would have joined. Any thread
/// may call these at once; a wrong answer costs time alone.
class ShortLoops {
public:
  bool contains(const ParallelLoop &loop);
  /// Counts a run of a loop that is here. False: it is not, or is to be timed again.
  bool takeRun(const ParallelLoop &loop);
  /// `ticks`: what the loop takes one thread.
  void note(const ParallelLoop &loop, uint64_t ticks);

private:
  static constexpr uint64_t mostRuns = 15; // without being timed: reading the clock is a part of short loops
  static constexpr int placeBits = 12;

  static uint64_t keyOf(const ParallelLoop &loop);
  std::atomic<uint64_t> &placeOf(uint64_t key) { return places[key >> (64 - placeBits)]; }

  std::atomic<uint64_t> places[1 << placeBits] = {}; // keys, whose lowest bits are the runs left
};

/// Threads of our own. Between loops they look for work for some microseconds before they sleep, because the
/// next kernel follows soon. There is no lock: loops are offered in slots. A process that was forked from the
/// pool's has none of the threads: it may destroy the pool, no more.
class ThreadPool final : public Executor {
public:
  /// `threads` counts the caller's: 1 starts none.
  explicit ThreadPool(int threads);
  ~ThreadPool() override;

  int threadCount() const override { return static_cast<int>(threads.size()) + 1; }

private:
  /// A place for a loop that others may join. Slots outlive loops: threads look into them at any time.
  struct alignas(64) Slot {
    std::atomic<bool> isTaken{false};
    std::atomic<Progress *> progress{nullptr}; // while threads may join
    std::atomic<int> visitors{0};              // threads that may be using `progress`

    /// Whether there was something to do for this thread.
    bool help(int thread);
    void awaitVisitors();
  };
  /// So many callers keep a machine busy; further ones run their loops alone.
  static constexpr int slotCount = 32;

  bool isForOneThread(const ParallelLoop &loop) override;
  void share(Progress &progress) override;
  void runTimed(Progress &progress);
  Slot *takeSlot();
  void work(int thread);

  ShortLoops shortLoops;
  Slot slots[slotCount];
  std::atomic<unsigned> published{0}; // counts loops ever offered
  std::atomic<bool> ends{false};
  std::vector<std::thread> threads;
  const pid_t process;
};

/// The caller's thread alone.
class CallersThread final : public Executor {
public:
  int threadCount() const override { return 1; }

private:
  bool isForOneThread(const ParallelLoop &) override { return true; }
  void share(Progress &progress) override { progress.runAll(0); }
};

/// A pool of a number that a user gave: 0 is one thread per core.
std::unique_ptr<Executor> makeThreadPool(int32_t threads);

/// The threads of the host program.
class HostExecutor final : public Executor {
public:
  HostExecutor(attnrt_host_run run, void *user);

  int threadCount() const override { return cores; }

private:
  void share(Progress &progress) override;

  attnrt_host_run hostRun;
  void *user;
  const int cores;
};

} // namespace attnrt

#endif // ATTNRT_SRC_THREADPOOL_H
