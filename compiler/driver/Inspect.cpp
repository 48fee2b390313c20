//===- Inspect.cpp - attnc inspect: what is in a bundle, and is it whole ------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/driver/BundleCommand.h"
#include "compiler/driver/Commands.h"
#include "compiler/driver/Flags.h"
#include "compiler/emit/CpuVariant.h"
#include "compiler/emit/ManifestFile.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <iostream>
#include <map>
#include <memory>

namespace attnc {
namespace {

using Json = nlohmann::ordered_json;

struct InspectOptions {
  BundleOptions bundle;
  bool selfCheck = false;
};

/// `[batch, source]` as a manifest writes shapes.
std::string shapeText(const Json &shape) {
  std::string text;
  for (const auto &extent : shape)
    text += (text.empty() ? "" : ", ") + (extent.is_string() ? extent.get<std::string>() : extent.dump());
  return "[" + text + "]";
}

void printTensors(const char *what, const Json &tensors) {
  for (const auto &tensor : tensors)
    std::cout << "  " << what << " " << tensor.at("name").get<std::string>() << ": "
              << tensor.at("type").get<std::string>() << " " << shapeText(tensor.at("shape")) << "\n";
}

void printEntries(const Json &manifest) {
  for (const auto &entry : manifest.at("entries")) {
    std::cout << "entry " << entry.at("name").get<std::string>() << "\n";
    printTensors("argument", entry.at("arguments"));
    printTensors("result", entry.at("results"));
    std::cout << "  arena " << entry.at("arena").get<std::string>() << "\n";
    for (const auto &bound : entry.at("bounds"))
      std::cout << "  at most " << bound.at("most") << " for " << bound.at("formula").get<std::string>()
                << "\n";
  }
  std::cout << "state " << manifest.at("state").get<std::string>() << "\n";
}

void printDecoder(const Json &manifest) {
  const auto &tokenizer = manifest.at("tokenizer");
  std::cout << "vocabulary source " << manifest.at("vocabulary").at("source") << " ("
            << tokenizer.at("source").at("kind").get<std::string>() << "), target "
            << manifest.at("vocabulary").at("target") << " ("
            << tokenizer.at("target").at("kind").get<std::string>() << ")\n"
            << "limits source " << manifest.at("limits").at("source") << ", target "
            << manifest.at("limits").at("target") << "\n"
            << "tokens " << manifest.at("tokens").dump() << "\n"
            << "decoding " << manifest.at("decoding").dump() << "\n";
}

void printEncoder(const Json &manifest) {
  std::cout << "width " << manifest.at("width") << ", token types " << manifest.at("token_types") << "\n"
            << "vocabulary source " << manifest.at("vocabulary").at("source") << " ("
            << manifest.at("tokenizer").at("source").at("kind").get<std::string>() << ")\n"
            << "limits source " << manifest.at("limits").at("source") << "\n"
            << "tokens " << manifest.at("tokens").dump() << "\n";
}

/// ` (tuned for avx2, avx512)`: the variants in which a kernel's schedule is not that of rules.
std::string tunedFor(const Json &manifest, const std::string &kernel) {
  std::string text;
  for (const auto &variant : manifest.at("variants"))
    for (const auto &tuned : variant.value("tuned_kernels", Json::array()))
      if (tuned == kernel)
        text += (text.empty() ? " (tuned for " : ", ") + variant.at("name").get<std::string>();
  return text.empty() ? text : text + ")";
}

/// `used`: the variant of this machine, empty where none is. What is missing is an exception.
void printBundle(const Json &manifest, const std::string &used) {
  std::cout << "bundle " << manifest.at("name").get<std::string>() << " ("
            << manifest.at("kind").get<std::string>() << ")\n";
  std::cout << "sizes " << shapeText(manifest.at("sizes")) << "\n";
  printEntries(manifest);
  if (manifest.at("kind") == "encoder_decoder" || manifest.at("kind") == "decoder")
    printDecoder(manifest);
  if (manifest.at("kind") == "encoder")
    printEncoder(manifest);
  for (const auto &variant : manifest.at("variants")) {
    const auto name = variant.at("name").get<std::string>();
    const auto features = variant.at("features").get<std::string>();
    std::cout << "variant " << name << (features.empty() ? "" : ": " + features)
              << (name == used ? " (used on this machine)" : "") << "\n";
  }
  for (const auto &kernel : manifest.at("kernels"))
    std::cout << "kernel " << kernel.get<std::string>() << tunedFor(manifest, kernel) << "\n";
  std::cout << "weights " << manifest.at("weights").at("tensors").size() << " tensors, "
            << manifest.at("weights").at("bytes") << " bytes, hash "
            << manifest.at("weights").at("hash").get<std::string>() << "\n";
  std::map<std::string, std::pair<int64_t, int64_t>> types; // tensors and bytes
  for (const auto &tensor : manifest.at("weights").at("tensors")) {
    auto &[count, bytes] = types[tensor.value("type", "f32")];
    ++count;
    bytes += tensor.at("bytes").get<int64_t>();
  }
  for (const auto &[type, sum] : types)
    std::cout << "weights of " << type << ": " << sum.first << " tensors, " << sum.second << " bytes\n";
}

bool runsAVariant(const Json &manifest) {
  return llvm::any_of(manifest.at("variants"), [](const Json &variant) {
    return runsHere({variant.at("name").get<std::string>(), "", variant.at("features").get<std::string>()});
  });
}

/// Shows a bundle for other machines, which could not be loaded for this `error`. False where it is for this
/// one: then that is why.
bool showForeign(const std::string &folder, const attnrt::api::Error &error) {
  llvm::Expected<Json> manifest = readManifestFile(folder);
  if (!manifest)
    throw std::runtime_error(llvm::toString(manifest.takeError()));
  if (runsAVariant(*manifest))
    return false;
  printBundle(*manifest, "");
  std::cout << error.what() << "\n";
  return true;
}

void show(const BundleOptions &bundle) {
  try {
    const Model model = loadBundle(bundle);
    printBundle(Json::parse(model.manifest()), model.variant());
  } catch (const attnrt::api::Error &error) {
    const bool mayBeForeign = error.status == ATTNRT_UNSUPPORTED && bundle.variant.empty();
    if (!mayBeForeign || !showForeign(bundle.folder, error))
      throw;
  }
}

void inspect(const InspectOptions &options) {
  if (!options.selfCheck)
    return show(options.bundle);
  BundleOptions bundle = options.bundle;
  bundle.verify = true; // before any of its code runs
  const Model model = loadBundle(bundle);
  model.selfCheck();
  const auto golden = Json::parse(model.manifest())["golden"];
  const size_t cases = golden.contains("cases") ? golden["cases"].size() : 0;
  std::cout << "library and weights match their hashes; " << cases << " golden cases repeated with variant "
            << model.variant() << "\n";
}

} // namespace
} // namespace attnc

void addInspectCommand(CLI::App &app, int &exitCode) {
  auto options = std::make_shared<attnc::InspectOptions>();
  CLI::App *command =
      app.add_subcommand("inspect", "Show entries, variants, kernels, sizes and the arena's formula");
  command->add_option("BUNDLE", options->bundle.folder, "Folder written by 'attnc compile'")
      ->required()
      ->check(attnc::bundleFolder())
      ->type_name("FOLDER");
  command->add_option("--variant", options->bundle.variant,
                      "Kernels to use; the best this machine can run if not given");
  command->add_flag("--self-check", options->selfCheck,
                    "Compare the weights to their hashes and repeat the golden cases");
  command->callback([options, &exitCode] {
    exitCode = attnc::runCommand([&] {
      attnc::inspect(*options);
      return 0;
    });
  });
}
