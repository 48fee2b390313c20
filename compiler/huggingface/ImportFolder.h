//===- ImportFolder.h - a Hugging Face folder to a spec --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The way into this library: config.json, weights and tokenizer become a model.yaml that a person can edit,
// with the files it names beside it.

#ifndef ATTNC_HUGGINGFACE_IMPORTFOLDER_H
#define ATTNC_HUGGINGFACE_IMPORTFOLDER_H

#include <iosfwd>
#include <string>

namespace attnc {

struct ImportOptions {
  std::string source; // the folder to read
  std::string output; // the folder to write; the source itself: only model.yaml is added
  std::string sourceLanguage, targetLanguage; // codes, as the tokenizer names languages; empty: the folder's
};

/// Writes the spec and copies what it names. False after errors, which `messages` gets with the warnings;
/// nothing of what was begun is left behind then. It throws nothing.
bool importFolder(const ImportOptions &options, std::ostream &messages);

} // namespace attnc

#endif // ATTNC_HUGGINGFACE_IMPORTFOLDER_H
