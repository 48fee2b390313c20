//===- Tune.cpp - attnc tune -----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/driver/Commands.h"
#include "compiler/driver/Failure.h"

#include <CLI/CLI.hpp>

void addTuneCommand(CLI::App &app, int &exitCode) {
  struct Options {
    std::string spec, target, output;
    int minutes = 0;
  };
  auto options = std::make_shared<Options>();
  CLI::App *command = app.add_subcommand("tune", "Search schedules for a target (not built yet)");
  command->add_option("SPEC", options->spec, "The model's YAML file")->required()->type_name("FILE");
  command->add_option("--target", options->target, "The target to tune for");
  command->add_option("--minutes", options->minutes, "How long to search");
  command->add_option("-o,--output", options->output, "File for the schedules")->type_name("FILE");
  command->callback([options, &exitCode] {
    exitCode = attnc::fail("tune is not built yet: kernels use the schedules that attnc was built with");
  });
}
