//===- WeightSource.h - where the numbers of weights come from -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Tensors of a safetensors file, or random ones.

#ifndef ATTNC_COMPILER_EMIT_WEIGHTSOURCE_H
#define ATTNC_COMPILER_EMIT_WEIGHTSOURCE_H

#include "compiler/spec/Spec.h"
#include "llvm/Support/Error.h"

#include <functional>
#include <set>
#include <string>
#include <vector>

namespace attnc {

/// Gives the tensor `name` of the given shape, row by row.
using TensorReader = std::function<llvm::Expected<std::vector<float>>(const std::string &name,
                                                                      const std::vector<int64_t> &shape)>;

/// What `source` names; where it names nothing, reading a tensor is an error. For `normScales` see
/// drawTensors().
llvm::Expected<TensorReader> openTensors(const WeightSource &source, std::set<std::string> normScales);

/// Tensors of a file, an index or a folder (see WeightFiles.h), in float32, float16 or bfloat16.
llvm::Expected<TensorReader> readTensorsFromFile(const std::string &path);

/// Tensors drawn from `seed` and their own name: matrices uniform within Glorot and Bengio's bound (2010, eq.
/// 16), so that activations neither vanish nor grow; vectors near zero, or near one if named in `normScales`.
TensorReader drawTensors(uint64_t seed, std::set<std::string> normScales);

} // namespace attnc

#endif // ATTNC_COMPILER_EMIT_WEIGHTSOURCE_H
