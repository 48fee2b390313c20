//===- Model.cpp - a loaded bundle -------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Model.h"
#include "CpuFeatures.h"
#include "EntryTable.h"
#include "Failure.h"
#include "Hash.h"
#include "MappedFile.h"

#include <algorithm>
#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <sys/stat.h>

namespace attnrt {
namespace {

constexpr size_t largestManifest = 64u << 20;

/// A name's characters that no symbol may have become '_'.
std::string symbolPart(std::string name) {
  std::replace_if(name.begin(), name.end(), [](char c) { return !isAlphanumeric(c); }, '_');
  return name;
}

/// `path` as only the file that lies there now is called. The loader takes a path that it has seen for the
/// library that it loaded from there, even where another file has taken its place since: the file's number is
/// written into the path in steps that lead nowhere, `/.` for a 1 and `/` for a 0. No other file has it as
/// long as the library is open.
std::string pathOfThisFile(const std::string &path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0)
    return path;
  std::string steps;
  for (uint64_t number = status.st_ino; number > 0; number /= 2)
    steps += number % 2 ? "/." : "/";
  return std::string(path).insert(path.rfind('/'), steps);
}

/// A library that was cut short crashes the loader. The section headers are the end of the file.
void refuseTruncated(const std::string &path) {
  const MappedFile file(path);
  const uint64_t size = file.content().size();
  ElfW(Ehdr) header;
  if (size < sizeof header)
    return; // the loader says why not
  std::memcpy(&header, file.content().data(), sizeof header);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    return;
  const uint64_t headers = uint64_t{header.e_shnum} * header.e_shentsize;
  check(header.e_shoff <= size && headers <= size - header.e_shoff, ATTNRT_BAD_BUNDLE, path,
        ": is cut short: it has ", size, " bytes");
}

/// What the loader says of a file, about `path` as the caller knows it.
std::string loaderError(const std::string &opened, const std::string &path) {
  std::string message = dlerror();
  if (const size_t at = message.find(opened); at != std::string::npos)
    message.replace(at, opened.size(), path);
  return message;
}

} // namespace

SharedLibrary::SharedLibrary(const std::string &path) : path(path) {
  refuseTruncated(path);
  const std::string opened = pathOfThisFile(path);
  handle = dlopen(opened.c_str(), RTLD_NOW | RTLD_LOCAL);
  check(handle, ATTNRT_NOT_FOUND,
        "the bundle's library cannot be loaded: ", handle ? "" : loaderError(opened, path));
}

SharedLibrary::~SharedLibrary() { dlclose(handle); }

void *SharedLibrary::find(const std::string &symbol) const {
  void *address = dlsym(handle, symbol.c_str());
  check(address, ATTNRT_BAD_BUNDLE, path, ": has no symbol '", symbol, "'");
  return address;
}

Model::Model(const std::string &folder, const attnrt_descriptor *given, const attnrt_model_options &options)
    : text(readFile(folder + "/manifest.json", largestManifest)),
      info(readManifest(text, folder + "/manifest.json")), descriptor(given),
      weightFile(folder, info.weights) {
  if (!descriptor) {
    // A path with a slash, or dlopen() would search the system's folders.
    const std::string prefix = folder.find('/') == std::string::npos ? "./" + folder : folder;
    libraryPath = prefix + "/lib" + info.name + ".so";
    if (options.verify_weights)
      verifyLibrary();
    library = std::make_unique<SharedLibrary>(libraryPath);
    descriptor = static_cast<const attnrt_descriptor *>(library->find(symbolPart(info.name) + "_descriptor"));
  }
  if (info.decoder)
    checkDecoderEntries(info);
  if (info.encoder)
    checkEncoderEntries(info);
  checkDescriptor();
  chooseVariant(options.variant);
  if (options.verify_weights)
    weightFile.verify();
  loadTokenizers(folder);
}

void Model::verifyLibrary() const {
  check(info.libraryHash.empty() || hash128(MappedFile(libraryPath).content()) == info.libraryHash,
        ATTNRT_BAD_BUNDLE, libraryPath, ": does not match its hash");
}

void Model::verify() const {
  if (library)
    verifyLibrary();
  weightFile.verify();
}

void Model::checkDescriptor() const {
  check(descriptor->abi_version == ATTNRT_ABI_VERSION, ATTNRT_BAD_BUNDLE,
        "the bundle's code has interface version ", descriptor->abi_version, ", this runtime has ",
        ATTNRT_ABI_VERSION);
  check(info.hash == descriptor->manifest_hash, ATTNRT_BAD_BUNDLE,
        "manifest.json does not belong to the bundle's code: its hash is ", info.hash,
        ", the code was made for ", descriptor->manifest_hash);
  const bool hasSameCounts = descriptor->entry_count == info.entries.size() &&
                             descriptor->variant_count == info.variants.size() &&
                             descriptor->kernel_count == info.kernelCount;
  check(hasSameCounts, ATTNRT_BAD_BUNDLE,
        "manifest.json and the code differ in the number of entries, variants or kernels");
  for (size_t i = 0; i < info.entries.size(); ++i)
    check(info.entries[i].name == descriptor->entries[i].name, ATTNRT_BAD_BUNDLE, "entry ", i, " is '",
          info.entries[i].name, "' in manifest.json, but '", descriptor->entries[i].name, "' in the code");
  for (size_t i = 0; i < info.variants.size(); ++i)
    check(info.variants[i].name == descriptor->variants[i].name &&
              info.variants[i].features == descriptor->variants[i].features,
          ATTNRT_BAD_BUNDLE, "variant ", i, " is not the same in manifest.json and the code");
}

