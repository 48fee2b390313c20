//===- ToyBundle.h - a hand-made bundle with made-up probabilities ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A "language model" behind the same interface as compiled code: each token's probability is a hash of the
// source and of all tokens before it. It keeps its history in state memory and finds it through `ancestors`,
// as compiled decoders do, so every mistake in rows, slots and positions changes its answers.

#ifndef ATTNC_TESTS_RUNTIME_TOYBUNDLE_H
#define ATTNC_TESTS_RUNTIME_TOYBUNDLE_H

#include "attnrt/attnrt.hpp"

#include <nlohmann/json.hpp>

#include <atomic>
#include <filesystem>
#include <string>

namespace toy {

using attnrt::api::Ids;

constexpr int32_t sourceVocabulary = 11, targetVocabulary = 7;
constexpr int32_t pad = 0, start = 1, end = 2;

/// The log-probabilities of the token after `history` (which begins with the start token).
std::vector<float> nextLogProbabilities(const Ids &source, const Ids &history);

/// Those of the toy without a source; `history` begins with the prompt.
std::vector<float> nextLogProbabilities(const Ids &history);

/// What these are below the logits.
float nextLogSum(const Ids &source, const Ids &history);

/// What happened inside the entries, to be checked from outside.
struct Trace {
  std::atomic<int> encodes{0}, steps{0};
  std::atomic<int64_t> rows{0};    // of all steps
  std::atomic<int64_t> encoded{0}; // tokens, with padding
  std::atomic<int> failAtStep{-1}; // that step reports an error
  std::atomic<int> failAtEncode{-1};
  std::atomic<int> listed{7};  // candidates of a step that are any; the others have no id
  std::atomic<float> shift{0}; // of the log-probabilities of steps
};
Trace &trace();
/// As before any test.
void resetTrace();

extern const attnrt_descriptor *descriptor();

/// The code of the toy without a source, whose manifest is `promptManifest`.
attnrt_descriptor promptDescriptor(const char *hash);
nlohmann::ordered_json promptManifest();

/// A bundle's folder without the library, removed at the end.
class Folder {
public:
  Folder();
  ~Folder();
  Folder(const Folder &) = delete;
  Folder &operator=(const Folder &) = delete;

  std::string path() const { return folder.string(); }
  std::string read(const std::string &file) const;
  void write(const std::string &file, const std::string &content) const;

  /// Tries to load the folder as it is now: the message of the failure, empty where it loads.
  std::string loadError(const attnrt_model_options *options = nullptr) const;
  /// As above with the descriptor's hash made to fit the manifest: as if a compiler had written it.
  std::string loadErrorOfTrusted(const std::string &manifest) const;

private:
  std::filesystem::path folder;
};

/// The manifest that Folder writes.
nlohmann::ordered_json manifest();

/// A manifest's text with the hash that it ends with.
std::string sealed(std::string text);

/// A descriptor that differs in its hash alone.
attnrt_descriptor withHash(const char *hash);

} // namespace toy

#endif // ATTNC_TESTS_RUNTIME_TOYBUNDLE_H
