//===- Tokenizer.h - text to token ids and back ------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ATTNRT_SRC_TOKENIZER_H
#define ATTNRT_SRC_TOKENIZER_H

#include "Manifest.h"

#include <memory>
#include <span>

namespace attnrt {

/// Turns text into ids and back, one vocabulary. Immutable: any number of threads may use it. Every id it
/// gives is in [0, size of the vocabulary).
class Tokenizer {
public:
  virtual ~Tokenizer() = default;

  virtual std::vector<int32_t> encode(std::string_view text) const = 0;
  /// Ids that the vocabulary does not have are left out.
  virtual std::string decode(std::span<const int32_t> ids) const = 0;
  /// One token as the vocabulary writes it; empty for an id that it does not have.
  virtual std::string tokenText(int32_t id) const = 0;
};

/// One side of a model.
struct Vocabulary {
  int32_t size = 0;
  std::optional<int32_t> unknown; // where text holds something else; without it such text is a failure

  bool operator==(const Vocabulary &) const = default;
};

/// Reads the side's file in `folder`.
std::unique_ptr<Tokenizer> makeTokenizer(const TokenizerInfo &info, const std::string &folder,
                                         const Vocabulary &vocabulary);

struct NamedContent {
  std::string path; // for messages
  std::string content;
};

/// The kinds, for makeTokenizer(): from the file's content; `path` is for messages.
std::unique_ptr<Tokenizer> makeSentencePieceTokenizer(const std::string &path, const std::string &content,
                                                      const Vocabulary &vocabulary);
std::unique_ptr<Tokenizer> makeMappedPieceTokenizer(const NamedContent &model, const NamedContent &ids,
                                                    const Vocabulary &vocabulary);
std::unique_ptr<Tokenizer> makeJsonTokenizer(const std::string &path, const std::string &content,
                                             const Vocabulary &vocabulary);
std::unique_ptr<Tokenizer> makeListTokenizer(TokenizerKind kind, const std::string &path,
                                             const std::string &content, const Vocabulary &vocabulary);

} // namespace attnrt

#endif // ATTNRT_SRC_TOKENIZER_H
