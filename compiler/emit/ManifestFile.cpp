//===- ManifestFile.cpp - manifest.json, read and changed ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/emit/ManifestFile.h"

#include "attnrt/attnrt.h"
#include "compiler/emit/WriteManifest.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

using Json = nlohmann::ordered_json;
namespace fs = llvm::sys::fs;

namespace attnc {

namespace {

constexpr uint64_t mostBytes = 64 << 20; // as the runtime has it

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> readText(const std::string &path) {
  fs::file_status status;
  std::error_code code = fs::status(path, status);
  if (!code && status.type() != fs::file_type::regular_file)
    return llvm::createStringError(path + ": is not a regular file");
  if (!code && status.getSize() > mostBytes)
    return llvm::createStringError(path + ": is " + std::to_string(status.getSize()) +
                                   " bytes long, more than " + std::to_string(mostBytes));
  auto file = llvm::MemoryBuffer::getFile(path);
  if (!file)
    return llvm::createStringError(file.getError(), "cannot read " + path + ": " + file.getError().message());
  return std::move(*file);
}

/// What the runtime takes for JSON: not too deep, no key twice.
llvm::Expected<Json> parse(llvm::StringRef text, const std::string &path) {
  char hash[33];
  if (attnrt_manifest_hash(text.size(), text.data(), hash) != ATTNRT_OK) {
    llvm::StringRef reason = attnrt_last_error();
    reason.consume_front("manifest.json: ");
    return llvm::createStringError(path + ": " + reason);
  }
  return Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
}

bool hasTexts(const Json &object, std::initializer_list<const char *> keys) {
  return object.is_object() &&
         llvm::all_of(keys, [&](const char *key) { return object.contains(key) && object[key].is_string(); });
}

bool hasVariants(const Json &manifest) {
  return manifest.contains("variants") && manifest["variants"].is_array() && !manifest["variants"].empty() &&
         llvm::all_of(manifest["variants"],
                      [](const Json &variant) { return hasTexts(variant, {"name", "features"}); });
}

bool hasTensors(const Json &manifest) {
  return manifest.contains("weights") && manifest["weights"].is_object() &&
         manifest["weights"].contains("tensors") && manifest["weights"]["tensors"].is_array();
}

} // namespace

llvm::Expected<Json> readManifestFile(const std::string &folder) {
  const std::string path = folder + "/manifest.json";
  llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> file = readText(path);
  if (!file)
    return file.takeError();
  const llvm::StringRef text = (*file)->getBuffer();
  llvm::Expected<Json> parsed = parse(text, path);
  if (!parsed)
    return parsed;
  const Json &manifest = *parsed;
  if (!hasTexts(manifest, {"kind"}) || !hasTensors(manifest) || !hasVariants(manifest))
    return llvm::createStringError(path + ": is not a manifest of a bundle");
  if (manifestText(manifest) != text)
    return llvm::createStringError(
        path + ": does not end with the hash of its text: it is damaged or was changed by hand");
  return parsed;
}

std::set<std::string> bundleFiles(const std::string &folder) {
  const std::string path = folder + "/manifest.json";
  llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> file = readText(path);
  llvm::Expected<Json> parsed = file ? parse((*file)->getBuffer(), path) : file.takeError();
  if (!parsed) {
    llvm::consumeError(parsed.takeError());
    return {};
  }
  const Json &manifest = *parsed;
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
