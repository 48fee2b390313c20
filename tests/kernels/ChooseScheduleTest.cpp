//===- ChooseScheduleTest.cpp - what is chosen goes before rules ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/schedules/ChooseSchedule.h"
#include "compiler/emit/CpuVariant.h"

#include <gtest/gtest.h>

using namespace attnc;

namespace {

/// Linears of 512 x 2,048 in all types.
std::vector<LinearInputs> linears() {
  std::vector<LinearInputs> all;
  for (int group : {1, 2, 4}) {
    LinearInputs inputs;
    inputs.weight = {.in = 512, .out = 2048, .at = {}, .group = group};
    inputs.external = {Halide::ImageParam(Halide::UInt(8), 2), Halide::ImageParam(Halide::UInt(8), 2)};
    if (group == 4)
      inputs.scales.emplace();
    all.push_back(inputs);
  }
  return all;
}

/// Attention of eight heads of width 64: in blocks, and of a step.
AttentionInputs attentionInputs() {
  AttentionInputs inputs;
  inputs.width = inputs.valueWidth = 64;
  inputs.onlyBounded = true;
  inputs.mayBeSeen = [](const Coordinates &) { return Halide::Expr(); };
  inputs.slots = Halide::ImageParam(Halide::Int(32), 1);
  return inputs;
}

/// Whether some linear or attention has another schedule with `choice` than by rules, on some CPU.
bool changesAnything(const ScheduleChoice &choice) {
  for (const CpuVariant &variant : llvm::cantFail(parseTargets("x86-64,avx2,avx512,vnni,zen4,zen5,amx"))) {
    const CpuTarget cpu = describeCpu(Halide::Target(variant.target));
    for (const LinearInputs &inputs : linears())
      if (chooseMatmul(cpu, inputs, choice) != chooseMatmul(cpu, inputs))
        return true;
    AttentionInputs inputs = attentionInputs();
    if (chooseAttention(cpu, inputs, choice) != chooseAttention(cpu, inputs) ||
        chooseStepAttention(cpu, inputs, 8, choice) != chooseStepAttention(cpu, inputs, 8))
      return true;
  }
  return false;
}

/// Heads that are worked on side by side in a step of eight heads.
std::vector<int> headsOfTasks(const char *target, const char *tasks) {
  const CpuVariant variant = llvm::cantFail(parseTargets(target)).front();
  std::vector<int> heads;
  for (const AttentionSchedule &schedule : chooseStepAttention(describeCpu(Halide::Target(variant.target)),
                                                               attentionInputs(), 8, {{"head_tasks", tasks}}))
    heads.push_back(schedule.tiles.heads);
  return heads;
}

TEST(ChooseScheduleTest, HeadsOfAStepAreSharedOutAsChosen) {
  for (const char *target : {"avx2", "zen4"}) {
    EXPECT_EQ(headsOfTasks(target, "1"), (std::vector<int>{8}));
    EXPECT_EQ(headsOfTasks(target, "4"), (std::vector<int>{2}));
    EXPECT_EQ(headsOfTasks(target, "8"), (std::vector<int>{1}));
  }
}

TEST(ChooseScheduleTest, KeysAreSharedOutWhereTasksHaveAllHeads) {
  const CpuTarget cpu = describeCpu(Halide::Target(llvm::cantFail(parseTargets("zen4")).front().target));
  AttentionInputs inputs = attentionInputs();
  EXPECT_EQ(chooseStepAttention(cpu, inputs, 8).size(), 2u);
  EXPECT_EQ(chooseStepAttention(cpu, inputs, 1).size(), 2u);
  inputs.headsAreTasks = true;
  EXPECT_EQ(chooseStepAttention(cpu, inputs, 1).size(), 1u);
}

/// Whether keys and values in memory are read by functions of emit/shim, in blocks of queries.
bool isExternal(const char *target, int width) {
  AttentionInputs inputs = attentionInputs();
  inputs.width = inputs.valueWidth = width;
  for (int i = 0; i < 2; ++i)
    inputs.memory.emplace_back(Halide::UInt(16), 4);
  const CpuTarget cpu = describeCpu(Halide::Target(llvm::cantFail(parseTargets(target)).front().target));
  const std::vector<AttentionSchedule> schedules = chooseAttention(cpu, inputs);
  return llvm::all_of(schedules, [](const AttentionSchedule &each) { return each.tiles.external; });
}

TEST(ChooseScheduleTest, RoundedAttentionIsExternalWhereInstructionsMultiplyPairs) {
  for (const char *target : {"zen4", "zen5", "amx"}) {
    EXPECT_TRUE(isExternal(target, 64)) << target;
    EXPECT_TRUE(isExternal(target, 128)) << target;
    EXPECT_FALSE(isExternal(target, 129)) << target;
  }
  for (const char *target : {"avx2", "avx512", "vnni"})
    EXPECT_FALSE(isExternal(target, 64)) << target;
}

TEST(ChooseScheduleTest, RoundedKeysAreWidenedOnceWhereAllQueriesSeeTheSame) {
  const CpuTarget cpu = describeCpu(Halide::Target(llvm::cantFail(parseTargets("avx2")).front().target));
  AttentionInputs inputs = attentionInputs();
  const auto blocks = [&] { return chooseAttention(cpu, inputs).front().tiles.widenedFor; };
  EXPECT_EQ(blocks(), 0);
  inputs.areRounded = true;
  inputs.keyEnd = [](Halide::Expr, Halide::Expr) { return Halide::Expr(7); };
  EXPECT_EQ(blocks(), 4); // of 16 queries
  inputs.keyEnd = [](Halide::Expr lastQuery, Halide::Expr) { return lastQuery + 1; };
  EXPECT_EQ(blocks(), 0);
}

/// Columns of a task that 32 rows meet while they stay in the first cache, by AMX; 0: they do not stay.
int columnsOfTask(int in, int group, bool areRounded) {
  const CpuTarget cpu = describeCpu(Halide::Target(llvm::cantFail(parseTargets("amx")).front().target));
  LinearInputs inputs = linears()[group / 2];
  inputs.weight.in = in;
  inputs.areRounded = areRounded;
  const MatmulTile tile = chooseMatmul(cpu, inputs).tiles.back();
  EXPECT_EQ(tile.columnsOfTask % tile.columns, 0); // or no call would ask how tiles are configured
  return tile.columnsOfTask;
}

TEST(ChooseScheduleTest, RowsThatTheFirstCacheHoldsStayThere) {
  EXPECT_GT(columnsOfTask(512, 2, true), 0);
  EXPECT_EQ(columnsOfTask(544, 2, true), 0);
  EXPECT_EQ(columnsOfTask(500, 2, true), 0);  // are filled up
  EXPECT_EQ(columnsOfTask(512, 2, false), 0); // are rounded for each tile
  EXPECT_GT(columnsOfTask(1024, 4, false), 0);
  EXPECT_EQ(columnsOfTask(1025, 4, false), 0);
  EXPECT_EQ(columnsOfTask(512, 1, true), 0);
}

TEST(ChooseScheduleTest, EachWordOfEachParameterChangesSomeSchedule) {
  for (const ScheduleParameter &parameter : scheduleParameters())
    for (std::string_view word : parameter.words)
      EXPECT_TRUE(changesAnything({{std::string(parameter.name), std::string(word)}}))
          << parameter.name << "=" << word;
}

} // namespace
