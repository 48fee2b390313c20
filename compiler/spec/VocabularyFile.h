//===- VocabularyFile.h - files that list tokens ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Reads the list of a `vocabulary` or `characters` tokenizer: a JSON list of texts, or a text with one token
// a line.

#ifndef ATTNC_SPEC_VOCABULARYFILE_H
#define ATTNC_SPEC_VOCABULARYFILE_H

#include <optional>
#include <string>
#include <vector>

namespace attnc {

/// The tokens in the order of their ids; nothing with an `error` where the file is none of the two.
std::optional<std::vector<std::string>> readVocabulary(const std::string &path, std::string &error);

} // namespace attnc

#endif // ATTNC_SPEC_VOCABULARYFILE_H
