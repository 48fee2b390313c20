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

namespace attnc {

struct ImportJob {
  std::filesystem::path folder; // the source
  Config &config;               // config.json
  Config &generation;           // generation_config.json
  const WeightFiles &weights;
  SpecText spec = {};

  /// The first of `names` that the weight files have; where they have none, the first, which is then reported
  /// as missing when the spec is checked.
  std::string tensor(std::initializer_list<std::string> names) const;
};

/// Fills in `model` and `weights.names`, one family each. What cannot be represented is reported to the
/// config.
void importBart(ImportJob &job); // and mBART, Marian, Pegasus, M2M-100, NLLB

/// The word of the reference for the config's activation function `name`, which stands under `key`.
std::string activationWord(Config &config, std::string_view key, const std::string &fallback);

/// Reports any of the config's architectures that is not in `known`.
void checkArchitectures(Config &config, std::initializer_list<std::string_view> known);

/// `model.tokens` but the source's, and `model.decoding`.
void importDecoding(ImportJob &job, int64_t longest);

} // namespace attnc

#endif // ATTNC_HUGGINGFACE_IMPORTJOB_H
