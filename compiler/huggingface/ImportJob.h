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
#include <set>

namespace attnc {

/// Codes of the source's and the target's language; empty where the folder decides.
struct ImportLanguages {
  std::string source, target;
};

/// Tokens that the library takes where a folder does not name them, by its class of the config.
struct DefaultTokens {
  std::optional<int64_t> start, end, pad;
};

/// The tables of a network's tokens, by their names in the weight files.
struct TableNames {
  std::string source, target, output;
};

/// Whether the source's table is the target's, and the target's the output's.
struct TiedTables {
  bool sides, output;
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
  std::set<std::string> passedOver = {};               // tensors that need no reader

  /// Whether two names mean the same numbers: one of the tensors needs no reader then.
  bool areSame(const std::string &kept, const std::string &other);
};

/// Fills in `model` and `weights.names`, one family each. What cannot be represented is reported to the
/// config.
void importBart(ImportJob &job); // and mBART, Marian, Pegasus, M2M-100, NLLB
void importBert(ImportJob &job);
void importBertPair(ImportJob &job); // encoder-decoder
void importGpt2(ImportJob &job);
void importT5(ImportJob &job); // and mT5

/// The word of the reference for the config's activation function `name`, which stands under `key`.
std::string activationWord(Config &config, std::string_view key, const std::string &name);

/// Passes over keys of every config that say nothing about the computation.
void passOverBookkeeping(Config &config);

/// Passes over how `generate` is to be called.
void passOverGeneration(Config &config);

/// `[1, 2]`, as YAML has it.
std::string listText(const std::vector<int64_t> &ids);

/// Reports any of the config's architectures that is not in `known`.
void checkArchitectures(Config &config, std::initializer_list<std::string_view> known);

/// The tables of an encoder-decoder by their usual names; those that the files lack are the ones they are
/// tied to, as the config has it: the source's and the target's to each other, the output's to the target's.
TableNames findTables(ImportJob &job, const std::string &prefix, bool isShared, bool isTied);

/// Sets `embedding.tied` as the tensors are, and the names of the tables but the output's.
TiedTables importTables(ImportJob &job, const TableNames &tables);

/// Warns that tables which the config ties are not one.
void warnThatTablesDiffer(ImportJob &job, const std::set<std::string> &names);

/// Whether a table of positions holds the sinusoids of Marian and Pegasus as near as float32 does. One that
/// was rounded to half precision holds other numbers, and the library computes with them.
bool isSinusoid(const Tensor &table);

/// `lm_head.{parameter}` of `lm_head.weight`.
std::string patternOf(std::string_view weight);

/// What Hugging Face's lengths count besides the tokens that are new: of an encoder-decoder the start token,
/// of a decoder that stands alone the prompt.
enum class Lengths { WithStart, WithPrompt };

/// `model.tokens` but the source's, and `model.decoding`.
void importDecoding(ImportJob &job, int64_t longest, const DefaultTokens &tokens,
                    Lengths counted = Lengths::WithStart);

/// `model.tokenizer`, and `model.tokens.source_...`, from the tokenizer's files; after importDecoding().
void importTokenizer(ImportJob &job);

} // namespace attnc

#endif // ATTNC_HUGGINGFACE_IMPORTJOB_H
