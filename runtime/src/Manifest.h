//===- Manifest.h - manifest.json, checked -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What a bundle says about itself. The text is not trusted: readManifest() checks every field's type, range
// and consistency with the others, so that the rest of the runtime need not.

#ifndef ATTNRT_SRC_MANIFEST_H
#define ATTNRT_SRC_MANIFEST_H

#include "Formula.h"
#include "Json.h"
#include "attnrt/attnrt.h"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attnrt {

/// A letter or digit of ASCII, whatever the host's locale.
inline bool isAlphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/// An argument or result of an entry: dense, axes named by a size or fixed.
struct TensorInfo {
  std::string name;
  std::string type;               // i32 or f32
  std::vector<std::string> shape; // a size's name, or a number
};

/// What a formula over the sizes may be at most.
struct SizeBound {
  std::string text;
  Formula formula;
  int64_t most = 0;
};

struct EntryInfo {
  std::string name;
  std::vector<TensorInfo> arguments, results;
  Formula arena;
  std::vector<SizeBound> bounds;
};

enum class TokenizerKind { Ids, SentencePiece, TokenizerJson, Vocabulary, Characters };

struct TokenizerInfo {
  TokenizerKind kind = TokenizerKind::Ids;
  std::string file;                       // inside the bundle; empty for ids
  std::string hash;                       // of the file; empty where the manifest has none
  std::string vocabulary, vocabularyHash; // of SentencePiece: the file with the ids of its pieces, if any

  bool operator==(const TokenizerInfo &) const = default;
};

struct TokensInfo {
  int32_t start = 0;
  std::vector<int32_t> ends; // of a decoder: one or more; scores of given outputs have the first
  std::optional<int32_t> pad, unknown, mask, sourceUnknown;
  std::vector<int32_t> sourceStart, sourceEnd; // around each source text
  std::map<std::string, int32_t> languages;    // which a request may choose, by their codes

  bool isLanguage(int32_t id) const;
};

struct DecodingInfo {
  int32_t beam = 1, maxLength = 1, minLength = 0;
  float lengthPenalty = 1;
  attnrt_stopping stopping = ATTNRT_STOP_EARLY;
  float patience = 1;
  int32_t beamGroups = 1;
  float diversityPenalty = 0, coveragePenalty = 0;
  float repetitionPenalty = 1;
  int32_t noRepeatNgramSize = 0;
  std::vector<int32_t> suppressed, beginSuppressed;
  std::vector<std::vector<int32_t>> badWords;
  std::optional<int32_t> forcedFirst, forcedLast;
  std::vector<int32_t> shortlist;
  bool renormalizes = false;
  int32_t nBest = 1;
  bool alternatives = false;
  float minAlternativeProbability = 0;
  bool samples = false;
  int32_t topK = 0;
  float temperature = 1, topP = 1, minP = 0, typicalP = 1;
};

struct VariantInfo {
  std::string name, features;
};

struct WeightInfo {
  std::string name, hash;
  int64_t offset = 0, bytes = 0;
  const char *type = "F32"; // in the weight file
  int64_t elementBytes = 4;
};

struct WeightsInfo {
  std::string file, hash;
  int64_t bytes = 0; // of the data part
  std::vector<WeightInfo> tensors;

  /// Bytes of an element of the narrowest ones.
  int64_t narrowestBytes() const;
};

/// One recorded decoding, or what an encoder gave for the source's last token; see Golden.h.
struct GoldenCase {
  std::vector<int32_t> source, target; // target: of an encoder, its best predictions
  std::vector<float> logProbabilities; // of the target's tokens and, of a decoder, the end token
  bool ended = false;
  std::vector<float> hidden; // an encoder's first elements
};

struct GoldenInfo {
  std::string variant; // which variant gave the cases
  std::vector<GoldenCase> cases;
};

/// Everything that only an encoder that stands alone has.
struct EncoderInfo {
  int32_t width = 0, vocabulary = 0;
  int32_t tokenTypes = 0; // 0: tokens have no types
  bool hasPooler = false;
  std::optional<int64_t> sourceLimit;
  TokensInfo tokens; // without start and end
  TokenizerInfo tokenizer;
};

/// Everything that only a model that decodes has.
struct DecoderInfo {
  bool hasSource = true; // false: it continues prompts, and what is called source is the prompt
  std::optional<int64_t> sourceLimit, targetLimit;
  int32_t sourceVocabulary = 0, targetVocabulary = 0;
  TokensInfo tokens;
  TokenizerInfo sourceTokenizer, targetTokenizer;
  DecodingInfo decoding;
};

struct Manifest {
  std::string name;
  std::vector<std::string> sizes;
  std::vector<EntryInfo> entries;
  Formula state;
  std::optional<EncoderInfo> encoder; // nothing for other kinds
  std::optional<DecoderInfo> decoder; // nothing for other kinds
  std::vector<VariantInfo> variants;
  size_t kernelCount = 0;
  bool mayRound = false; // some kernel has numbers of bfloat16
  WeightsInfo weights;
  GoldenInfo golden;
  std::string hash;        // as the descriptor has it
  std::string libraryHash; // of the shared library; empty: not known

  /// Its number, or -1.
  int findEntry(std::string_view name) const;
  int findSize(std::string_view name) const;
};

/// What a manifest says of one side's tokenizer.
TokenizerInfo readTokenizerInfo(const JsonReader &json);

/// Reads and checks the text of a manifest; `path` is where messages say it is.
Manifest readManifest(std::string_view text, const std::string &path);

/// The hash that ties code and manifest together: of all but what other weights change.
std::string manifestHash(std::string_view text);

} // namespace attnrt

#endif // ATTNRT_SRC_MANIFEST_H
