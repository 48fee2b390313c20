//===- ImportJob.h - one folder on its way to a spec -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What the readers of the model families share: the source's files, and the spec that grows.

#ifndef ATTNC_HUGGINGFACE_IMPORTJOB_H
#define ATTNC_HUGGINGFACE_IMPORTJOB_H

#include "compiler/huggingface/Config.h"
#include "compiler/huggingface/SpecText.h"
#include "compiler/spec/WeightFiles.h"

#include <filesystem>
#include <map>

namespace attnc {

/// Codes of the source's and the target's language; empty where the folder decides.
struct ImportLanguages {
  std::string source, target;
};

struct ImportJob {
  std::filesystem::path folder; // the source
  Config &config;               // config.json
  Config &generation;           // generation_config.json
  const WeightFiles &weights;
  ImportLanguages languages;
  SpecText spec = {};

  std::vector<std::filesystem::path> copies = {}; // of the tokenizer's files, for the folder that is written
  std::map<std::string, std::string> texts = {};  // files to write there, by their names
  std::vector<std::string> warnings = {}, errors = {}; // of other files than the two configs
  bool hasMaskToken = false;                           // the spec needs its id
  bool isFirstTokenKnown = false;                      // the target's, by the generation config

  /// The first of `names` that the weight files have; where they have none, the first, which is then reported
  /// as missing when the spec is checked.
  std::string tensor(std::initializer_list<std::string> names) const;
};

/// Fills in `model` and `weights.names`, one family each. What cannot be represented is reported to the
/// config.
void importBart(ImportJob &job); // and mBART, Marian, Pegasus, M2M-100, NLLB
void importBert(ImportJob &job);
void importBertPair(ImportJob &job); // encoder-decoder
void importGpt2(ImportJob &job);
void importT5(ImportJob &job); // and mT5

/// The word of the reference for the config's activation function `name`, which stands under `key`.
std::string activationWord(Config &config, std::string_view key, const std::string &fallback);

/// Passes over keys of every config that say nothing about the computation.
void passOverBookkeeping(Config &config);

/// Passes over how `generate` is to be called.
void passOverGeneration(Config &config);

/// `[1, 2]`, as YAML has it.
std::string listText(const std::vector<int64_t> &ids);

/// Reports any of the config's architectures that is not in `known`.
void checkArchitectures(Config &config, std::initializer_list<std::string_view> known);

/// What Hugging Face's lengths count besides the tokens that are new: of an encoder-decoder the start token,
/// of a decoder that stands alone the prompt.
enum class Lengths { WithStart, WithPrompt };

/// `model.tokens` but the source's, and `model.decoding`.
void importDecoding(ImportJob &job, int64_t longest, Lengths counted = Lengths::WithStart);

/// `model.tokenizer`, and `model.tokens.source_...`, from the tokenizer's files; after importDecoding().
void importTokenizer(ImportJob &job);

} // namespace attnc

#endif // ATTNC_HUGGINGFACE_IMPORTJOB_H
