//===- RepackBundle.cpp - other weights for a bundle -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/emit/RepackBundle.h"

#include "compiler/emit/BundleFolder.h"
#include "compiler/emit/FileOutput.h"
#include "compiler/emit/GoldenVectors.h"
#include "compiler/emit/Interrupts.h"
#include "compiler/emit/ManifestFile.h"
#include "compiler/emit/WriteManifest.h"
#include "compiler/spec/Safetensors.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <cstring>

namespace fs = llvm::sys::fs;

namespace attnc {
namespace {

/// Constants stay as the bundle's present weight file has them.
llvm::Expected<ConstantReader> copyConstants(const std::string &bundle) {
  std::string error;
  std::shared_ptr<SafetensorsFile> present = SafetensorsFile::open(bundle + "/weights.safetensors", error);
  if (!present)
    return llvm::createStringError(error);
  return [present](const WeightRecipe &recipe) -> llvm::Expected<std::vector<char>> {
    const Tensor *tensor = present->find(recipe.name);
    if (!tensor || tensor->type != "F32" || tensor->bytes != static_cast<size_t>(recipe.bytes))
      return llvm::createStringError("the bundle's weights lack the constant '" + recipe.name + "'");
    std::vector<char> bytes(tensor->bytes);
    std::memcpy(bytes.data(), tensor->data, tensor->bytes);
    return bytes;
  };
}

std::set<std::string> normScalesOf(const std::vector<WeightRecipe> &recipes) {
  std::set<std::string> names;
  for (const WeightRecipe &recipe : recipes)
    if (recipe.isNormScale)
      names.insert(recipe.tensors.begin(), recipe.tensors.end());
  return names;
}

/// All files of the bundle but those that are written anew.
llvm::Error copyFiles(const std::string &bundle, const BundleFolder &folder) {
  std::error_code code;
  for (fs::directory_iterator file(bundle, code), end; file != end && !code; file.increment(code)) {
    std::string name = llvm::sys::path::filename(file->path()).str();
    if (name == "manifest.json" || name == "weights.safetensors")
      continue;
    if (std::error_code copied = fs::copy_file(file->path(), folder.path() + "/" + name))
      return llvm::createStringError(copied, "cannot copy " + file->path() + ": " + copied.message());
  }
  return code ? llvm::createStringError(code, "cannot list " + bundle + ": " + code.message())
              : llvm::Error::success();
}

} // namespace

llvm::Expected<std::vector<WeightError>> repackBundle(const std::string &bundle, const WeightSource &source) {
  llvm::Expected<nlohmann::ordered_json> manifest = readManifestFile(bundle);
  if (!manifest)
    return manifest.takeError();
  llvm::Expected<std::vector<WeightRecipe>> recipes = readWeightRecipes((*manifest)["weights"]["tensors"]);
  if (!recipes)
    return recipes.takeError();
  llvm::Expected<TensorReader> tensors = openTensors(source, normScalesOf(*recipes));
  if (!tensors)
    return tensors.takeError();
  llvm::Expected<ConstantReader> constants = copyConstants(bundle);
  if (!constants)
    return constants.takeError();
  InterruptCatcher catcher;
  llvm::Expected<BundleFolder> folder = BundleFolder::create(bundle);
  if (!folder)
    return folder.takeError();
  llvm::Expected<PackedWeights> packed =
      packWeights(*recipes, *tensors, *constants, folder->path() + "/weights.safetensors");
  if (!packed)
    return packed.takeError();
  setWeightHashes(*manifest, packed->hashes);
  if (llvm::Error error = copyFiles(bundle, *folder))
    return error;
  if (llvm::Error error = writeFile(folder->path() + "/manifest.json", manifestText(*manifest)))
    return error;
  if (llvm::Error error = recordGolden(*folder))
    return error;
  if (llvm::Error error = folder->commit())
    return error;
  return std::move(packed->errors);
}

} // namespace attnc
