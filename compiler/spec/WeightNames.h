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

/// One weight. `part` counts the projections q, k, v, o, or the linears of a feed-forward: the one into it,
/// the one out of it, and where it is gated the one that multiplies.
struct WeightUse {
  WeightRole role;
  int64_t layer = 0;
  unsigned part = 0;
  bool isBias = false;
  std::vector<int64_t> shape = {}; // width, or out x in
};

/// All weights that `model` has, each once, in the order of the computation.
std::vector<WeightUse> weightsOf(const ModelSpec &model);

/// The tables that embed the source and the target, and the one that gives the logits, as tied.
WeightRole sourceTable(const ModelSpec &model);
WeightRole targetTable(const ModelSpec &model);
WeightRole outputTable(const ModelSpec &model);

/// The keys of `weights.names`, by role.
std::string_view roleKey(WeightRole role);

/// Whether the role's matrix is a linear's, which a file may hold in x out.
bool isLinear(WeightRole role);

/// The name that `pattern` gives to a weight.
std::string expandPattern(std::string_view pattern, const WeightUse &use);

/// The name by default, which is also the weight's symbol.
std::string symbolOf(const WeightUse &use);

/// Reports unknown and missing placeholders. `linearCount` is how many linears a feed-forward has.
void checkPattern(WeightRole role, const Located<std::string> &pattern, size_t linearCount,
                  Diagnostics &diagnostics);

} // namespace attnc

#endif // ATTNC_SPEC_WEIGHTNAMES_H
