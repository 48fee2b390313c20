//===- Pack.cpp - attnc pack -----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Fills a bundle with other weights of the same shapes, by the recipe in its manifest.

#include "compiler/driver/Commands.h"
#include "compiler/driver/Failure.h"
#include "compiler/driver/Flags.h"
#include "compiler/driver/WeightErrors.h"
#include "compiler/emit/RepackBundle.h"
#include "compiler/spec/ReadSpec.h"

#include <CLI/CLI.hpp>

void addPackCommand(CLI::App &app, int &exitCode) {
  struct Options {
    std::string bundle, weights;
  };
  auto options = std::make_shared<Options>();
  CLI::App *command = app.add_subcommand("pack", "Put other weights of the same shapes into a bundle");
  command->add_option("BUNDLE", options->bundle, "The bundle to change")
      ->required()
      ->check(attnc::bundleFolder())
      ->type_name("FOLDER");
  command
      ->add_option(
          "WEIGHTS", options->weights,
          "A safetensors file (F32, F16 or BF16), a folder that holds model.safetensors, or random:SEED")
      ->required()
      ->check(attnc::weightSource())
      ->type_name("FILE");
  command->callback([options, &exitCode] {
    attnc::WeightSource source;
    attnc::Diagnostics none; // the option's check has found any
    attnc::readWeightOption(options->weights, source, none);
    llvm::Expected<std::vector<attnc::WeightError>> errors = attnc::repackBundle(options->bundle, source);
    exitCode = errors ? 0 : attnc::fail(errors.takeError());
    if (errors)
      attnc::printWeightErrors(*errors, std::cout);
  });
}