void Model::chooseVariant(const char *wanted) {
  std::string reasons, known;
  for (size_t i = info.variants.size(); i-- > 0;) {
    const VariantInfo &variant = info.variants[i];
    known += (known.empty() ? "" : ", ") + variant.name;
    if (wanted && variant.name != wanted)
      continue;
    const std::string missing = findMissingFeature(variant.features);
    if (missing.empty()) {
      chosen = i;
      return;
    }
    reasons += (reasons.empty() ? "" : ", ") + variant.name + " needs " + missing;
  }
  check(!reasons.empty(), ATTNRT_INVALID_ARGUMENT, "the bundle has no variant '", wanted ? wanted : "",
        "'; it has ", known);
  fail(ATTNRT_UNSUPPORTED, "this machine cannot run the bundle: ", reasons);
}

void Model::loadTokenizers(const std::string &folder) {
  if (info.encoder)
    source = makeTokenizer(info.encoder->tokenizer, folder,
                           {info.encoder->vocabulary, info.encoder->tokens.sourceUnknown});
  if (!info.decoder)
    return;
  const DecoderInfo &decoder = *info.decoder;
  const Vocabulary ofSource{decoder.sourceVocabulary, decoder.tokens.sourceUnknown},
      ofTarget{decoder.targetVocabulary, decoder.tokens.unknown};
  source = makeTokenizer(decoder.sourceTokenizer, folder, ofSource);
  const bool areAlike = decoder.sourceTokenizer == decoder.targetTokenizer && ofSource == ofTarget;
  target = areAlike ? source : makeTokenizer(decoder.targetTokenizer, folder, ofTarget);
  for (const std::vector<int32_t> &word : decoder.decoding.badWords)
    badWordViews.push_back({word.size(), word.data()});
  shortlistView = {decoder.decoding.shortlist.size(), decoder.decoding.shortlist.data()};
}

void Model::checkBounds(const EntryInfo &entry, const std::vector<int64_t> &sizes) const {
  for (const SizeBound &bound : entry.bounds) {
    const std::optional<int64_t> value = bound.formula.evaluate(sizes);
    if (value && *value <= bound.most)
      continue;
    std::string given;
    for (const size_t size : bound.formula.sizes())
      given += (given.empty() ? "" : ", ") + info.sizes[size] + " = " + std::to_string(sizes[size]);
    fail(ATTNRT_OUT_OF_RANGE, "entry '", entry.name, "' works with at most ", bound.most, " for ", bound.text,
         ", but is given ", given);
  }
}

int64_t Model::arenaBytes(int entry, const std::vector<int64_t> &sizes) const {
  const EntryInfo &described = info.entries[entry];
  checkBounds(described, sizes);
  const std::optional<int64_t> bytes = described.arena.evaluate(sizes);
  check(bytes.has_value(), ATTNRT_OUT_OF_RANGE, "the arena of entry '", described.name,
        "' would pass 64 bits");
  const int64_t fromCode = descriptor->entries[entry].arena_bytes(sizes.data());
  check(*bytes == fromCode, ATTNRT_BAD_BUNDLE, "the arena of entry '", described.name, "' is ", *bytes,
        " bytes by manifest.json, but ", fromCode, " by the code");
  return *bytes;
}

int64_t Model::stateBytes(const std::vector<int64_t> &sizes) const {
  const std::optional<int64_t> bytes = info.state.evaluate(sizes);
  check(bytes.has_value(), ATTNRT_OUT_OF_RANGE, "the state would pass 64 bits");
  const int64_t fromCode = descriptor->state_bytes(sizes.data());
  check(*bytes == fromCode, ATTNRT_BAD_BUNDLE, "the state is ", *bytes, " bytes by manifest.json, but ",
        fromCode, " by the code");
  return *bytes;
}

const DecoderInfo &Model::decoder() const {
  check(info.decoder.has_value(), ATTNRT_UNSUPPORTED, "'", info.name, "' is ",
        info.encoder ? "an encoder: it does not decode" : "a graph, no encoder-decoder: call its entries");
  return *info.decoder;
}

const EncoderInfo &Model::encoder() const {
  check(info.encoder.has_value(), ATTNRT_UNSUPPORTED, "'", info.name,
        "' is not an encoder that stands alone");
  return *info.encoder;
}

const TokensInfo &Model::tokens() const { return info.encoder ? info.encoder->tokens : decoder().tokens; }

const Tokenizer &Model::tokenizer(int32_t side) const {
  tokens();
  check(side == ATTNRT_SOURCE || side == ATTNRT_TARGET, ATTNRT_INVALID_ARGUMENT, "'side' is ", side,
        ", which is not an attnrt_side");
  check(side == ATTNRT_SOURCE || target, ATTNRT_UNSUPPORTED, "'", info.name, "' has no target side");
  return side == ATTNRT_SOURCE ? *source : *target;
}

int32_t Model::vocabulary(int32_t side) const {
  if (info.encoder)
    return info.encoder->vocabulary;
  return side == ATTNRT_SOURCE ? decoder().sourceVocabulary : decoder().targetVocabulary;
}

} // namespace attnrt
