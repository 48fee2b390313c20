//===- GoldenVectors.h - decodings recorded in a bundle --------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ATTNC_COMPILER_EMIT_GOLDENVECTORS_H
#define ATTNC_COMPILER_EMIT_GOLDENVECTORS_H

#include "compiler/emit/BundleFolder.h"

namespace attnc {

/// Runs the least demanding variant of the finished bundle in `folder` and puts what it decodes into its
/// manifest, for `attnc inspect --self-check`. Where this machine cannot run it, or the bundle is of graphs,
/// nothing is recorded.
llvm::Error recordGolden(const BundleFolder &folder);

} // namespace attnc

#endif // ATTNC_COMPILER_EMIT_GOLDENVECTORS_H
