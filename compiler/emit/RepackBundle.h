//===- RepackBundle.h - other weights for a bundle -------------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ATTNC_COMPILER_EMIT_REPACKBUNDLE_H
#define ATTNC_COMPILER_EMIT_REPACKBUNDLE_H

#include "compiler/emit/StoredWeights.h"
#include "compiler/spec/Spec.h"
#include "llvm/Support/Error.h"

#include <string>

namespace attnc {

/// Fills `bundle` from the weights in `source` as its manifest says; its code stays. Constants are kept.
llvm::Expected<std::vector<WeightError>> repackBundle(const std::string &bundle, const WeightSource &source);

} // namespace attnc

#endif // ATTNC_COMPILER_EMIT_REPACKBUNDLE_H
