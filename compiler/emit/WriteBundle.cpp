//===- WriteBundle.cpp - planned module to bundle --------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/emit/WriteBundle.h"

#include "attnrt/attnrt.h"
#include "compiler/emit/ConstantWeights.h"
#include "compiler/emit/FileOutput.h"
#include "compiler/emit/LinkBundle.h"
#include "compiler/emit/LowerEntries.h"
#include "compiler/emit/WriteHeader.h"
#include "compiler/emit/WriteManifest.h"
#include "compiler/emit/WriteObject.h"
#include "compiler/emit/shim/EmbeddedFiles.h"
#include "compiler/spec/CheckSpec.h"
#include "dialect/IR/Attn.h"
#include "llvm/Support/MemoryBuffer.h"
#include <nlohmann/json.hpp>

using Json = nlohmann::ordered_json;

namespace attnc {
namespace {

std::vector<VariantSymbols> groupByVariant(llvm::ArrayRef<CpuVariant> variants,
                                           llvm::ArrayRef<KernelObject> objects) {
  std::vector<VariantSymbols> groups;
  for (const CpuVariant &variant : variants) {
    groups.push_back({variant.name, variant.features, {}});
    for (const KernelObject &object : objects)
      if (object.variant == variant.name)
        groups.back().kernels.push_back(object.symbol);
  }
  return groups;
}

/// Lowers, compiles and links the code, which is tied to the manifest; what its objects tell is added to
/// that.
llvm::Error writeCode(const BundleJob &job, const BundleFolder &folder, Json &manifest) {
  mlir::OwningOpRef<mlir::ModuleOp> lowered = lowerEntries(job.planned, job.name);
  if (!lowered)
    return llvm::createStringError("the entries cannot be lowered");
  llvm::Expected<std::vector<KernelObject>> kernels =
      compileKernels(job.planned, job.variants, job.compiler, folder.scratch());
  if (!kernels)
    return kernels.takeError();
  setKernels(manifest, *kernels);
  addDescriptor(*lowered, job.planned, job.name, groupByVariant(job.variants, *kernels),
                manifestHash(manifest));
  LinkJob link{job.name,
               {folder.scratch() + "/entries.o", folder.scratch() + "/carried.a"},
               {job.name + "_descriptor"},
               folder.scratch(),
               folder.path()};
  if (llvm::Error error = writeObject(*lowered, "x86_64-unknown-linux-gnu", link.objects[0]))
    return error;
  const std::string_view carried = carriedLibrary();
  if (llvm::Error error = writeFile(link.objects[1], {carried.data(), carried.size()}))
    return error;
  for (const KernelObject &kernel : *kernels)
    link.objects.push_back(kernel.path);
  if (llvm::Error error = linkBundle(link))
    return error;
  auto library = llvm::MemoryBuffer::getFile(folder.path() + "/lib" + job.name + ".so");
  if (!library)
    return llvm::createStringError(library.getError(), "the library that was just linked cannot be read");
  setLibraryHash(manifest, (*library)->getBuffer());
  return llvm::Error::success();
}

/// What the runtime has just found wrong with a tokenizer's copy in `folder`, reported at the place in the
/// spec that names its file, by the name that it has there.
llvm::Error tokenizerError(const Spec &spec, const TokenizerFiles &files, const std::string &side,
                           const BundleFolder &folder) {
  const ModelSpec &model = *spec.model;
  const bool isSource = side == "source";
  const Location where = (isSource ? model.sourceTokenizer : model.targetTokenizer).file.where;
  const SideTokenizer &copies = isSource ? files.source : files.target;
  llvm::StringRef found = attnrt_last_error();
  found.consume_front(folder.path() + "/");
  std::string origin;
  for (const TokenizerFile *copy : {&copies.file, &copies.vocabulary})
    if (!copy->name.empty() && found.starts_with(copy->name + ":") && found.consume_front(copy->name))
      origin = copy->origin;
  return llvm::createStringError(spec.file + ":" + std::to_string(where.line) + ":" +
                                 std::to_string(where.column) + ": the " + side +
                                 " tokenizer cannot be used: " + origin + found);
}

/// Writes the tokenizers' files and has the runtime read them: better now than after the kernels.
llvm::Error writeTokenizers(const Spec &spec, const TokenizerFiles &files, const Json &manifest,
                            const BundleFolder &folder) {
  for (const TokenizerFile *file :
       {&files.source.file, &files.source.vocabulary, &files.target.file, &files.target.vocabulary})
    if (!file->name.empty())
      if (llvm::Error error = writeFile(folder.path() + "/" + file->name, file->content))
        return error;
  if (!manifest.contains("tokenizer"))
    return llvm::Error::success();
  for (const auto &[side, tokenizer] : manifest["tokenizer"].items()) {
    std::string text = tokenizer.dump();
    int32_t vocabulary = manifest["vocabulary"][side];
    if (attnrt_check_tokenizer(folder.path().c_str(), text.size(), text.data(), vocabulary) != ATTNRT_OK)
      return tokenizerError(spec, files, side, folder);
  }
  return llvm::Error::success();
}

} // namespace

std::string bundleName(llvm::StringRef wanted) {
  std::string name = wanted.str();
  std::replace_if(name.begin(), name.end(), [](unsigned char c) { return !std::isalnum(c); }, '_');
  bool isName =
      !name.empty() && !std::isdigit(static_cast<unsigned char>(name.front())) && !isRuntimesName(name);
  return (isName ? name : "model_" + name).substr(0, 64);
}

llvm::Expected<std::vector<WeightError>> writeBundle(const BundleJob &job, const BundleFolder &folder) {
  llvm::Expected<std::vector<WeightRecipe>> recipes = readWeightRecipes(job.planned, job.normScales);
  if (!recipes)
    return recipes.takeError();
  llvm::Expected<TokenizerFiles> tokenizers = readTokenizerFiles(job.spec, job.name);
  if (!tokenizers)
    return tokenizers.takeError();
  Json manifest = makeManifest(job.spec, job.planned, job.name, job.variants, *recipes, *tokenizers);
  if (llvm::Error error = writeTokenizers(job.spec, *tokenizers, manifest, folder))
    return error;
  // Before the kernels, which take longer: what is wrong with weights is told first.
  llvm::Expected<PackedWeights> packed = packWeights(*recipes, job.weights, computeConstants(job.planned),
                                                     folder.path() + "/weights.safetensors");
  if (!packed)
    return packed.takeError();
  setWeightHashes(manifest, packed->hashes);
  if (llvm::Error error = writeCode(job, folder, manifest))
    return error;
  if (llvm::Error error = writeFile(folder.path() + "/" + job.name + ".h", headerText(manifest)))
    return error;
  if (llvm::Error error = writeFile(folder.path() + "/manifest.json", manifestText(manifest)))
    return error;
  return std::move(packed->errors);
}

} // namespace attnc
