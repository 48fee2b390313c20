//===- Manifest.cpp - manifest.json, checked ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Manifest.h"
#include "Hash.h"
#include "Json.h"
#include "attnrt/ranges.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace attnrt {
namespace {

constexpr int64_t largest = INT32_MAX;

/// Names become parts of symbols and file names.
std::string readName(const JsonReader &json) {
  std::string name = json.string();
  const auto isPlain = [](char c) { return isAlphanumeric(c) || c == '_' || c == '-' || c == '.'; };
  if (name.empty() || name.size() > 200 || !std::all_of(name.begin(), name.end(), isPlain))
    json.reject("must be a name of letters, digits, '_', '-' and '.'");
  return name;
}

void requireDistinct(const std::vector<std::string> &names, const JsonReader &json) {
  const std::set<std::string> distinct(names.begin(), names.end());
  if (distinct.size() != names.size())
    json.reject("has a name twice");
}

std::vector<std::string> readNames(const JsonReader &json) {
  std::vector<std::string> names;
  for (const JsonReader &element : json.elements())
    names.push_back(readName(element));
  requireDistinct(names, json);
  return names;
}

/// Of elements, one for each axis: a size's name or a whole number.
void checkStrides(const JsonReader &json, size_t axes, const Manifest &manifest) {
  const std::vector<JsonReader> strides = json.elements();
  if (strides.size() != axes)
    json.reject("has ", strides.size(), " strides for ", axes, " axes");
  for (const JsonReader &stride : strides) {
    const std::string text = stride.string();
    const bool isNumber =
        !text.empty() && text.size() < 11 && text.find_first_not_of("0123456789") == text.npos;
    if (!isNumber && manifest.findSize(text) < 0)
      stride.reject("'", text, "' is neither a number nor one of the sizes");
  }
}

TensorInfo readTensor(const JsonReader &json, const Manifest &manifest) {
  TensorInfo tensor{readName(json.at("name")), json.at("type").string(), {}};
  if (tensor.type != "i32" && tensor.type != "f32")
    json.reject("type '", tensor.type, "' is neither i32 nor f32");
  for (const JsonReader &extent : json.at("shape").elements()) {
    if (!extent.value.is_string())
      tensor.shape.push_back(std::to_string(extent.integer(1, largest)));
    else if (manifest.findSize(tensor.shape.emplace_back(extent.string())) < 0)
      extent.reject("'", tensor.shape.back(), "' is none of the sizes");
  }
  if (json.has("strides"))
    checkStrides(json.at("strides"), tensor.shape.size(), manifest);
  return tensor;
}

SizeBound readBound(const JsonReader &json, const Manifest &manifest) {
  const std::string text = json.at("formula").string();
  return {text, Formula(text, manifest.sizes), json.at("most").integer(1, INT64_MAX)};
}

EntryInfo readEntry(const JsonReader &json, const Manifest &manifest) {
  EntryInfo entry{readName(json.at("name")), {}, {}, Formula(json.at("arena").string(), manifest.sizes), {}};
  for (const JsonReader &bound : json.at("bounds").elements())
    entry.bounds.push_back(readBound(bound, manifest));
  for (const JsonReader &tensor : json.at("arguments").elements())
    entry.arguments.push_back(readTensor(tensor, manifest));
  for (const JsonReader &tensor : json.at("results").elements())
    entry.results.push_back(readTensor(tensor, manifest));
  return entry;
}

/// A list of ids; where one stands alone, or null, a list of that.
std::vector<int32_t> readIds(const JsonReader &json, int32_t vocabulary) {
  std::vector<int32_t> ids;
  if (!json.value.is_array()) {
    if (const auto id = json.integerOrNull(0, vocabulary - 1))
      ids.push_back(*id);
    return ids;
  }
  for (const JsonReader &id : json.elements())
    ids.push_back(id.integer(0, vocabulary - 1));
  return ids;
}

TokensInfo readTokens(const JsonReader &json, const DecoderInfo &decoder) {
  const auto target = [&](const JsonReader &id) { return id.integerOrNull(0, decoder.targetVocabulary - 1); };
  const auto source = [&](const JsonReader &id) { return id.integerOrNull(0, decoder.sourceVocabulary - 1); };
  TokensInfo tokens;
  if (decoder.hasSource)
    tokens.start = json.at("start").integer(0, decoder.targetVocabulary - 1);
  tokens.ends = readIds(json.at("end"), decoder.targetVocabulary);
  if (tokens.ends.empty())
    json.at("end").reject("is not a token that ends outputs");
  tokens.pad = target(json.at("pad"));
  tokens.unknown = target(json.at("unknown"));
  tokens.sourceUnknown = source(json.at("source_unknown"));
  tokens.sourceStart = readIds(json.at("source_start"), decoder.sourceVocabulary);
  tokens.sourceEnd = readIds(json.at("source_end"), decoder.sourceVocabulary);
  if (!json.has("languages"))
    return tokens;
  const int32_t most = std::min(decoder.sourceVocabulary, decoder.targetVocabulary) - 1;
  for (const auto &[code, id] : json.at("languages").value.items())
    tokens.languages[code] = json.at("languages").at(code.c_str()).integer(0, most);
  return tokens;
}

/// Of an encoder that stands alone.
TokensInfo readSourceTokens(const JsonReader &json, int32_t vocabulary) {
  const auto id = [&](const char *key) { return json.at(key).integerOrNull(0, vocabulary - 1); };
  TokensInfo tokens;
  tokens.pad = id("pad");
  tokens.mask = id("mask");
  tokens.sourceUnknown = id("source_unknown");
  tokens.sourceStart = readIds(json.at("source_start"), vocabulary);
  tokens.sourceEnd = readIds(json.at("source_end"), vocabulary);
  return tokens;
}

attnrt_stopping readStopping(const JsonReader &json) {
  if (json.value == "never")
    return ATTNRT_STOP_NEVER_EARLY;
  return json.boolean() ? ATTNRT_STOP_EARLY : ATTNRT_STOP_LATER;
}

float readFactor(const JsonReader &json, const char *key, Range range) {
  const JsonReader factor = json.at(key);
  if (!range.holds(factor.number()))
    factor.reject("is ", factor.number(), ", not from ", range.low, " to ", range.high);
  return static_cast<float>(factor.number());
}

/// Which the bundle may lack.
float readFactor(const JsonReader &json, const char *key, Range range, float fallback) {
  return json.has(key) ? readFactor(json, key, range) : fallback;
}

int32_t readWhole(const JsonReader &json, const char *key, Range range) {
  return static_cast<int32_t>(
      json.at(key).integer(static_cast<int64_t>(range.low), static_cast<int64_t>(range.high)));
}

bool readTruth(const JsonReader &json, const char *key) { return json.has(key) && json.at(key).boolean(); }

/// What bundles may lack: how samples are drawn.
void readSampling(const JsonReader &json, DecodingInfo &decoding) {
  decoding.samples = readTruth(json, "do_sample");
  decoding.temperature = readFactor(json, "temperature", ranges::temperature, 1);
  if (json.has("top_k"))
    decoding.topK = readWhole(json, "top_k", ranges::topK);
  decoding.topP = readFactor(json, "top_p", ranges::share, 1);
  decoding.minP = readFactor(json, "min_p", ranges::probability, 0);
  decoding.typicalP = readFactor(json, "typical_p", ranges::share, 1);
}

/// What bundles may lack: searches of other kinds.
void readSpecialSearches(const JsonReader &json, DecodingInfo &decoding) {
  if (json.has("n_best"))
    decoding.nBest = readWhole(json, "n_best", ranges::beam);
  decoding.alternatives = readTruth(json, "return_alternatives");
  decoding.minAlternativeProbability =
      readFactor(json, "min_alternative_probability", ranges::probability, 0);
  decoding.patience = readFactor(json, "patience", ranges::patience, 1);
  if (json.has("num_beam_groups"))
    decoding.beamGroups = json.at("num_beam_groups").integer(1, decoding.beam);
  decoding.diversityPenalty = readFactor(json, "diversity_penalty", ranges::penalty, 0);
  decoding.coveragePenalty = readFactor(json, "coverage_penalty", ranges::penalty, 0);
}

/// What bundles may lack: rules of the kind that Hugging Face's generation_config.json has.
void readTokenRules(const JsonReader &json, int32_t vocabulary, DecodingInfo &decoding) {
  const auto id = [&](const char *key) -> std::optional<int32_t> {
    return json.has(key) ? json.at(key).integerOrNull(0, vocabulary - 1) : std::nullopt;
  };
  const auto ids = [&](const char *key) {
    return json.has(key) ? readIds(json.at(key), vocabulary) : std::vector<int32_t>();
  };
  decoding.repetitionPenalty = readFactor(json, "repetition_penalty", ranges::repetitionPenalty, 1);
  if (json.has("no_repeat_ngram_size"))
    decoding.noRepeatNgramSize = readWhole(json, "no_repeat_ngram_size", ranges::ngramSize);
  decoding.suppressed = ids("suppress_tokens");
  decoding.beginSuppressed = ids("begin_suppress_tokens");
  if (json.has("bad_words_ids"))
    for (const JsonReader &word : json.at("bad_words_ids").elements())
      if (decoding.badWords.emplace_back(readIds(word, vocabulary)).empty())
        word.reject("is empty");
  decoding.forcedFirst = id("forced_bos_token_id");
  decoding.forcedLast = id("forced_eos_token_id");
  decoding.shortlist = ids("shortlist");
  decoding.renormalizes = readTruth(json, "renormalize_logits");
}

DecodingInfo readDecoding(const JsonReader &json, int32_t vocabulary) {
  DecodingInfo decoding;
  decoding.beam = readWhole(json, "beam", ranges::beam);
  decoding.lengthPenalty = readFactor(json, "length_penalty", ranges::lengthPenalty);
  decoding.maxLength = readWhole(json, "max_length", ranges::maxLength);
  decoding.minLength = json.at("min_length").integer(0, decoding.maxLength);
  decoding.stopping = readStopping(json.at("early_stopping"));
  readSpecialSearches(json, decoding);
  readSampling(json, decoding);
  readTokenRules(json, vocabulary, decoding);
  return decoding;
}

DecoderInfo readDecoder(const JsonReader &json, bool hasSource) {
  DecoderInfo decoder;
  decoder.hasSource = hasSource;
  decoder.sourceLimit = json.at("limits").at("source").integerOrNull(1, largest);
  decoder.targetLimit = json.at("limits").at("target").integerOrNull(1, largest);
  decoder.sourceVocabulary = json.at("vocabulary").at("source").integer(1, largest);
  decoder.targetVocabulary = json.at("vocabulary").at("target").integer(1, largest);
  decoder.tokens = readTokens(json.at("tokens"), decoder);
  decoder.sourceTokenizer = readTokenizerInfo(json.at("tokenizer").at("source"));
  decoder.targetTokenizer = readTokenizerInfo(json.at("tokenizer").at("target"));
  decoder.decoding = readDecoding(json.at("decoding"), decoder.targetVocabulary);
  return decoder;
}

EncoderInfo readEncoder(const JsonReader &json) {
  EncoderInfo encoder;
  encoder.width = json.at("width").integer(1, 1 << 24);
  encoder.hasPooler = json.at("pooler").boolean();
  encoder.tokenTypes = json.at("token_types").integer(0, largest);
  encoder.sourceLimit = json.at("limits").at("source").integerOrNull(1, largest);
  encoder.vocabulary = json.at("vocabulary").at("source").integer(1, largest);
  encoder.tokens = readSourceTokens(json.at("tokens"), encoder.vocabulary);
  encoder.tokenizer = readTokenizerInfo(json.at("tokenizer").at("source"));
  return encoder;
}

/// The type of a weight's elements, f32 where none is given.
void readWeightType(const JsonReader &tensor, WeightInfo &info) {
  if (!tensor.has("type"))
    return;
  const std::string type = tensor.at("type").string();
  if (type == "int8") {
    info.type = "I8";
    info.elementBytes = 1;
  } else if (type == "bf16") {
    info.type = "BF16";
    info.elementBytes = 2;
  } else if (type != "f32") {
    tensor.at("type").refuse("is '", type, "'; this version knows f32, bf16 and int8");
  }
}

/// Tensors must follow each other without holes or overlaps and fill the data part.
WeightsInfo readWeights(const JsonReader &json) {
  WeightsInfo weights;
  weights.file = json.at("file").fileName();
  weights.hash = json.at("hash").hash();
  weights.bytes = json.at("bytes").integer(0, INT64_MAX / 2);
  int64_t end = 0;
  std::vector<std::string> names;
  for (const JsonReader &tensor : json.at("tensors").elements()) {
    WeightInfo info{tensor.at("name").string(), tensor.at("hash").hash()};
    readWeightType(tensor, info);
    info.offset = tensor.at("offset").integer(end, end);
    info.bytes = tensor.at("bytes").integer(1, weights.bytes - end);
    if (info.bytes % 64 != 0)
      tensor.reject("bytes is ", info.bytes, ", no multiple of 64");
    end += info.bytes;
    names.push_back(info.name);
    weights.tensors.push_back(std::move(info));
  }
  requireDistinct(names, json.at("tensors"));
  if (end != weights.bytes)
    json.reject("the tensors end at ", end, ", but bytes is ", weights.bytes);
  return weights;
}

std::vector<float> readFloats(const JsonReader &json) {
  std::vector<float> values;
  for (const JsonReader &value : json.elements()) {
    const double number = value.number();
    constexpr float largest = std::numeric_limits<float>::max();
    if (std::fabs(number) > largest)
      value.reject("is ", number, ", but must be from ", -largest, " to ", largest);
    values.push_back(static_cast<float>(number));
  }
  return values;
}

GoldenCase readGoldenCase(const JsonReader &json, const EncoderInfo &encoder) {
  GoldenCase one;
  one.source = readIds(json.at("source"), encoder.vocabulary);
  one.target = readIds(json.at("predicted"), encoder.vocabulary);
  one.logProbabilities = readFloats(json.at("log_probabilities"));
  one.hidden = readFloats(json.at("hidden"));
  if (one.source.empty() || one.logProbabilities.size() != one.target.size())
    json.reject("needs a source, and one log-probability for each predicted id");
  return one;
}

GoldenCase readGoldenCase(const JsonReader &json, const DecoderInfo &decoder) {
  GoldenCase one;
  one.source = readIds(json.at("source"), decoder.sourceVocabulary);
  one.target = readIds(json.at("target"), decoder.targetVocabulary);
  one.ended = json.at("ended").boolean();
  one.logProbabilities = readFloats(json.at("log_probabilities"));
  if (one.source.empty() || one.logProbabilities.size() != one.target.size() + 1)
    json.reject("needs a source, and one log-probability more than target ids");
  return one;
}

/// `network`: what the cases are of, an EncoderInfo or a DecoderInfo.
template <typename Network> GoldenInfo readGolden(const JsonReader &json, const Network &network) {
  GoldenInfo golden;
  if (json.isEmptyObject())
    return golden;
  golden.variant = json.at("variant").string();
  for (const JsonReader &one : json.at("cases").elements())
    golden.cases.push_back(readGoldenCase(one, network));
  return golden;
}

/// Checks the list of kernels at `key`, if there is one: those that multiply numbers of a type, which
/// profiles alone ask for.
void checkKernels(const JsonReader &json, const char *key, const std::set<std::string> &known) {
  if (!json.has(key))
    return;
  for (const JsonReader &kernel : json.at(key).elements())
    if (known.count(kernel.string()) == 0)
      kernel.reject("'", kernel.string(), "' is none of the bundle's kernels");
}

/// `kernels` are the bundle's.
std::vector<VariantInfo> readVariants(const JsonReader &json, const std::set<std::string> &kernels) {
  std::vector<VariantInfo> variants;
  std::vector<std::string> names;
  for (const JsonReader &variant : json.elements()) {
    names.push_back(readName(variant.at("name")));
    variants.push_back({names.back(), variant.at("features").string()});
    checkKernels(variant, "bf16_kernels", kernels);
    checkKernels(variant, "tuned_kernels", kernels);
  }
  requireDistinct(names, json);
  if (variants.empty())
    json.reject("is empty");
  return variants;
}

/// The last field is the hash of all text before it, so no bit of the file can change unnoticed.
void checkSeal(std::string_view text, const std::string &path) {
  constexpr std::string_view before = ",\n \"hash\": \"", after = "\"\n}\n";
  constexpr size_t size = before.size() + 32 + after.size();
  const std::string hash = hash128(text.substr(0, text.size() - std::min(size, text.size())));
  check(text.ends_with(std::string(before) + hash + std::string(after)), ATTNRT_BAD_BUNDLE, path,
        ": does not end with the hash of its text: it is damaged or was changed by hand");
}

/// Of all but what other weights change.
std::string hashManifest(nlohmann::json json) {
  const auto strip = [](nlohmann::json &object) {
    if (object.is_object())
      object.erase("hash");
  };
  if (json.is_object()) {
    json.erase("golden");
    json.erase("hash");
    json.erase("library_hash"); // the library holds the hash of the manifest
    if (json.contains("weights")) {
      strip(json["weights"]);
      if (json["weights"].is_object() && json["weights"].contains("tensors"))
        for (nlohmann::json &tensor : json["weights"]["tensors"])
          strip(tensor);
    }
  }
  return hash128(json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

} // namespace

bool TokensInfo::isLanguage(int32_t id) const {
  return std::any_of(languages.begin(), languages.end(), [&](const auto &each) { return each.second == id; });
}

int64_t WeightsInfo::narrowestBytes() const {
  int64_t bytes = sizeof(float);
  for (const WeightInfo &tensor : tensors)
    bytes = std::min(bytes, tensor.elementBytes);
  return bytes;
}

int Manifest::findEntry(std::string_view wanted) const {
  const auto found =
      std::find_if(entries.begin(), entries.end(), [&](const auto &e) { return e.name == wanted; });
  return found == entries.end() ? -1 : static_cast<int>(found - entries.begin());
}

int Manifest::findSize(std::string_view wanted) const {
  const auto found = std::find(sizes.begin(), sizes.end(), wanted);
  return found == sizes.end() ? -1 : static_cast<int>(found - sizes.begin());
}

TokenizerInfo readTokenizerInfo(const JsonReader &json) {
  constexpr std::pair<std::string_view, TokenizerKind> kinds[] = {
      {"sentencepiece", TokenizerKind::SentencePiece},
      {"tokenizer_json", TokenizerKind::TokenizerJson},
      {"vocabulary", TokenizerKind::Vocabulary},
      {"characters", TokenizerKind::Characters},
  };
  const std::string kind = json.at("kind").string();
  if (kind == "ids")
    return {};
  const auto known =
      std::find_if(std::begin(kinds), std::end(kinds), [&](auto &k) { return k.first == kind; });
  if (known == std::end(kinds))
    json.reject("kind '", kind, "' is none of sentencepiece, tokenizer_json, vocabulary, characters and ids");
  TokenizerInfo info{known->second, json.at("file").fileName(), {}, {}, {}};
  if (json.has("hash"))
    info.hash = json.at("hash").hash();
  if (info.kind == TokenizerKind::SentencePiece && json.has("vocabulary")) {
    info.vocabulary = json.at("vocabulary").fileName();
    if (json.has("vocabulary_hash"))
      info.vocabularyHash = json.at("vocabulary_hash").hash();
  }
  return info;
}

Manifest readManifest(std::string_view text, const std::string &path) {
  checkSeal(text, path);
  nlohmann::json parsed = parseJson(text, path);
  const JsonReader json(parsed, path);
  const int64_t format = json.at("format").integer(0, largest);
  if (format != 1)
    json.reject("format is ", format, "; this runtime reads format 1");
  Manifest manifest;
  manifest.name = readName(json.at("name"));
  manifest.sizes = readNames(json.at("sizes"));
  std::vector<std::string> entryNames;
  for (const JsonReader &entry : json.at("entries").elements())
    entryNames.push_back(manifest.entries.emplace_back(readEntry(entry, manifest)).name);
  requireDistinct(entryNames, json.at("entries"));
  manifest.state = Formula(json.at("state").string(), manifest.sizes);
  const std::vector<std::string> kernels = readNames(json.at("kernels"));
  const std::set<std::string> known(kernels.begin(), kernels.end());
  manifest.variants = readVariants(json.at("variants"), known);
  manifest.kernelCount = kernels.size();
  manifest.mayRound = std::any_of(kernels.begin(), kernels.end(), [](const std::string &kernel) {
    return kernel.find("_bf16") != kernel.npos;
  });
  checkKernels(json, "int8_kernels", known);
  if (json.has("library_hash"))
    manifest.libraryHash = json.at("library_hash").hash();
  json.at("code").hash(); // only the descriptor's hash, which covers it, knows the right one
  manifest.weights = readWeights(json.at("weights"));
  const std::string kind = json.at("kind").string();
  if (kind == "encoder_decoder" || kind == "decoder") {
    manifest.decoder = readDecoder(json, /*hasSource=*/kind == "encoder_decoder");
    manifest.golden = readGolden(json.at("golden"), *manifest.decoder);
  } else if (kind == "encoder") {
    manifest.encoder = readEncoder(json);
    manifest.golden = readGolden(json.at("golden"), *manifest.encoder);
  } else if (kind != "graph") {
    json.reject("kind '", kind, "' is none of encoder_decoder, encoder, decoder and graph");
  }
  const std::string &recorded = manifest.golden.variant;
  const auto isRecorded = [&](const VariantInfo &variant) { return variant.name == recorded; };
  if (!recorded.empty() && std::none_of(manifest.variants.begin(), manifest.variants.end(), isRecorded))
    json.at("golden").reject("variant '", recorded, "' is none of the bundle's");
  manifest.hash = hashManifest(std::move(parsed));
  return manifest;
}

std::string manifestHash(std::string_view text) { return hashManifest(parseJson(text, "manifest.json")); }

} // namespace attnrt
