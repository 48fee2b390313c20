//===- WriteManifest.cpp - manifest.json -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/emit/WriteManifest.h"

#include "attnrt/attnrt.h"
#include "compiler/emit/Hash.h"
#include "compiler/emit/PlannedModule.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <nlohmann/json.hpp>

#include <set>

using Json = nlohmann::ordered_json;

namespace attnc {
namespace {

/// A name and type of the entry's argument or result `number`.
Json makeTensor(mlir::DictionaryAttr attributes, mlir::Type valueType) {
  auto type = mlir::cast<mlir::RankedTensorType>(valueType);
  auto name = attributes ? attributes.getAs<mlir::StringAttr>("attn.name") : nullptr;
  Json shape = Json::array();
  for (auto [axis, axisName] : llvm::enumerate(attn::axisNames(type))) {
    if (type.isDynamicDim(axis))
      shape.push_back(axisName.str());
    else
      shape.push_back(type.getDimSize(axis));
  }
  Json tensor = {{"name", name ? name.str() : ""},
                 {"type", mlir::isa<mlir::FloatType>(type.getElementType()) ? "f32" : "i32"},
                 {"shape", std::move(shape)}};
  if (auto strides = attributes ? attributes.getAs<mlir::ArrayAttr>("attn.strides") : nullptr)
    for (auto stride : strides.getAsRange<attn::SizeAttr>())
      tensor["strides"].push_back(stride.str());
  return tensor;
}

Json makeEntry(const PlannedEntry &entry) {
  Json arguments = Json::array(), results = Json::array(), bounds = Json::array();
  mlir::func::FuncOp function = entry.function;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    arguments.push_back(makeTensor(function.getArgAttrDict(i), function.getArgumentTypes()[i]));
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    results.push_back(makeTensor(function.getResultAttrDict(i), function.getResultTypes()[i]));
  for (const SizeBound &bound : entry.bounds)
    bounds.push_back({{"formula", bound.formula.str()}, {"most", bound.most}});
  return {{"name", entry.name},
          {"arguments", std::move(arguments)},
          {"results", std::move(results)},
          {"arena", entry.arena.str()},
          {"bounds", std::move(bounds)}};
}

Json idOrNull(const LocatedId &id) { return *id ? Json(**id) : Json(nullptr); }

Json makeTokenizer(const TokenizerSpec &tokenizer, const SideTokenizer &files) {
  auto withFile = [&](const char *kind) {
    Json json = {{"kind", kind}, {"file", files.file.name}, {"hash", hash128(files.file.content)}};
    if (!files.vocabulary.name.empty()) {
      json["vocabulary"] = files.vocabulary.name;
      json["vocabulary_hash"] = hash128(files.vocabulary.content);
    }
    return json;
  };
  switch (*tokenizer.kind) {
  case TokenizerKind::Ids:
    return Json{{"kind", "ids"}};
  case TokenizerKind::SentencePiece:
    return withFile("sentencepiece");
  case TokenizerKind::TokenizerJson:
    return withFile("tokenizer_json");
  case TokenizerKind::Vocabulary:
    return withFile("vocabulary");
  case TokenizerKind::Characters:
    return withFile("characters");
  }
  llvm_unreachable("all kinds are listed");
}

Json makeEarlyStopping(EarlyStopping rule) {
  return rule == EarlyStopping::Never ? Json("never") : Json(rule == EarlyStopping::True);
}

Json limitOf(const ModelSpec &model) {
  return limitsLength(*model.positions.kind) ? Json(*model.positions.maxLength) : Json(nullptr);
}

/// What only an encoder that stands alone has.
void addEncoder(Json &manifest, const ModelSpec &model, const TokenizerFiles &files) {
  manifest["width"] = *model.width;
  manifest["pooler"] = *model.encoder.pooler;
  manifest["token_types"] = *model.encoder.tokenTypes;
  manifest["limits"] = {{"source", limitOf(model)}};
  manifest["vocabulary"] = {{"source", *model.vocabulary.source}};
  const TokensSpec &tokens = model.tokens;
  manifest["tokens"] = {{"pad", *tokens.pad},
                        {"mask", idOrNull(tokens.mask)},
                        {"source_unknown", idOrNull(tokens.sourceUnknown)},
                        {"source_start", *tokens.sourceStart},
                        {"source_end", *tokens.sourceEnd}};
  manifest["tokenizer"] = {{"source", makeTokenizer(model.sourceTokenizer, files.source)}};
}

/// What stands before each source; a decoder's source is its prompt, which opens as its output does.
std::vector<int64_t> sourceStart(const ModelSpec &model) {
  const TokensSpec &tokens = model.tokens;
  if (hasEncoder(model) || !*tokens.start)
    return *tokens.sourceStart;
  return {**tokens.start};
}

/// What a model with a decoder has: limits, vocabulary, tokens, tokenizer, decoding.
void addDecoder(Json &manifest, const ModelSpec &model, const TokenizerFiles &files) {
  Json limit = limitOf(model);
  manifest["limits"] = {{"source", limit}, {"target", limit}};
  manifest["vocabulary"] = {{"source", *model.vocabulary.source}, {"target", *model.vocabulary.target}};
  const TokensSpec &tokens = model.tokens;
  manifest["tokens"] = {{"start", idOrNull(tokens.start)},
                        {"end", tokens.ends->size() == 1 ? Json(tokens.ends->front()) : Json(*tokens.ends)},
                        {"pad", *tokens.pad},
                        {"unknown", idOrNull(tokens.unknown)},
                        {"source_unknown", idOrNull(tokens.sourceUnknown)},
                        {"source_start", sourceStart(model)},
                        {"source_end", *tokens.sourceEnd}};
  for (const LanguageSpec &language : tokens.languages)
    manifest["tokens"]["languages"][*language.code] = *language.id;
  manifest["tokenizer"] = {{"source", makeTokenizer(model.sourceTokenizer, files.source)},
                           {"target", makeTokenizer(model.targetTokenizer, files.target)}};
  const DecodingSpec &decoding = model.decoding;
  manifest["decoding"] = {{"beam", *decoding.beam},
                          {"length_penalty", *decoding.lengthPenalty},
                          {"max_length", *decoding.maxLength},
                          {"min_length", *decoding.minLength},
                          {"early_stopping", makeEarlyStopping(*decoding.earlyStopping)},
                          {"patience", *decoding.patience},
                          {"num_beam_groups", *decoding.beamGroups},
                          {"diversity_penalty", *decoding.diversityPenalty},
                          {"coverage_penalty", *decoding.coveragePenalty},
                          {"repetition_penalty", *decoding.repetitionPenalty},
                          {"no_repeat_ngram_size", *decoding.ngramSize},
                          {"suppress_tokens", *decoding.suppressed},
                          {"begin_suppress_tokens", *decoding.beginSuppressed},
                          {"bad_words_ids", *decoding.badWords},
                          {"forced_bos_token_id", idOrNull(decoding.forcedFirst)},
                          {"forced_eos_token_id", idOrNull(decoding.forcedLast)},
                          {"renormalize_logits", *decoding.renormalizes},
                          {"n_best", *decoding.nBest},
                          {"shortlist", *decoding.shortlist},
                          {"return_alternatives", *decoding.alternatives},
                          {"min_alternative_probability", *decoding.minAlternativeProbability},
                          {"do_sample", *decoding.samples},
                          {"temperature", *decoding.temperature},
                          {"top_k", *decoding.topK},
                          {"top_p", *decoding.topP},
                          {"min_p", *decoding.minP},
                          {"typical_p", *decoding.typicalP}};
}

Json makeWeights(const std::vector<WeightRecipe> &weights) {
  Json tensors = Json::array();
  for (const WeightRecipe &weight : weights) {
    tensors.push_back({{"name", weight.name},
                       {"shape", weight.shape},
                       {"offset", weight.offset},
                       {"bytes", weight.bytes},
                       {"hash", ""},
                       {"panels", weight.panels},
                       {"tensors", weight.tensors},
                       {"rows", weight.rows},
                       {"transposed", weight.transposed},
                       {"scaling", weight.isNormScale}});
    if (weight.type != "f32")
      tensors.back()["type"] = weight.type;
    if (weight.holdsScales())
      tensors.back()["scales"] = weight.scaledInputs;
  }
  int64_t bytes = weights.empty() ? 0 : weights.back().offset + weights.back().bytes;
  return {{"file", "weights.safetensors"}, {"bytes", bytes}, {"hash", ""}, {"tensors", std::move(tensors)}};
}

/// Numbers inside kernels (factors, epsilons) stand nowhere else in a manifest: with this, bundles that
/// differ in them alone are told apart.
std::string codeHash(mlir::ModuleOp planned) {
  std::string text;
  llvm::raw_string_ostream(text) << planned;
  return hash128(text);
}

/// Files that differ need names that do, from the bundle's own as well; `taken` are those so far.
void makeDistinct(TokenizerFile &source, TokenizerFile &target, std::set<std::string> &taken) {
  bool areOne = source.name == target.name && source.content == target.content;
  if (source.name == target.name && !areOne) {
    source.name = "source-" + source.name;
    target.name = "target-" + target.name;
  }
  auto take = [&](TokenizerFile &file, const char *prefix) {
    while (!file.name.empty() && !taken.insert(file.name).second)
      file.name = prefix + file.name;
  };
  take(source, "source-");
  if (areOne)
    target.name = source.name;
  else
    take(target, "target-");
}

/// Names the kernels that multiply weights of int8.
void addInt8Kernels(Json &manifest, mlir::ModuleOp module) {
  for (auto kernel : module.getOps<attn::KernelOp>()) {
    const mlir::WalkResult found = kernel.walk([](attn::LinearOp linear) {
      const auto weight = mlir::cast<mlir::RankedTensorType>(linear.getWeight().getType());
      return weight.getElementType().isInteger(8) ? mlir::WalkResult::interrupt()
                                                  : mlir::WalkResult::advance();
    });
    if (found.wasInterrupted())
      manifest["int8_kernels"].push_back(kernel.getSymName().str());
  }
}

} // namespace

llvm::Expected<TokenizerFiles> readTokenizerFiles(const Spec &spec, const std::string &bundle) {
  TokenizerFiles files;
  if (!spec.model)
    return files;
  auto read = [&](const std::string &name, TokenizerFile &file) -> llvm::Error {
    if (name.empty())
      return llvm::Error::success();
    std::string from = spec.resolve(name);
    auto content = llvm::MemoryBuffer::getFile(from);
    if (!content)
      return llvm::createStringError(content.getError(),
                                     "cannot read " + from + ": " + content.getError().message());
    file = {llvm::sys::path::filename(from).str(), (*content)->getBuffer().str(), name};
    return llvm::Error::success();
  };
  for (auto [tokenizer, side] : {std::pair(&spec.model->sourceTokenizer, &files.source),
                                 std::pair(&spec.model->targetTokenizer, &files.target)}) {
    if (llvm::Error error = read(*tokenizer->file, side->file))
      return error;
    if (llvm::Error error = read(*tokenizer->vocabulary, side->vocabulary))
      return error;
  }
  std::set<std::string> taken = {"manifest.json", "weights.safetensors", bundle + ".h",
                                 "lib" + bundle + ".so", "lib" + bundle + ".a"};
  makeDistinct(files.source.file, files.target.file, taken);
  makeDistinct(files.source.vocabulary, files.target.vocabulary, taken);
  return files;
}

Json makeManifest(const Spec &spec, mlir::ModuleOp module, llvm::StringRef bundle,
                  llvm::ArrayRef<CpuVariant> variants, const std::vector<WeightRecipe> &weights,
                  const TokenizerFiles &tokenizers) {
  mlir::FailureOr<PlannedModule> planned = readPlannedModule(module);
  assert(succeeded(planned) && "readWeightRecipes has read it before");
  Json manifest = {{"format", 1},
                   {"name", bundle.str()},
                   {"kind", spec.kind()},
                   {"sizes", planned->sizes},
                   {"entries", Json::array()},
                   {"state", planned->state.str()}};
  for (const PlannedEntry &entry : planned->entries)
    manifest["entries"].push_back(makeEntry(entry));
  if (spec.model && hasDecoder(*spec.model))
    addDecoder(manifest, *spec.model, tokenizers);
  else if (spec.model)
    addEncoder(manifest, *spec.model, tokenizers);
  manifest["variants"] = Json::array();
  for (const CpuVariant &variant : variants)
    manifest["variants"].push_back({{"name", variant.name}, {"features", variant.features}});
  manifest["kernels"] = planned->kernels;
  addInt8Kernels(manifest, module);
  manifest["code"] = codeHash(module);
  manifest["weights"] = makeWeights(weights);
  manifest["golden"] = Json::object();
  return manifest;
}

void setKernels(Json &manifest, llvm::ArrayRef<KernelObject> objects) {
  for (Json &variant : manifest["variants"])
    for (const KernelObject &object : objects) {
      if (variant["name"] != object.variant)
        continue;
      if (object.addsBfloats)
        variant["bf16_kernels"].push_back(object.kernel);
      if (object.isTuned)
        variant["tuned_kernels"].push_back(object.kernel);
    }
}

void setWeightHashes(Json &manifest, const WeightHashes &hashes) {
  Json &weights = manifest["weights"];
  weights["hash"] = hashes.file;
  for (auto [tensor, hash] : llvm::zip_equal(weights["tensors"], hashes.tensors))
    tensor["hash"] = hash;
}

void setLibraryHash(Json &manifest, llvm::StringRef library) { manifest["library_hash"] = hash128(library); }

std::string manifestHash(const Json &manifest) {
  std::string text = manifestText(manifest);
  char hash[33];
  if (attnrt_manifest_hash(text.size(), text.data(), hash) != ATTNRT_OK)
    llvm::report_fatal_error("the runtime cannot read a manifest that was written here");
  return hash;
}

std::string manifestText(const Json &manifest) {
  Json open = manifest;
  open.erase("hash");
  std::string text = open.dump(1, ' ', false, nlohmann::json::error_handler_t::replace);
  text.resize(text.size() - 2); // the end of the line and the brace: the hash comes before them
  return text + ",\n \"hash\": \"" + hash128(text) + "\"\n}\n";
}

} // namespace attnc
