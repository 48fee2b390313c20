//===- ManifestFile.cpp - manifest.json, read and changed ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/emit/ManifestFile.h"

#include "compiler/emit/WriteManifest.h"
#include "llvm/Support/MemoryBuffer.h"

using Json = nlohmann::ordered_json;

namespace attnc {

llvm::Expected<Json> readManifestFile(const std::string &folder) {
  std::string path = folder + "/manifest.json";
  auto file = llvm::MemoryBuffer::getFile(path);
  if (!file)
    return llvm::createStringError(file.getError(), "cannot read " + path + ": " + file.getError().message());
  llvm::StringRef text = (*file)->getBuffer();
  Json manifest = Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (!manifest.is_object() || !manifest.contains("weights") || !manifest["weights"].is_object() ||
      !manifest["weights"].contains("tensors") || !manifest["weights"]["tensors"].is_array())
    return llvm::createStringError(path + ": is not a manifest of a bundle");
  if (manifestText(manifest) != text)
    return llvm::createStringError(
        path + ": does not end with the hash of its text: it is damaged or was changed by hand");
  return manifest;
}

std::set<std::string> bundleFiles(const std::string &folder) {
  auto file = llvm::MemoryBuffer::getFile(folder + "/manifest.json");
  llvm::StringRef text = file ? (*file)->getBuffer() : "";
  Json manifest = Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (!manifest.is_object() || !manifest.contains("weights"))
    return {};
  std::set<std::string> files = {"manifest.json", "weights.safetensors"};
  auto nameIn = [](const Json &object, const char *key) {
    return object.is_object() && object.contains(key) && object[key].is_string()
               ? object[key].get<std::string>()
               : "";
  };
  std::string name = nameIn(manifest, "name");
  files.insert({"lib" + name + ".so", "lib" + name + ".a", name + ".h"});
  if (manifest.contains("tokenizer"))
    for (const Json &tokenizer : manifest["tokenizer"])
      files.insert({nameIn(tokenizer, "file"), nameIn(tokenizer, "vocabulary")});
  return files;
}

} // namespace attnc
