//===- Main.cpp - the program attnc ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/driver/Commands.h"

#include <CLI/CLI.hpp>

int main(int argc, char **argv) {
  CLI::App app("Compiles descriptions of attention models to native code, and runs what it compiled.",
               "attnc");
  app.set_version_flag("--version", ATTNC_VERSION);
  app.require_subcommand(1);
  app.footer(
      "A bundle is the folder that `attnc compile` writes: libraries, a C header, weights and a manifest.\n"
      "`attnc COMMAND --help` explains a command. Exit code: 0; 1 for a mistake in the input; 2 for wrong "
      "usage.");
  int exitCode = 0;
  addImportCommand(app, exitCode);
  addCompileCommand(app, exitCode);
  addPackCommand(app, exitCode);
  addRunCommand(app, exitCode);
  addScoreCommand(app, exitCode);
  addBenchCommand(app, exitCode);
  addTuneCommand(app, exitCode);
  addExplainCommand(app, exitCode);
  addInspectCommand(app, exitCode);
  addCompileKernelCommand(app, exitCode);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return app.exit(error) == 0 ? 0 : 2; // --help and --version end up here as well
  }
  return exitCode;
}
