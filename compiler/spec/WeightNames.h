//===- WeightNames.h - which weights a model has, and their names ----------===//
// SPDX-License-Identifier: Apache-2.0
//
// Lists every weight of a model with its shape, and expands the patterns of `weights.names`.

#ifndef ATTNC_SPEC_WEIGHTNAMES_H
#define ATTNC_SPEC_WEIGHTNAMES_H

#include "compiler/spec/Diagnostics.h"
#include "compiler/spec/Spec.h"

#include <string>
#include <string_view>
#include <vector>

namespace attnc {

/// One weight. `part` counts the projections q, k, v, o (the last two of a recurrent decoder's attention: the
/// vector of additive scores, and what joins context and state), or the linears of a feed-forward: the one
/// into it, the one out of it, and where it is gated the one that multiplies. Of a cell it counts the
/// matrices ih and hh, then those of the reverse direction; of a bridge the states h and c.
struct WeightUse {
  WeightRole role;
  int64_t layer = 0;
  unsigned part = 0;
  bool isBias = false;
  std::vector<int64_t> shape = {}; // width, or out x in
};

/// All weights that `model` has, each once, in the order of the computation.
std::vector<WeightUse> weightsOf(const ModelSpec &model);

/// The same, of a recurrent model.
std::vector<WeightUse> recurrentWeightsOf(const ModelSpec &model);

/// Sizes of a recurrent model that follow from others: gates of a cell, width of the encoder's rows, of what
/// crosses the bridge, of what the first decoder cell reads, and of what the logits read.
int64_t gateCount(const ModelSpec &model);
std::string gateLetters(const ModelSpec &model); // in PyTorch's order
int64_t memoryWidth(const ModelSpec &model);
int64_t bridgeWidth(const ModelSpec &model);
int64_t decoderInputWidth(const ModelSpec &model);
int64_t outputWidth(const ModelSpec &model);
bool hasBridgeLinear(const ModelSpec &model);

/// The tables that embed the source and the target, and the one that gives the logits, as tied.
WeightRole sourceTable(const ModelSpec &model);
WeightRole targetTable(const ModelSpec &model);
WeightRole outputTable(const ModelSpec &model);

/// The keys of `weights.names`, by role.
std::string_view roleKey(WeightRole role);

/// Whether the role's matrix is a linear's, which a file may hold in x out.
bool isLinear(WeightRole role);

/// Whether `use` is a matrix that a linear multiplies with, the output table included.
bool isMatrixOfLinear(const ModelSpec &model, const WeightUse &use);

/// The name that `pattern` gives to a weight.
std::string expandPattern(std::string_view pattern, const WeightUse &use);

/// The name by default, which is also the weight's symbol.
std::string symbolOf(const WeightUse &use);

/// Placeholders that say the same in each name of `role`, so that a pattern may lack them.
std::vector<std::string_view> needlessPlaceholders(const ModelSpec &model, WeightRole role);

/// Reports unknown and missing placeholders. `model` may be null.
void checkPattern(WeightRole role, const Located<std::string> &pattern, const ModelSpec *model,
                  Diagnostics &diagnostics);

} // namespace attnc

#endif // ATTNC_SPEC_WEIGHTNAMES_H
