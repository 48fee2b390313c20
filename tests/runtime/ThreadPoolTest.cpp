//===- ThreadPoolTest.cpp - parallel loops ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "runtime/src/ThreadPool.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace attnrt;

/// A loop over `body(index)`.
template <typename Body> int runLoop(Executor &executor, int begin, int count, Body body) {
  const auto task = [](attnrt_kernel_context *, int index, uint8_t *closure) {
    return (*reinterpret_cast<Body *>(closure))(index);
  };
  return executor.run({nullptr, task, begin, count, reinterpret_cast<uint8_t *>(&body)});
}

TEST(ThreadPool, EveryIndexRunsOnce) {
  for (const int threads : {1, 2, 5, 20}) { // of 20, some share a part
    ThreadPool pool(threads);
    for (const int count : {0, 1, 2, 3, 17, 100}) {
      std::vector<std::atomic<int>> runs(count);
      EXPECT_EQ(0, runLoop(pool, 7, count, [&](int i) { return ++runs[i - 7], 0; }));
      for (const auto &number : runs)
        EXPECT_EQ(1, number);
    }
  }
}

/// False where that takes ten seconds: a test that waits for another thread fails then, and does not hang.
bool isSetSoon(const std::atomic<bool> &flag) {
  const auto start = std::chrono::steady_clock::now();
  while (!flag && std::chrono::steady_clock::now() - start < std::chrono::seconds(10))
    std::this_thread::yield();
  return flag;
}

/// What a thread wrote in one loop lies in its caches in the next. Loops of a number of tasks that was never
/// seen are not known to be short.
TEST(ThreadPool, ThreadsBeginWithTheirOwnPart) {
  ThreadPool pool(2);
  const auto caller = std::this_thread::get_id();
  for (int count = 2; count < 100; ++count) {
    std::atomic<int> firstOfOther{-1};
    std::atomic<bool> hasOtherBegun{false};
    runLoop(pool, 0, count, [&](int i) {
      int none = -1;
      if (std::this_thread::get_id() != caller) {
        firstOfOther.compare_exchange_strong(none, i);
        hasOtherBegun = true;
      }
      return i == 0 && !isSetSoon(hasOtherBegun) ? 1 : 0; // the caller waits in its first task
    });
    ASSERT_EQ(count / 2, firstOfOther);
  }
}

int doNothing(attnrt_kernel_context *, int, uint8_t *) { return 0; }

TEST(ShortLoops, AreToldApartByTaskAndCount) {
  ShortLoops shortLoops;
  const ParallelLoop loop{nullptr, doNothing, 0, 8, nullptr}, longer{nullptr, doNothing, 0, 9, nullptr};
  EXPECT_FALSE(shortLoops.contains(loop));
  shortLoops.note(loop, 100);
  EXPECT_TRUE(shortLoops.contains(loop));
  EXPECT_FALSE(shortLoops.contains(longer));
}

TEST(ShortLoops, AreTimedNowAndThen) {
  ShortLoops shortLoops;
  const ParallelLoop loop{nullptr, doNothing, 0, 8, nullptr};
  EXPECT_FALSE(shortLoops.takeRun(loop));
  shortLoops.note(loop, 100);
  int runs = 0;
  while (shortLoops.takeRun(loop))
    ++runs;
  EXPECT_GT(runs, 0);
  EXPECT_TRUE(shortLoops.contains(loop));
}

TEST(ShortLoops, LoseALoopThatHasBecomeLong) {
  ShortLoops shortLoops;
  const ParallelLoop loop{nullptr, doNothing, 0, 8, nullptr};
  shortLoops.note(loop, 100);
  shortLoops.note(loop, 1000000);
  EXPECT_FALSE(shortLoops.contains(loop));
  EXPECT_FALSE(shortLoops.takeRun(loop));
}

TEST(ThreadPool, ManyShortLoopsLoseNoTask) {
  ThreadPool pool(3);
  std::atomic<int> runs{0};
  for (int i = 0; i < 20000; ++i)
    runLoop(pool, 0, 4, [&](int) { return ++runs, 0; });
  EXPECT_EQ(80000, runs);
}

TEST(ThreadPool, LoopsInsideLoopsRun) {
  ThreadPool pool(3);
  std::atomic<int> runs{0};
  EXPECT_EQ(0, runLoop(pool, 0, 8, [&](int) {
              const auto outer = std::this_thread::get_id();
              return runLoop(pool, 0, 8, [&, outer](int) {
                EXPECT_EQ(outer, std::this_thread::get_id());
                return ++runs, 0;
              });
            }));
  EXPECT_EQ(64, runs);
}

TEST(ThreadPool, FailuresAreReturnedAndTheOthersStillRun) {
  ThreadPool pool(2);
  std::atomic<int> runs{0};
  EXPECT_EQ(-31, runLoop(pool, 0, 10, [&](int i) { return ++runs, i == 6 ? -31 : 0; }));
  EXPECT_EQ(10, runs);
}

TEST(ThreadPool, ExceptionsAreFailures) {
  ThreadPool pool(2);
  EXPECT_NE(0,
            runLoop(pool, 0, 10, [](int i) -> int { return i == 3 ? throw std::runtime_error("no") : 0; }));
  EXPECT_EQ(0, runLoop(pool, 0, 10, [](int) { return 0; }));
}

/// Longer than a loop that one thread runs alone.
void takeMicroseconds(int count) {
  const auto start = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - start < std::chrono::microseconds(count)) {
  }
}

