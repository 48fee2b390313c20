//===- BundleCommand.cpp - what commands on a bundle have in common -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/driver/BundleCommand.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <exception>
#include <iostream>

namespace attnc {

Model loadBundle(const BundleOptions &options) {
  attnrt_model_options modelOptions;
  attnrt_model_options_init(&modelOptions);
  if (!options.variant.empty())
    modelOptions.variant = options.variant.c_str();
  modelOptions.verify_weights = options.verify;
  try {
    return Model(options.folder, &modelOptions);
  } catch (const attnrt::api::Error &error) {
    if (options.variant.empty() || error.status != ATTNRT_INVALID_ARGUMENT)
      throw;
    throw CLI::ValidationError("--variant", error.what());
  }
}

void refuseGraph(const Model &model) {
  if (nlohmann::json::parse(model.manifest())["kind"] == "graph")
    throw CLI::ValidationError("'" + std::string(model.name()) +
                               "' is a graph: programs call its functions (docs/runtime.md)");
}

Model loadDecoder(const BundleOptions &options, const std::string &command) {
  Model model = loadBundle(options);
  if (model.width() > 0)
    throw CLI::ValidationError("'" + model.name() + "' is an encoder that does not decode: 'attnc " +
                               command + "' has no meaning for it");
  refuseGraph(model);
  return model;
}

int runCommand(const std::function<int()> &body) {
  try {
    return body();
  } catch (const CLI::Error &) { // wrong usage, which depends on the bundle
    throw;
  } catch (const std::exception &error) {
    std::cout.flush(); // what was right before the mistake
    std::cerr << "attnc: error: " << error.what() << "\n";
    return 1;
  }
}

} // namespace attnc
