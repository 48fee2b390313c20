//===- ScheduleFileTest.cpp - records of schedules from and to YAML ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/tune/ScheduleFile.h"
#include "tests/spec/SpecTesting.h"

#include <gtest/gtest.h>

#include <sstream>

namespace attnc::tests {
namespace {

class ScheduleFileTest : public testing::Test {
protected:
  std::optional<ScheduleRecords> read(const std::string &text) {
    Diagnostics diagnostics;
    std::optional<ScheduleRecords> records = readSchedules(folder.write("schedules.yaml", text), diagnostics);
    errors.clear();
    for (const Diagnostic &found : diagnostics.all())
      errors += std::to_string(found.where.line) + ":" + std::to_string(found.where.column) + ": " +
                found.message + "\n";
    return records;
  }

  void refuse(const std::string &text, const std::string &error) {
    EXPECT_FALSE(read(text).has_value()) << text;
    EXPECT_EQ(errors, error) << text;
  }

  TemporaryFolder folder;
  std::string errors;
};

TEST_F(ScheduleFileTest, WhatIsWrittenIsReadAgain) {
  ScheduleRecords records;
  records[{"avx2", "linear_8x8"}] = {{{"tile", "4x16"}, {"prefetch", "none"}}, 1.25, 1.5};
  records[{"avx2", "linear_8x9"}] = {{{"tasks", "by_rows"}}, 0.0625, 0.125};
  records[{"x86-64-linux-avx", "linear_8x8"}] = {{{"external_columns", "64"}}, 3, 4};
  std::ostringstream text;
  writeSchedules(records, text);
  std::optional<ScheduleRecords> again = read(text.str());
  ASSERT_TRUE(again) << errors;
  ASSERT_EQ(again->size(), records.size());
  for (const auto &[names, record] : records) {
    const ScheduleRecord &found = again->at(names);
    EXPECT_EQ(found.choice, record.choice);
    EXPECT_EQ(found.milliseconds, record.milliseconds);
    EXPECT_EQ(found.byRules, record.byRules);
  }
}

TEST_F(ScheduleFileTest, WhatWasNotTimedHasNoTimes) {
  std::ostringstream text;
  writeSchedules({{{"avx2", "k"}, {{{"tile", "4x16"}}, 0, 0}}}, text);
  EXPECT_TRUE(text.str().ends_with("avx2:\n  k: {tile: 4x16}\n")) << text.str();
}

TEST_F(ScheduleFileTest, NoRecordsAreAFileToo) {
  std::ostringstream text;
  writeSchedules({}, text);
  std::optional<ScheduleRecords> again = read(text.str());
  ASSERT_TRUE(again) << errors;
  EXPECT_TRUE(again->empty());
}

TEST_F(ScheduleFileTest, MistakesAreToldWhereTheyStand) {
  refuse("avx2: {k: {tiel: 4x16}}", "1:12: unknown parameter 'tiel'; did you mean 'tile'?\n");
  refuse("avx2:\n  k: {tile: 5x16}", "2:13: 'tile' is '5x16'; it takes 4x16, 6x16, 8x32, 6x64\n");
  refuse("avx2: {k: {tile: [4x16]}}", "1:18: 'tile' is a list of 1; it takes 4x16, 6x16, 8x32, 6x64\n");
  refuse("avx2: {k: {ms: fast}}", "1:16: 'ms' takes a number from 0 on, not 'fast'\n");
  refuse("avx2: {k: {ms: -1}}", "1:16: 'ms' takes a number from 0 on, not '-1'\n");
  refuse("avx2: {k: none}", "1:11: kernel 'k' takes parameters, not 'none'\n");
  refuse("avx2: 3", "1:7: target 'avx2' takes its kernels by name, not '3'\n");
  const std::string rule =
      " is no name of a target or a kernel, which begins with a letter or a digit and goes on "
      "with these, '_', '-' and '.'\n";
  refuse("avx2: {\"k: x\": {tile: 4x16}}", "1:8: 'k: x'" + rule);
  refuse("\"\": {k: {tile: 4x16}}", "1:1: ''" + rule);
  refuse("avx2: {\"-\": {tile: 4x16}}", "1:8: '-'" + rule);
}

TEST_F(ScheduleFileTest, FilesThatCannotBeReadAreErrors) {
  for (const char *path : {"/no/such/file", "/", "/dev/zero"}) {
    Diagnostics diagnostics;
    EXPECT_FALSE(readSchedules(path, diagnostics));
    EXPECT_TRUE(diagnostics.hasErrors()) << path;
  }
}

TEST(ScheduleChoiceTest, TextsAreReadAgain) {
  const ScheduleChoice choice = {{"tile", "6x64"}, {"prefetch", "none"}};
  EXPECT_EQ(choiceText(choice), "prefetch=none,tile=6x64");
  EXPECT_EQ(parseChoice("prefetch=none,tile=6x64"), choice);
  EXPECT_EQ(parseChoice(""), ScheduleChoice());
  for (const char *text : {"tile", "tile=", "tile=5x5", "tiel=6x64", "tile=6x64,", ",", "tile=6x64,prefetch"})
    EXPECT_EQ(parseChoice(text).has_value(), std::string(text) == "tile=6x64,") << text;
}

} // namespace
} // namespace attnc::tests
