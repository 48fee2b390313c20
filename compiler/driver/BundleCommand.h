//===- BundleCommand.h - what commands on a bundle have in common -------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ATTNC_COMPILER_DRIVER_BUNDLECOMMAND_H
#define ATTNC_COMPILER_DRIVER_BUNDLECOMMAND_H

#include "attnrt/attnrt.hpp"

#include <functional>
#include <string>

namespace attnc {

using attnrt::api::Ids;
using attnrt::api::Model;
using attnrt::api::Session;

/// Options that every command with a bundle has.
struct BundleOptions {
  std::string folder;
  std::string variant; // empty: the best
  int threads = 0;     // 0: attnrt_core_count()
  bool ids = false;    // lines are token ids
  bool verify = false; // compare library and weights to their hashes first
};

Model loadBundle(const BundleOptions &options);

/// Graphs have no tokens, so no lines to read or write.
void refuseGraph(const Model &model);

/// For commands that need a model that decodes.
Model loadDecoder(const BundleOptions &options, const std::string &command);

/// Runs a command's body; its failure is printed to stderr. Returns the exit code: the body's, or 1. Wrong
/// usage (CLI::Error) passes through to main(), whose exit code is 2.
int runCommand(const std::function<int()> &body);

} // namespace attnc

#endif // ATTNC_COMPILER_DRIVER_BUNDLECOMMAND_H
