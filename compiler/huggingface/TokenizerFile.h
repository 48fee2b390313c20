//===- TokenizerFile.h - files that tokenizers are saved in ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Reads what an importer has to know of a tokenizer: the ids of its tokens, and what it puts around a text.

#ifndef ATTNC_HUGGINGFACE_TOKENIZERFILE_H
#define ATTNC_HUGGINGFACE_TOKENIZERFILE_H

#include "nlohmann/json.hpp"

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace attnc {

/// What is wrong with a file, with its name.
struct TokenizerError {
  std::string message;
};

using TokenIds = std::map<std::string, int64_t>;

/// A JSON object of at most 64 MiB. Throws a TokenizerError.
nlohmann::json readJsonFile(const std::filesystem::path &path);

/// The lines of a text file. Throws a TokenizerError.
std::vector<std::string> readLines(const std::filesystem::path &path);

/// An object of tokens and ids; `path` is for messages. Throws a TokenizerError.
TokenIds readTokenIds(const nlohmann::json &object, const std::filesystem::path &path);

/// Ids of tokens before and after each text.
struct AroundText {
  std::vector<int64_t> before, after;
};

/// The tokens of a tokenizer.json. Throws a TokenizerError.
TokenIds tokensOf(const nlohmann::json &tokenizer, const std::filesystem::path &path);

/// What the post-processor of a tokenizer.json puts around a text. Throws a TokenizerError, which names the
/// kind of post-processor that is not supported.
AroundText postProcessing(const nlohmann::json &tokenizer, const std::filesystem::path &path);

} // namespace attnc

#endif // ATTNC_HUGGINGFACE_TOKENIZERFILE_H
