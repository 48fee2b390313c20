//===- ManifestFile.cpp - manifest.json, read and changed ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/emit/ManifestFile.h"

#include "compiler/emit/WriteManifest.h"
#include "llvm/Support/MemoryBuffer.h"

namespace attnc {

llvm::Expected<nlohmann::ordered_json> readManifestFile(const std::string &folder) {
  std::string path = folder + "/manifest.json";
  auto file = llvm::MemoryBuffer::getFile(path);
  if (!file)
    return llvm::createStringError(file.getError(), "cannot read " + path + ": " + file.getError().message());
  llvm::StringRef text = (*file)->getBuffer();
  nlohmann::ordered_json manifest = nlohmann::ordered_json::parse(text.begin(), text.end(), nullptr,
                                                                  /*allow_exceptions=*/false);
  if (!manifest.is_object() || !manifest.contains("weights") || !manifest["weights"].is_object() ||
      !manifest["weights"].contains("tensors") || !manifest["weights"]["tensors"].is_array())
    return llvm::createStringError(path + ": is no manifest of a bundle");
  if (manifestText(manifest) != text)
    return llvm::createStringError(
        path + ": does not end with the hash of its text: it is damaged or was changed by hand");
  return manifest;
}

} // namespace attnc
