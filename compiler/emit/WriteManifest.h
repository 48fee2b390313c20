//===- WriteManifest.h - manifest.json -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What docs/architecture.md shows under "Bundle", from the spec and the planned module.

#ifndef ATTNC_COMPILER_EMIT_WRITEMANIFEST_H
#define ATTNC_COMPILER_EMIT_WRITEMANIFEST_H

#include "compiler/emit/CompileKernels.h"
#include "compiler/emit/CpuVariant.h"
#include "compiler/emit/PackWeights.h"
#include "compiler/spec/Spec.h"
#include "mlir/IR/BuiltinOps.h"
#include <nlohmann/json_fwd.hpp>

namespace attnc {

/// What a tokenizer's file is called in the bundle, and what it holds; both empty where none is needed.
struct TokenizerFile {
  std::string name; // in the bundle
  std::string content;
  std::string origin; // as the spec names it
};

struct SideTokenizer {
  TokenizerFile file, vocabulary;
};

struct TokenizerFiles {
  SideTokenizer source, target;
};
/// `bundle`: its name, from which those of its own files come.
llvm::Expected<TokenizerFiles> readTokenizerFiles(const Spec &spec, const std::string &bundle);

/// Everything but what the kernels' objects tell, the hashes of the weights and the golden vectors.
nlohmann::ordered_json makeManifest(const Spec &spec, mlir::ModuleOp planned, llvm::StringRef bundle,
                                    llvm::ArrayRef<CpuVariant> variants,
                                    const std::vector<WeightRecipe> &weights,
                                    const TokenizerFiles &tokenizers);

/// Puts in which kernels of each variant add up products of bfloat16, and which are tuned.
void setKernels(nlohmann::ordered_json &manifest, llvm::ArrayRef<KernelObject> objects);

/// Puts the hashes of a weight file in.
void setWeightHashes(nlohmann::ordered_json &manifest, const WeightHashes &hashes);

/// Puts the hash of the bundle's shared library in, of which these are the bytes.
void setLibraryHash(nlohmann::ordered_json &manifest, llvm::StringRef library);

/// The hash that the descriptor has: of all that other weights leave as it is, but for the library's hash.
std::string manifestHash(const nlohmann::ordered_json &manifest);

/// As it stands in the bundle: the last field is the hash of all text before it.
std::string manifestText(const nlohmann::ordered_json &manifest);

} // namespace attnc

#endif // ATTNC_COMPILER_EMIT_WRITEMANIFEST_H
