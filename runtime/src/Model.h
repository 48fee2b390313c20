//===- Model.h - a loaded bundle ---------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ATTNRT_SRC_MODEL_H
#define ATTNRT_SRC_MODEL_H

#include "Manifest.h"
#include "Tokenizer.h"
#include "WeightFile.h"

#include <memory>

namespace attnrt {

/// The bundle's shared library, open as long as this lives.
class SharedLibrary {
public:
  explicit SharedLibrary(const std::string &path);
  ~SharedLibrary();
  SharedLibrary(const SharedLibrary &) = delete;
  SharedLibrary &operator=(const SharedLibrary &) = delete;

  void *find(const std::string &symbol) const;

private:
  std::string path;
  void *handle;
};

/// Code, manifest, weights and tokenizers that have been found to belong together. Immutable.
class Model {
public:
  /// `descriptor` null: it is looked up in the folder's shared library.
  Model(const std::string &folder, const attnrt_descriptor *descriptor, const attnrt_model_options &options);

  /// Compares the library, unless its code was given, and the weights to their hashes.
  void verify() const;

  const Manifest &manifest() const { return info; }
  const std::string &manifestText() const { return text; }
  const WeightFile &weights() const { return weightFile; }
  const VariantInfo &variant() const { return info.variants[chosen]; }
  void *const *kernels() const { return descriptor->variants[chosen].kernels; }
  const attnrt_entry &entry(int index) const { return descriptor->entries[index]; }

  /// The bytes for `sizes` (in the manifest's order), which code and manifest must agree on. A failure where
  /// the entry cannot work with such sizes.
  int64_t arenaBytes(int entry, const std::vector<int64_t> &sizes) const;
  int64_t stateBytes(const std::vector<int64_t> &sizes) const;

  /// What an encoder-decoder has; a failure for other bundles.
  const DecoderInfo &decoder() const;
  /// What an encoder that stands alone has; a failure for other bundles.
  const EncoderInfo &encoder() const;
  /// A failure for graphs.
  const TokensInfo &tokens() const;
  const Tokenizer &tokenizer(int32_t side) const;
  int32_t vocabulary(int32_t side) const;
  /// The decoder's default `bad_words_ids`, as the C interface has them.
  const std::vector<attnrt_ids> &badWords() const { return badWordViews; }
  /// The decoder's default shortlist, likewise; empty: none.
  const attnrt_ids &shortlist() const { return shortlistView; }

private:
  void verifyLibrary() const;
  void checkDescriptor() const;
  void checkBounds(const EntryInfo &entry, const std::vector<int64_t> &sizes) const;
  void chooseVariant(const char *wanted);
  void loadTokenizers(const std::string &folder);

  std::string text;
  Manifest info;
  std::string libraryPath;
  std::unique_ptr<SharedLibrary> library; // none where the code was given
  const attnrt_descriptor *descriptor;
  WeightFile weightFile;
  size_t chosen = 0;
  std::shared_ptr<const Tokenizer> source,
      target; // one for both where they are alike; an encoder alone has no target
  std::vector<attnrt_ids> badWordViews;
  attnrt_ids shortlistView{};
};

} // namespace attnrt

#endif // ATTNRT_SRC_MODEL_H
