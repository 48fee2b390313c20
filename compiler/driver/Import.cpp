//===- Import.cpp - attnc import -------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/driver/Commands.h"
#include "compiler/driver/Failure.h"
#include "compiler/huggingface/ImportFolder.h"

#include <CLI/CLI.hpp>

void addImportCommand(CLI::App &app, int &exitCode) {
  auto options = std::make_shared<attnc::ImportOptions>();
  CLI::App *command = app.add_subcommand("import", "Make a spec of a Hugging Face folder");
  command->add_option("SOURCE", options->source, "Folder with config.json and safetensors")
      ->required()
      ->type_name("FOLDER");
  command->add_option("-o,--output", options->output, "Folder for model.yaml and weights")
      ->required()
      ->type_name("FOLDER");
  command->add_option("--source-language", options->sourceLanguage,
                      "Code of the language that sources are in, for models of several");
  command->add_option("--target-language", options->targetLanguage, "The same for outputs");
  command->callback([options, &exitCode] {
    exitCode = attnc::importFolder(*options, std::cerr) ? 0 : attnc::fail("nothing was imported");
  });
}
