//===- Flags.h - flags that commands have in common --------------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ATTNC_COMPILER_DRIVER_FLAGS_H
#define ATTNC_COMPILER_DRIVER_FLAGS_H

#include "attnrt/ranges.hpp"
#include "compiler/driver/BundleCommand.h"

#include <CLI/CLI.hpp>

namespace attnc {

/// "1 to 1024"
std::string rangeText(attnrt::Range range);

/// Accepts whole numbers of `range`.
CLI::Validator wholeIn(attnrt::Range range);

/// Accepts numbers of `range`.
CLI::Validator numberIn(attnrt::Range range);

/// Accepts `random:SEED` with a seed that is a number, and paths.
CLI::Validator weightSource();

/// The flag for a folder of kernels that were compiled before.
void addCacheFlag(CLI::App &command, std::string &folder);

/// Refuses files, as specs are, where the folder of a bundle is wanted.
CLI::Validator bundleFolder();

/// A flag, and what it is to one kind of models or graphs.
struct KindFlag {
  enum Rule { Needed, Taken, Refused };
  const char *name;
  bool isGiven;
  Rule rule;
};

/// Throws CLI::ValidationError where one is missing or has no meaning for `what`, whose kind is `kind`.
void checkKindFlags(const std::vector<KindFlag> &flags, const std::string &what, const std::string &kind);

/// The bundle's folder, its first argument, and what it runs on, in the help's part `group`.
void addBundleFlags(CLI::App &command, BundleOptions &options, const std::string &group);

} // namespace attnc

#endif // ATTNC_COMPILER_DRIVER_FLAGS_H
