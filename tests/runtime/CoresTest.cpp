//===- CoresTest.cpp - how many threads a process may keep busy ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "runtime/src/Cores.h"
#include "attnrt/attnrt.hpp"
#include "runtime/src/ThreadPool.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sched.h>

namespace attnrt {
namespace {

/// A folder in which proc and sys have what a test says.
class CoresTest : public testing::Test {
protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "attnrt-cores-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    root = name;
  }
  void TearDown() override { std::filesystem::remove_all(root); }

  void write(const std::string &file, const std::string &text) {
    std::filesystem::create_directories((root / file).parent_path());
    std::ofstream(root / file) << text;
  }

  void writeSiblings(int processor, const std::string &text) {
    write("sys/devices/system/cpu/cpu" + std::to_string(processor) + "/topology/thread_siblings_list", text);
  }

  std::filesystem::path root;
};

TEST_F(CoresTest, ProcessorsCountWhereNothingIsKnown) {
  EXPECT_EQ(countCores(root, {0, 1, 2}), 3);
  EXPECT_EQ(countCores(root, {}), 1);
}

TEST_F(CoresTest, ThreadsOfACoreCountOnce) {
  for (int processor = 0; processor < 4; ++processor)
    writeSiblings(processor, std::to_string(processor % 2) + "," + std::to_string(processor % 2 + 2) + "\n");
  EXPECT_EQ(countCores(root, {0, 1, 2, 3}), 2);
  EXPECT_EQ(countCores(root, {0, 2}), 1);
  EXPECT_EQ(countCores(root, {1, 2}), 2);
}

TEST_F(CoresTest, AQuotaIsRoundedUp) {
  write("proc/self/cgroup", "0::/\n");
  for (const auto &[quota, cores] : {std::pair("250000 100000\n", 3), std::pair("200000 100000\n", 2),
                                     std::pair("1000 100000\n", 1), std::pair("max 100000\n", 4)}) {
    write("sys/fs/cgroup/cpu.max", quota);
    EXPECT_EQ(countCores(root, {0, 1, 2, 3}), cores) << quota;
  }
}

TEST_F(CoresTest, TheLeastOfAllGroupsAroundCounts) {
  write("proc/self/cgroup", "0::/outer/inner\n");
  write("sys/fs/cgroup/outer/cpu.max", "200000 100000\n");
  write("sys/fs/cgroup/outer/inner/cpu.max", "max 100000\n");
  EXPECT_EQ(countCores(root, {0, 1, 2, 3}), 2);
  write("sys/fs/cgroup/outer/inner/cpu.max", "50000 50000\n");
  EXPECT_EQ(countCores(root, {0, 1, 2, 3}), 1);
}

TEST_F(CoresTest, QuotasOfTheFirstVersionCount) {
  write("proc/self/cgroup", "9:name=systemd:/\n3:cpuset:/\n2:cpu,cpuacct:/job\n0::/\n");
  write("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "150000\n");
  write("sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(countCores(root, {0, 1, 2, 3}), 2);
  write("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(countCores(root, {0, 1, 2, 3}), 4);
}

TEST_F(CoresTest, AContainersGroupMayHaveItsNameOutside) {
  write("proc/self/cgroup", "2:cpu:/docker/1234\n0::/../other\n");
  write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "100000\n");
  write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "200000\n");
  write("sys/fs/other/cpu.max", "1 100000\n"); // no group
  EXPECT_EQ(countCores(root, {0, 1, 2, 3}), 1);
  write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "600000\n");
  EXPECT_EQ(countCores(root, {0, 1, 2, 3}), 3);
}

TEST_F(CoresTest, DamagedFilesLimitNothing) {
  write("proc/self/cgroup", "\n:\nnonsense\n0::/\n");
  for (const char *text : {"", "-5 100000", "100000 0", "nan nan", "1e999 1", "x"}) {
    write("sys/fs/cgroup/cpu.max", text);
    EXPECT_EQ(countCores(root, {0, 1}), 2) << text;
  }
}

TEST(CoreCountTest, APoolOfZeroThreadsHasOneForEachCore) {
  EXPECT_EQ(makeThreadPool(0)->threadCount(), api::coreCount());
  cpu_set_t all, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  CPU_ZERO(&one);
  for (int processor = 0; CPU_COUNT(&one) == 0; ++processor)
    if (CPU_ISSET(processor, &all))
      CPU_SET(processor, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(makeThreadPool(0)->threadCount(), 1);
  EXPECT_EQ(api::coreCount(), 1);
  sched_setaffinity(0, sizeof all, &all);
}

} // namespace
} // namespace attnrt