TEST(ThreadPool, ServesMoreCallersAtOnceThanLoopsAreShared) {
  ThreadPool pool(3);
  std::atomic<int> runs{0};
  std::vector<std::thread> callers;
  for (int c = 0; c < 40; ++c)
    callers.emplace_back([&] {
      for (int i = 0; i < 50; ++i)
        runLoop(pool, 0, 5, [&](int) { return takeMicroseconds(5), ++runs, 0; });
    });
  for (std::thread &caller : callers)
    caller.join();
  EXPECT_EQ(40 * 50 * 5, runs);
}

/// Much longer than threads look for work, or for the end of a loop: there is no other way to see them
/// asleep.
constexpr std::chrono::milliseconds untilAsleep(2);

/// The caller's task ends when another thread has begun one, wherever that thread was.
TEST(ThreadPool, WakesThreadsThatSleep) {
  ThreadPool pool(2);
  for (int count = 2; count < 22; ++count) { // none that was seen, or it may be known to be short
    std::this_thread::sleep_for(untilAsleep);
    std::atomic<bool> joined{false};
    const auto caller = std::this_thread::get_id();
    ASSERT_EQ(0, runLoop(pool, 0, count, [&](int) {
                if (std::this_thread::get_id() != caller)
                  joined = true;
                return isSetSoon(joined) ? 0 : -1;
              }));
  }
}

/// Tasks that are over at once are no reason to leave those that follow to one thread.
TEST(ThreadPool, LoopsThatAreAlwaysSharedAreNotLeftToOneThread) {
  struct Loop {
    bool waits;
    std::thread::id caller = std::this_thread::get_id();
    std::atomic<bool> joined{false};
  };
  const auto task = [](attnrt_kernel_context *, int, uint8_t *closure) {
    Loop &loop = *reinterpret_cast<Loop *>(closure);
    if (std::this_thread::get_id() != loop.caller)
      loop.joined = true;
    return !loop.waits || isSetSoon(loop.joined) ? 0 : -1;
  };
  ThreadPool pool(2);
  const auto run = [&](bool waits) {
    Loop loop{waits};
    return pool.run({nullptr, task, 0, 2, reinterpret_cast<uint8_t *>(&loop), /*isShared=*/true});
  };
  for (int i = 0; i < 100; ++i)
    run(/*waits=*/false);
  EXPECT_EQ(0, run(/*waits=*/true));
}

TEST(ThreadPool, CallersSleepUntilTheLastTaskIsDone) {
  ThreadPool pool(2);
  for (int count = 2; count < 22; ++count) {
    std::atomic<bool> joined{false}, done{false};
    const auto caller = std::this_thread::get_id();
    ASSERT_EQ(0, runLoop(pool, 0, count, [&](int) {
                if (std::this_thread::get_id() != caller && !joined.exchange(true)) {
                  std::this_thread::sleep_for(untilAsleep);
                  done = true;
                }
                return isSetSoon(joined) ? 0 : -1;
              }));
    ASSERT_TRUE(done);
  }
}

TEST(ThreadPool, EndsWhereverItsThreadsAre) {
  for (int i = 0; i < 2000; ++i) {
    ThreadPool pool(3);
    if (i % 2)
      runLoop(pool, 0, 2 + i, [](int) { return 0; });
  }
}

TEST(ThreadPool, TheHostsThreadsCanDoTheWork) {
  int calls = 0;
  const auto backwards = [](void *user, int32_t count, attnrt_host_work work, void *closure) {
    ++*static_cast<int *>(user);
    for (int32_t i = count; i-- > 0;)
      work(closure, i);
  };
  HostExecutor host(backwards, &calls);
  std::vector<int> order;
  EXPECT_EQ(0, runLoop(host, 0, 3, [&](int i) { return order.push_back(i), 0; }));
  EXPECT_EQ((std::vector<int>{2, 1, 0}), order);
  EXPECT_EQ(1, calls);
}

TEST(ThreadPool, TasksThatAHostMakesUpAreNotRun) {
  const auto tooMany = [](void *, int32_t count, attnrt_host_work work, void *closure) {
    for (int32_t i = -1; i <= count; ++i)
      work(closure, i);
  };
  HostExecutor host(tooMany, nullptr);
  std::vector<int> order;
  EXPECT_EQ(0, runLoop(host, 0, 3, [&](int i) { return order.push_back(i), 0; }));
  EXPECT_EQ((std::vector<int>{0, 1, 2}), order);
}

TEST(ThreadPool, AHostThatLeavesTasksOutFailsTheLoop) {
  const auto allButTheLast = [](void *, int32_t count, attnrt_host_work work, void *closure) {
    for (int32_t i = 0; i + 1 < count; ++i)
      work(closure, i);
  };
  HostExecutor host(allButTheLast, nullptr);
  EXPECT_NE(0, runLoop(host, 0, 3, [](int) { return 0; }));
}

TEST(ThreadPool, AHostThatThrowsFailsTheLoop) {
  const auto throws = [](void *, int32_t, attnrt_host_work, void *) { throw std::runtime_error("no"); };
  HostExecutor host(throws, nullptr);
  EXPECT_NE(0, runLoop(host, 0, 3, [](int) { return 0; }));
}

#ifndef __has_feature // GCC
#define __has_feature(name) 0
#endif
#if !__has_feature(thread_sanitizer) // it allows a forked process no threads
/// There, handles of threads may have become those of a pool that was made since.
TEST(ThreadPool, AForkedProcessMayDestroyIt) {
  auto inherited = std::make_unique<ThreadPool>(3);
  runLoop(*inherited, 0, 8, [](int) { return 0; });
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(10);
    ThreadPool own(3);
    inherited.reset();
    _exit(runLoop(own, 0, 8, [](int) { return 0; }) == 0 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(child, waitpid(child, &status, 0));
  EXPECT_EQ(0, status);
}
#endif

} // namespace
