//===- GoldenVectors.cpp - decodings recorded in a bundle ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/emit/GoldenVectors.h"

#include "attnrt/attnrt.h"
#include "compiler/emit/CpuVariant.h"
#include "compiler/emit/FileOutput.h"
#include "compiler/emit/ManifestFile.h"
#include "compiler/emit/WriteManifest.h"

#include <memory>

namespace attnc {
namespace {

llvm::Error runtimeError(const std::string &doing) {
  return llvm::createStringError("the new bundle cannot be " + doing + ": " + attnrt_last_error());
}

llvm::Expected<std::string> decodeGolden(const std::string &folder, const std::string &variant) {
  attnrt_model_options options;
  attnrt_model_options_init(&options);
  options.variant = variant.c_str();
  attnrt_model *loaded = nullptr;
  if (attnrt_model_load(folder.c_str(), &options, &loaded) != ATTNRT_OK)
    return runtimeError("loaded");
  std::unique_ptr<attnrt_model, decltype(&attnrt_model_destroy)> model(loaded, attnrt_model_destroy);
  std::string text(1 << 12, '\0');
  for (;;) {
    size_t size = 0;
    if (attnrt_model_record_golden(model.get(), text.size(), text.data(), &size) != ATTNRT_OK)
      return runtimeError("run");
    bool fits = size < text.size();
    text.resize(fits ? size : size + 1);
    if (fits)
      return text;
  }
}

} // namespace

llvm::Error recordGolden(const BundleFolder &folder) {
  llvm::Expected<nlohmann::ordered_json> manifest = readManifestFile(folder.path());
  if (!manifest)
    return manifest.takeError();
  // The first variant: recorded on any machine, a bundle then is the same byte for byte.
  const nlohmann::ordered_json &variant = (*manifest)["variants"][0];
  std::string name = variant["name"].get<std::string>();
  (*manifest)["golden"] = nlohmann::ordered_json::object();
  if ((*manifest)["kind"] != "graph" && runsHere({name, "", variant["features"].get<std::string>()})) {
    llvm::Expected<std::string> golden = decodeGolden(folder.path(), name);
    if (!golden)
      return golden.takeError();
    (*manifest)["golden"] = nlohmann::ordered_json::parse(*golden);
  }
  return writeFile(folder.path() + "/manifest.json", manifestText(*manifest));
}

} // namespace attnc
