//===- Commands.h - the subcommands of attnc --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Each function adds one subcommand to `app`. Chosen on the command line, the subcommand runs while CLI11
// parses and leaves its exit code: 0, 1 for a user's mistake. (Wrong usage is CLI11's to report; it exits
// with 2.)

#ifndef ATTNC_COMPILER_DRIVER_COMMANDS_H
#define ATTNC_COMPILER_DRIVER_COMMANDS_H

namespace CLI {
class App;
}

void addImportCommand(CLI::App &app, int &exitCode);
void addCompileCommand(CLI::App &app, int &exitCode);
void addPackCommand(CLI::App &app, int &exitCode);
void addRunCommand(CLI::App &app, int &exitCode);
void addScoreCommand(CLI::App &app, int &exitCode);
void addBenchCommand(CLI::App &app, int &exitCode);
void addTuneCommand(CLI::App &app, int &exitCode);
void addExplainCommand(CLI::App &app, int &exitCode);
void addInspectCommand(CLI::App &app, int &exitCode);

/// One kernel, in a process of its own: what `compile` starts. Hidden.
void addCompileKernelCommand(CLI::App &app, int &exitCode);

#endif // ATTNC_COMPILER_DRIVER_COMMANDS_H
