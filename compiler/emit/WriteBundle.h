//===- WriteBundle.h - planned module to bundle ----------------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ATTNC_COMPILER_EMIT_WRITEBUNDLE_H
#define ATTNC_COMPILER_EMIT_WRITEBUNDLE_H

#include "compiler/emit/BundleFolder.h"
#include "compiler/emit/CompileKernels.h"
#include "compiler/emit/PackWeights.h"
#include "compiler/spec/Spec.h"

namespace attnc {

struct BundleJob {
  const Spec &spec;
  mlir::ModuleOp planned;
  std::string name; // a C identifier
  std::vector<CpuVariant> variants;
  TensorReader weights;
  std::set<std::string> normScales; // see scalingTensors()
  KernelCompiler compiler;
};

/// The bundle's name from what the spec or the destination folder is called: letters, digits and `_`, at most
/// 64.
std::string bundleName(llvm::StringRef wanted);

/// Writes all of a bundle but its golden vectors into `folder`, and tells what rounding weights lost.
llvm::Expected<std::vector<WeightError>> writeBundle(const BundleJob &job, const BundleFolder &folder);

} // namespace attnc

#endif // ATTNC_COMPILER_EMIT_WRITEBUNDLE_H
