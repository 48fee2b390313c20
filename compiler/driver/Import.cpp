//===- Import.cpp - attnc import -------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/driver/Commands.h"
#include "compiler/driver/Failure.h"

#include <CLI/CLI.hpp>

void addImportCommand(CLI::App &app, int &exitCode) {
  auto source = std::make_shared<std::string>(), folder = std::make_shared<std::string>();
  CLI::App *command = app.add_subcommand("import", "Makes a spec of a Hugging Face folder (not built yet)");
  command->add_option("SOURCE", *source, "Folder with config.json and safetensors")->required();
  command->add_option("-o,--output", *folder, "Folder for model.yaml, weights and tokenizer")->required();
  command->callback([source, folder, &exitCode] {
    exitCode =
        attnc::fail("import is not built yet: write the model's YAML by hand, see docs/yaml-reference.md");
  });
}
