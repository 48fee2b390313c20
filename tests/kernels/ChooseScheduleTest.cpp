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

/// Whether some linear has another schedule with `choice` than by rules, on some CPU.
bool changesAnything(const ScheduleChoice &choice) {
  for (const CpuVariant &variant : llvm::cantFail(parseTargets("x86-64,avx2,avx512,vnni,zen4,zen5,amx"))) {
    const CpuTarget cpu = describeCpu(Halide::Target(variant.target));
    for (const LinearInputs &inputs : linears())
      if (chooseMatmul(cpu, inputs, choice) != chooseMatmul(cpu, inputs))
        return true;
  }
  return false;
}

TEST(ChooseScheduleTest, EachWordOfEachParameterChangesSomeSchedule) {
  for (const ScheduleParameter &parameter : scheduleParameters())
    for (std::string_view word : parameter.words)
      EXPECT_TRUE(changesAnything({{std::string(parameter.name), std::string(word)}}))
          << parameter.name << "=" << word;
}

} // namespace
