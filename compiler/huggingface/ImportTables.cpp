//===- ImportTables.cpp - which tables of tokens are one -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The library's versions save different ones of the tables that are tied. The tensors decide, and the config
// where one is not there. Tables of positions that may be computed are compared with what would be.

#include "compiler/huggingface/ImportJob.h"
#include "compiler/spec/TensorNumbers.h"
#include "compiler/spec/Words.h"

#include <cmath>
#include <cstring>

namespace attnc {

/// Equal bits of one type; NaN equals itself.
static bool isEqual(const Tensor *a, const Tensor *b) {
  return a && b && a->type == b->type && a->shape == b->shape && std::memcmp(a->data, b->data, a->bytes) == 0;
}

bool ImportJob::areSame(const std::string &kept, const std::string &other) {
  bool isSame = kept == other || isEqual(weights.find(kept), weights.find(other));
  if (isSame && kept != other)
    passedOver.insert(other);
  return isSame;
}

/// The table called `name`, or where the files lack it, the first of those that it may be tied to. Those
/// after it must be the same, unless that is the one called `shared`, of which all are made.
static std::string findTable(ImportJob &job, const std::string &name, const std::string &shared,
                             const std::vector<std::string> &others) {
  if (job.weights.find(name) || job.weights.find(shared))
    return job.weights.find(name) ? name : shared;
  std::vector<std::string> found;
  for (const std::string &other : others)
    if (job.weights.find(other))
      found.push_back(other);
  if (found.empty())
    return shared;
  for (const std::string &other : found)
    if (!job.areSame(found.front(), other))
      job.errors.push_back("the weight file lacks " + quote(name) + ", and " + quote(found.front()) +
                           " and " + quote(other) + ", which it could be tied to, differ");
  return found.front();
}

TableNames findTables(ImportJob &job, const std::string &prefix, bool isShared, bool isTied) {
  const std::string shared = prefix + "shared.weight", source = prefix + "encoder.embed_tokens.weight",
                    target = prefix + "decoder.embed_tokens.weight", output = "lm_head.weight";
  auto orOutput = [&](const std::string &name) {
    return isTied && !job.weights.find(name) && job.weights.find(output) ? output : name;
  };
  if (!isShared)
    return {source, orOutput(target), isTied && !job.weights.find(output) ? target : output};
  job.passedOver.insert(shared); // nothing reads it where the others are there
  return {orOutput(findTable(job, source, shared, {target})),
          orOutput(findTable(job, target, shared, {source})),
          isTied ? findTable(job, output, shared, {target, source}) : output};
}

TiedTables importTables(ImportJob &job, const TableNames &tables) {
  TiedTables tied{job.areSame(tables.target, tables.source), job.areSame(tables.target, tables.output)};
  job.spec.set("model.embedding.tied", tied.sides    ? (tied.output ? "all" : "source_target")
                                       : tied.output ? "target_output"
                                                     : "none");
  if (tied.sides) {
    job.spec.setText("weights.names.shared_embedding", tables.target);
  } else {
    job.spec.setText("weights.names.source_embedding", tables.source);
    job.spec.setText("weights.names.target_embedding", tables.target);
  }
  return tied;
}

void warnThatTablesDiffer(ImportJob &job, const std::set<std::string> &names) {
  std::vector<std::string> quoted;
  for (const std::string &name : names)
    quoted.push_back(quote(name));
  job.warnings.push_back(
      "the config ties the tables of tokens, but these differ, and each is used as it is: " + listed(quoted));
}

bool isSinusoid(const Tensor &table) {
  std::optional<std::vector<float>> values = numbersOf(table);
  if (!values || table.shape.size() != 2 || table.shape[1] % 2)
    return false;
  int64_t positions = table.shape[0], width = table.shape[1], half = width / 2;
  // Half of the last place below 1 in float32. Angles may be rounded, too: by 2^-22 of their size at most,
  // were rates and products computed so.
  constexpr double rounding = 0x1p-24;
  for (int64_t position = 0; position < positions; ++position)
    for (int64_t j = 0; j < width; ++j) {
      double angle = double(position) * std::pow(10000.0, -double(j % half) / double(half));
      double wanted = j < half ? std::sin(angle) : std::cos(angle);
      if (!(std::abs((*values)[position * width + j] - wanted) <= rounding + 0x1p-22 * double(1 + position)))
        return false;
    }
  return true;
}

std::string patternOf(std::string_view weight) {
  return std::string(weight.substr(0, weight.rfind('.'))) + ".{parameter}";
}

} // namespace attnc
