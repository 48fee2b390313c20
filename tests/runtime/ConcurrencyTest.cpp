//===- ConcurrencyTest.cpp - many threads on one model ------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ToyFixture.h"

#include <thread>

namespace {

using toy::testSources;

class Concurrency : public toy::Fixture {
protected:
  /// Decodes over and over in `count` threads, a session each.
  void decodeInThreads(int count, attnrt_pool *pool) {
    attnrt_decode_options options = model.decodeOptions();
    options.beam = options.n_best = 3;
    const auto wanted = session(8, 3, 12).decode(testSources(), options);
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < count; ++t)
      threads.emplace_back([&] {
        attnrt_session_options room = model.sessionOptions();
        room.batch = 8;
        room.beam = 3;
        room.threads = 2;
        room.pool = pool;
        attnrt::api::Session own(model, room);
        for (int i = 0; i < 20; ++i) {
          const auto got = own.decode(testSources(), options);
          for (size_t s = 0; s < got.size(); ++s)
            wrong += got[s][0].ids != wanted[s][0].ids || got[s][0].score != wanted[s][0].score;
        }
      });
    for (std::thread &thread : threads)
      thread.join();
    EXPECT_EQ(0, wrong);
  }
};

TEST_F(Concurrency, SessionsWithTheirOwnPoolsAgree) { decodeInThreads(4, nullptr); }

TEST_F(Concurrency, SessionsThatShareAPoolAgree) {
  const attnrt::api::Pool pool(3);
  decodeInThreads(4, pool.handle());
}

TEST_F(Concurrency, SessionsOnTheHostsThreadsAgree) {
  std::atomic<int> loops{0};
  const auto run = [](void *user, int32_t count, attnrt_host_work work, void *closure) {
    ++*static_cast<std::atomic<int> *>(user);
    std::thread other([=] {
      for (int32_t i = count - 1; i >= count / 2; --i)
        work(closure, i);
    });
    for (int32_t i = 0; i < count / 2; ++i)
      work(closure, i);
    other.join();
  };
  const attnrt::api::Pool pool(run, &loops);
  decodeInThreads(2, pool.handle());
  EXPECT_GT(loops, 0);
}

TEST(Pool, NoHostIsAnError) {
  attnrt_pool *made = nullptr;
  EXPECT_EQ(ATTNRT_INVALID_ARGUMENT, attnrt_pool_create_on_host(nullptr, nullptr, &made));
  EXPECT_STREQ("'run' is null", attnrt_last_error());
}

TEST_F(Concurrency, AHostWhoseLoopThrowsFailsTheCall) {
  const auto run = [](void *, int32_t, attnrt_host_work, void *) { throw std::runtime_error("no threads"); };
  const attnrt::api::Pool pool(run, nullptr);
  attnrt_session_options room = model.sessionOptions();
  room.batch = 8;
  room.pool = pool.handle();
  attnrt::api::Session opened(model, room);
  EXPECT_EQ(ATTNRT_KERNEL_FAILED, statusOf([&] { opened.decode(testSources(), model.decodeOptions()); }));
}

TEST_F(Concurrency, AHostThatLeavesPartsOutFailsTheCall) {
  const auto run = [](void *, int32_t, attnrt_host_work, void *) {};
  const attnrt::api::Pool pool(run, nullptr);
  const int cores = attnrt::api::coreCount();
  if (cores < 2)
    GTEST_SKIP() << "this machine has one core";
  const std::vector<toy::Ids> sources(32 * cores, toy::Ids(16, 3)); // 512 tokens for each
  attnrt_session_options room = model.sessionOptions();
  room.batch = static_cast<int32_t>(sources.size());
  room.pool = pool.handle();
  attnrt::api::Session opened(model, room);
  EXPECT_EQ(ATTNRT_KERNEL_FAILED, statusOf([&] { opened.decode(sources, model.decodeOptions()); }));
}

TEST_F(Concurrency, ASessionInUseIsBusy) {
  auto opened = session(1, 1, 12);
  struct Probe {
    attnrt_session *session;
    attnrt_status seen = ATTNRT_OK, profile = ATTNRT_OK;
  } probe{opened.handle()};
  attnrt::api::check(attnrt_session_start_profile(opened.handle()));
  attnrt_decode_options options = model.decodeOptions();
  options.user = &probe;
  options.on_token = [](void *user, size_t, size_t, int32_t) {
    auto &self = *static_cast<Probe *>(user);
    attnrt_result *result = nullptr;
    const int32_t ids[] = {3};
    const attnrt_ids source{1, ids};
    self.seen = attnrt_decode(self.session, 1, &source, nullptr, &result); // while the outer call runs
    attnrt_kernel_profile counts;
    self.profile = attnrt_session_profile(self.session, 0, 0, &counts);
    return 0;
  };
  options.min_length = 2;
  opened.decode({{testSources()[0]}}, options);
  EXPECT_EQ(ATTNRT_BUSY, probe.seen);
  EXPECT_EQ(ATTNRT_BUSY, probe.profile);
  attnrt_kernel_profile counts;
  EXPECT_EQ(ATTNRT_OK, attnrt_session_profile(opened.handle(), 0, 0, &counts));
}

TEST_F(Concurrency, ASessionOutlivesTheModelsHandle) {
  attnrt_session *session = nullptr;
  {
    const attnrt::api::Model shortLived(toy::descriptor(), folder.path());
    attnrt::api::check(attnrt_session_create(shortLived.handle(), nullptr, &session));
  }
  const attnrt_ids source{testSources()[0].size(), testSources()[0].data()};
  attnrt_result *result = nullptr;
  EXPECT_EQ(ATTNRT_OK, attnrt_decode(session, 1, &source, nullptr, &result));
  EXPECT_EQ(1u, attnrt_result_count(result, 0));
  attnrt_result_destroy(result);
  attnrt_session_destroy(session);
}

} // namespace
