//===- Main.cpp - the program attnc ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/driver/Commands.h"
#include "compiler/driver/Failure.h"
#include "compiler/spec/Words.h"

#include <CLI/CLI.hpp>

#include <iostream>

namespace {

/// `attnc run`, or `attnc` where no command is given.
const CLI::App &chosenCommand(const CLI::App &app) {
  const std::vector<CLI::App *> chosen = app.get_subcommands();
  return chosen.empty() ? app : *chosen.front();
}

std::vector<std::string> optionNames(const CLI::App &command) {
  std::vector<std::string> names;
  for (const CLI::Option *option : command.get_options())
    for (const std::string &name : option->get_lnames())
      names.push_back("--" + name);
  return names;
}

std::vector<std::string> commandNames(const CLI::App &app) {
  std::vector<std::string> names;
  for (const CLI::App *command : app.get_subcommands([](const CLI::App *) { return true; }))
    if (!command->get_group().empty()) // else it is hidden
      names.push_back(command->get_name());
  return names;
}

/// What is wrong with the command line. A word that nothing knows comes first: whatever else is missing may
/// only be misspelt.
std::string describeMistake(const CLI::App &app, const CLI::ParseError &error) {
  const CLI::App &command = chosenCommand(app);
  const std::string name = &command == &app ? "attnc" : "attnc " + command.get_name();
  const std::vector<std::string> unknown = app.remaining(true);
  for (const std::string &word : unknown)
    if (word.starts_with("-")) {
      const std::string flag = word.substr(0, word.find('='));
      return attnc::quote(flag) + " is not an option of '" + name + "'" +
             attnc::didYouMean(flag, optionNames(command));
    }
  if (&command != &app)
    return unknown.empty() ? error.what()
                           : attnc::quote(unknown.front()) + " is one argument too many for '" + name + "'";
  return unknown.empty() ? "a command is missing; known are " + attnc::listed(commandNames(app))
                         : attnc::quote(unknown.front()) + " is not a command" +
                               attnc::didYouMeanOrKnown(unknown.front(), commandNames(app));
}

/// An empty value would be taken for an option that is not given. An empty prefix is one.
void refuseEmptyValues(CLI::App &app) {
  for (CLI::App *command : app.get_subcommands([](CLI::App *) { return true; }))
    for (CLI::Option *option : command->get_options())
      if (option->nonpositional() && !option->check_lname("prefix"))
        option->check([](const std::string &given) { return given.empty() ? "its value is empty" : ""; });
}

} // namespace

int main(int argc, char **argv) try {
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
  refuseEmptyValues(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() == 0) // --help and --version end up here as well
      return app.exit(error);
    const CLI::App &command = chosenCommand(app);
    std::cerr << "attnc: error: " << describeMistake(app, error) << "\nTry 'attnc "
              << (&command == &app ? "" : command.get_name() + " ") << "--help'.\n";
    return 2;
  }
  if (exitCode == 0 && !std::cout.flush())
    return attnc::fail("the output cannot be written");
  return exitCode;
} catch (const std::exception &error) { // memory that ran out, above all
  std::cerr << "attnc: error: " << error.what() << "\n";
  return 1;
}
