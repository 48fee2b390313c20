//===- ThreadPool.cpp - threads that share the loops of kernels --------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ThreadPool.h"
#include "Cores.h"
#include "Failure.h"
#include "attnrt/ranges.hpp"

#include <algorithm>
#include <chrono>
#include <unistd.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace attnrt {
namespace {

/// Loops started from inside a task run serially; this thread is inside one.
thread_local bool isInTask = false;

/// About 10 to 50 microseconds of polling, by processor: longer than the pause between two kernels of a step,
/// shorter than anyone notices.
constexpr int spins = 1000;

void pause() {
#if defined(__x86_64__)
  _mm_pause();
#else
  std::this_thread::yield();
#endif
}

/// A clock that is read in a few nanoseconds.
uint64_t ticks() {
#if defined(__x86_64__)
  return __rdtsc();
#else
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}

/// 2 to 4 microseconds of a processor's ticks: about what it costs until a thread that looks for work joins,
/// and this one knows that it is done.
constexpr uint64_t shortTicks = 8192;

template <typename Condition> bool spinUntil(Condition holds) {
  for (int i = 0; i < spins; ++i) {
    if (holds())
      return true;
    pause();
  }
  return false;
}

int failWith(const ParallelLoop &loop, const char *message) {
  if (loop.context)
    loop.context->report_error(loop.context, message);
  return -1;
}

/// A task is C code, but a C++ host may let an exception out of one: no thread may die of it.
int runGuarded(const ParallelLoop &loop, int index) {
  try {
    return loop.task(loop.context, loop.begin + index, loop.closure);
  } catch (...) {
    return failWith(loop, "a task of a parallel loop threw an exception");
  }
}

/// All tasks on this thread.
int runAlone(const ParallelLoop &loop) {
  const bool wasInTask = isInTask;
  isInTask = true;
  int failure = 0;
  for (int index = 0; index < loop.count; ++index)
    if (const int result = runGuarded(loop, index); failure == 0)
      failure = result;
  isInTask = wasInTask;
  return failure;
}

} // namespace

void Executor::Progress::runTask(int index) {
  const bool wasInTask = isInTask;
  isInTask = true;
  if (const int result = runGuarded(loop, index)) {
    int none = 0;
    failure.compare_exchange_strong(none, result);
  }
  isInTask = wasInTask;
}

Executor::Progress::Progress(const ParallelLoop &loop, int threads)
    : loop(loop), partCount(std::clamp(std::min(threads, loop.count), 1, mostParts)) {
  for (int part = 0; part < partCount; ++part) {
    parts[part].next = static_cast<int>(int64_t{loop.count} * part / partCount);
    parts[part].end = static_cast<int>(int64_t{loop.count} * (part + 1) / partCount);
  }
}

int Executor::Progress::runAll(int thread) {
  int ran = 0;
  for (int turn = 0; turn < partCount; ++turn) {
    Part &part = parts[(thread + turn) % partCount];
    for (int index; (index = part.next.fetch_add(1, std::memory_order_relaxed)) < part.end; ++ran)
      runTask(index);
  }
  return ran;
}

bool Executor::Progress::isExhausted() const {
  return std::all_of(parts, parts + partCount,
                     [](const Part &part) { return part.next.load(std::memory_order_relaxed) >= part.end; });
}

void Executor::Progress::fail(const char *message) { failure = failWith(loop, message); }

int Executor::run(const ParallelLoop &loop) noexcept {
  if (loop.count <= 1 || isInTask || isForOneThread(loop))
    return runAlone(loop);
  Progress progress(loop, threadCount());
  try {
    share(progress);
  } catch (...) {
    progress.fail("the host's pool threw an exception");
  }
  return progress.result();
}

/// Loops are told apart by their code and their number of tasks, which grows with most sizes.
uint64_t ShortLoops::keyOf(const ParallelLoop &loop) {
  const uint64_t name = reinterpret_cast<uintptr_t>(loop.task) + (static_cast<uint64_t>(loop.count) << 48);
  return name * 0x9e3779b97f4a7c15 & ~mostRuns; // Fibonacci hashing: the upper bits are the best
}

bool ShortLoops::contains(const ParallelLoop &loop) {
  const uint64_t key = keyOf(loop);
  return (placeOf(key).load(std::memory_order_relaxed) ^ key) <= mostRuns;
}

bool ShortLoops::takeRun(const ParallelLoop &loop) {
  const uint64_t key = keyOf(loop);
  const uint64_t runs = placeOf(key).load(std::memory_order_relaxed) ^ key;
  if (runs == 0 || runs > mostRuns)
    return false;
  placeOf(key).store(key | (runs - 1), std::memory_order_relaxed);
  return true;
}

