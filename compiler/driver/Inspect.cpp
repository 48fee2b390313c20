//===- Inspect.cpp - attnc inspect: what is in a bundle, and is it whole ------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/driver/Commands.h"
#include "compiler/driver/SentenceLines.h"
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
    std::cout << "  " << what << " " << tensor["name"].get<std::string>() << ": "
              << tensor["type"].get<std::string>() << " " << shapeText(tensor["shape"]) << "\n";
}

void printEntries(const Json &manifest) {
  for (const auto &entry : manifest["entries"]) {
    std::cout << "entry " << entry["name"].get<std::string>() << "\n";
    printTensors("argument", entry["arguments"]);
    printTensors("result", entry["results"]);
    std::cout << "  arena " << entry["arena"].get<std::string>() << "\n";
    for (const auto &bound : entry["bounds"])
      std::cout << "  at most " << bound["most"] << " for " << bound["formula"].get<std::string>() << "\n";
  }
  std::cout << "state " << manifest["state"].get<std::string>() << "\n";
}

void printDecoder(const Json &manifest) {
  const auto &tokenizer = manifest["tokenizer"];
  std::cout << "vocabulary source " << manifest["vocabulary"]["source"] << " ("
            << tokenizer["source"]["kind"].get<std::string>() << "), target "
            << manifest["vocabulary"]["target"] << " (" << tokenizer["target"]["kind"].get<std::string>()
            << ")\n"
            << "limits source " << manifest["limits"]["source"] << ", target " << manifest["limits"]["target"]
            << "\n"
            << "tokens " << manifest["tokens"].dump() << "\n"
            << "decoding " << manifest["decoding"].dump() << "\n";
}

void printEncoder(const Json &manifest) {
  std::cout << "width " << manifest["width"] << ", token types " << manifest["token_types"] << "\n"
            << "vocabulary source " << manifest["vocabulary"]["source"] << " ("
            << manifest["tokenizer"]["source"]["kind"].get<std::string>() << ")\n"
            << "limits source " << manifest["limits"]["source"] << "\n"
            << "tokens " << manifest["tokens"].dump() << "\n";
}

/// ` (tuned for avx2, avx512)`: the variants in which a kernel's schedule is not that of rules.
std::string tunedFor(const Json &manifest, const std::string &kernel) {
  std::string text;
  for (const auto &variant : manifest["variants"])
    for (const auto &tuned : variant.value("tuned_kernels", Json::array()))
      if (tuned == kernel)
        text += (text.empty() ? " (tuned for " : ", ") + variant["name"].get<std::string>();
  return text.empty() ? text : text + ")";
}

/// `used`: the variant of this machine. The runtime has checked every field that is read here.
void printBundle(const Json &manifest, const std::string &used) {
  std::cout << "bundle " << manifest["name"].get<std::string>() << " (" << manifest["kind"].get<std::string>()
            << ")\n";
  std::cout << "sizes " << shapeText(manifest["sizes"]) << "\n";
  printEntries(manifest);
  if (manifest["kind"] == "encoder_decoder" || manifest["kind"] == "decoder")
    printDecoder(manifest);
  if (manifest["kind"] == "encoder")
    printEncoder(manifest);
  for (const auto &variant : manifest["variants"]) {
    const auto name = variant["name"].get<std::string>();
    const auto features = variant["features"].get<std::string>();
    std::cout << "variant " << name << (features.empty() ? "" : ": " + features)
              << (name == used ? " (used on this machine)" : "") << "\n";
  }
  for (const auto &kernel : manifest["kernels"])
    std::cout << "kernel " << kernel.get<std::string>() << tunedFor(manifest, kernel) << "\n";
  std::cout << "weights " << manifest["weights"]["tensors"].size() << " tensors, "
            << manifest["weights"]["bytes"] << " bytes, hash "
            << manifest["weights"]["hash"].get<std::string>() << "\n";
  std::map<std::string, std::pair<int64_t, int64_t>> types; // tensors and bytes
  for (const auto &tensor : manifest["weights"]["tensors"]) {
    auto &[count, bytes] = types[tensor.value("type", "f32")];
    ++count;
    bytes += tensor["bytes"].get<int64_t>();
  }
  for (const auto &[type, sum] : types)
    std::cout << "weights of " << type << ": " << sum.first << " tensors, " << sum.second << " bytes\n";
}

/// The bundle is sound, but none of its variants runs here.
void printForeign(const std::string &folder, const std::string &reason) {
  llvm::Expected<Json> manifest = readManifestFile(folder);
  if (!manifest)
    throw std::runtime_error(llvm::toString(manifest.takeError()));
  printBundle(*manifest, "");
  std::cout << reason << "\n";
}

void show(const BundleOptions &bundle) {
  try {
    const Model model = loadBundle(bundle);
    printBundle(Json::parse(model.manifest()), model.variant());
  } catch (const attnrt::api::Error &error) {
    if (error.status != ATTNRT_UNSUPPORTED || !bundle.variant.empty())
      throw;
    printForeign(bundle.folder, error.what());
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
      ->type_name("FOLDER");
  command->add_option("--variant", options->bundle.variant,
                      "Kernels to use; the best this machine can run if not given");
  command->add_flag("--self-check", options->selfCheck,
                    "Compare the weights to their hashes and repeat the golden cases");
  command->callback(
      [options, &exitCode] { exitCode = attnc::runCommand([&] { attnc::inspect(*options); }); });
}
