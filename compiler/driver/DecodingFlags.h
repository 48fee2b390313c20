//===- DecodingFlags.h - the flags of attnc run that steer decoding ----------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ATTNC_COMPILER_DRIVER_DECODINGFLAGS_H
#define ATTNC_COMPILER_DRIVER_DECODINGFLAGS_H

#include "compiler/driver/BundleCommand.h"

#include <optional>

namespace CLI {
class App;
}

namespace attnc {

/// What the command line says; what it does not say is the bundle's default.
struct DecodingFlags {
  std::optional<int> beam, nBest, minLength, maxLength, beamGroups, ngramSize;
  std::optional<float> lengthPenalty, patience, diversityPenalty, coveragePenalty, repetitionPenalty;
  std::optional<std::string> earlyStopping;
  std::optional<Ids> suppressed, beginSuppressed;
  std::optional<int> forcedFirst, forcedLast, alternatives, topK;
  std::vector<std::string> badWords; // ids, separated by white space
  std::string shortlistFile;
  std::string targetLanguage; // its code
  std::optional<float> minAlternativeProbability, topP, minP, typicalP, temperature;
  bool renormalizes = false;
  std::optional<bool> samples;
  std::optional<uint64_t> seed;
};

void addDecodingFlags(CLI::App &command, DecodingFlags &flags);

/// The bundle's options, changed by flags; owns what they point to.
class DecodingOptions {
public:
  DecodingOptions(const Model &model, const DecodingFlags &flags);
  DecodingOptions(const DecodingOptions &) = delete;

  attnrt_decode_options &operator*() { return options; }
  attnrt_decode_options *operator->() { return &options; }
  const attnrt_decode_options *operator->() const { return &options; }

  /// Changes `room` so that these options fit.
  void reserve(attnrt_session_options &room) const;

private:
  void setSearch(const DecodingFlags &flags);
  void setTokenRules(const DecodingFlags &flags);
  void setSampling(const DecodingFlags &flags);
  void refuseIdle(const DecodingFlags &flags) const;

  attnrt_decode_options options;
  std::vector<Ids> badWords;
  std::vector<attnrt_ids> badWordViews;
  Ids suppressed, beginSuppressed, shortlist;
  attnrt_ids shortlistView{};
};

} // namespace attnc

#endif // ATTNC_COMPILER_DRIVER_DECODINGFLAGS_H