void ShortLoops::note(const ParallelLoop &loop, uint64_t ticks) {
  const uint64_t key = keyOf(loop);
  if (ticks < shortTicks)
    placeOf(key).store(key | mostRuns, std::memory_order_relaxed);
  else if (contains(loop)) // or it would drive out another one
    placeOf(key).store(0, std::memory_order_relaxed);
}

ThreadPool::ThreadPool(int count) : process(getpid()) {
  threads.reserve(count > 1 ? count - 1 : 0);
  try {
    for (int i = 1; i < count; ++i)
      threads.emplace_back([this, i] { work(i); });
  } catch (const std::exception &) {
    // The system has no more threads, or no memory: those that started do the work, or the caller alone.
  }
}

ThreadPool::~ThreadPool() {
  if (getpid() != process) { // the handles are of threads that are not here, or have become those of others
    new std::vector<std::thread>(std::move(threads));
    return;
  }
  ends.store(true);
  ++published;
  published.notify_all();
  for (std::thread &thread : threads)
    thread.join();
}

bool ThreadPool::isForOneThread(const ParallelLoop &loop) {
  return threads.empty() || (!loop.isShared && shortLoops.takeRun(loop));
}

void ThreadPool::share(Progress &progress) {
  const bool isShort = !progress.loop.isShared && shortLoops.contains(progress.loop);
  Slot *slot = isShort ? nullptr : takeSlot();
  if (!slot) {
    runTimed(progress);
    return;
  }
  slot->progress.store(&progress);
  ++published;
  if (progress.count() == 2)
    published.notify_one();
  else
    published.notify_all();
  runTimed(progress);
  slot->progress.store(nullptr); // from here on no thread joins
  slot->awaitVisitors();
  slot->isTaken.store(false, std::memory_order_release);
}

/// What the caller has run tells how long one thread takes for the whole loop.
void ThreadPool::runTimed(Progress &progress) {
  const uint64_t start = ticks();
  const int ran = progress.runAll(0);
  if (ran > 0 && !progress.loop.isShared)
    shortLoops.note(progress.loop, (ticks() - start) * progress.count() / ran);
}

ThreadPool::Slot *ThreadPool::takeSlot() {
  for (Slot &slot : slots)
    if (!slot.isTaken.load(std::memory_order_relaxed) &&
        !slot.isTaken.exchange(true, std::memory_order_acquire))
      return &slot;
  return nullptr;
}

bool ThreadPool::Slot::help(int thread) {
  if (!progress.load(std::memory_order_relaxed))
    return false;
  // One order of all four accesses: the owner, who empties the slot and then counts visitors, sees this one,
  // or this one sees an empty slot.
  ++visitors;
  Progress *found = progress.load();
  const bool hasTasks = found && !found->isExhausted();
  if (hasTasks)
    found->runAll(thread);
  if (--visitors == 0)
    visitors.notify_one();
  return hasTasks;
}

void ThreadPool::Slot::awaitVisitors() {
  while (const int count = visitors.load())
    if (!spinUntil([&] { return visitors.load(std::memory_order_relaxed) == 0; }))
      visitors.wait(count);
}

void ThreadPool::work(int thread) {
  while (true) {
    const unsigned seen = published.load(); // before looking: what comes later, also the end, ends the sleep
    if (ends.load())
      return;
    bool helped = false;
    for (Slot &slot : slots)
      helped |= slot.help(thread);
    if (!helped && !spinUntil([&] { return published.load(std::memory_order_relaxed) != seen; }))
      published.wait(seen);
  }
}

std::unique_ptr<Executor> makeThreadPool(int32_t threads) {
  check(ranges::threads.holds(threads), ATTNRT_OUT_OF_RANGE, "the number of threads must be from 0 to ",
        ranges::threads.high, ", but is ", threads);
  return std::make_unique<ThreadPool>(threads == 0 ? countCores() : threads);
}

HostExecutor::HostExecutor(attnrt_host_run run, void *user) : hostRun(run), user(user), cores(countCores()) {}

void HostExecutor::share(Progress &progress) {
  struct Loop {
    Progress &progress;
    std::atomic<int> ran{0};
  } loop{progress};
  const auto runOne = [](void *closure, int32_t index) {
    auto &loop = *static_cast<Loop *>(closure);
    if (index < 0 || index >= loop.progress.count())
      return;
    loop.progress.runTask(index);
    ++loop.ran;
  };
  hostRun(user, progress.count(), runOne, &loop);
  if (loop.ran != progress.count())
    progress.fail("the host's pool did not run as many tasks as there are");
}

} // namespace attnrt
