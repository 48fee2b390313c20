//===- LinkBundle.h - objects to the bundle's libraries --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Joins entries, kernels and the Halide shim into one object in which only the exported symbols are global,
// and makes of it libNAME.so (with ld.lld) and libNAME.a. Neither needs another library than C's.

#ifndef ATTNC_COMPILER_EMIT_LINKBUNDLE_H
#define ATTNC_COMPILER_EMIT_LINKBUNDLE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace attnc {

struct LinkJob {
  std::string bundle;               // NAME
  std::vector<std::string> objects; // paths
  std::vector<std::string> exports; // symbols
  std::string scratch;              // folder for what lies between
  std::string folder;               // where the libraries go
};

llvm::Error linkBundle(const LinkJob &job);

} // namespace attnc

#endif // ATTNC_COMPILER_EMIT_LINKBUNDLE_H
