//===- Passes.h - passes over attn modules -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The passes of Passes.td and the pipeline that runs them up to a phase.

#ifndef ATTNC_DIALECT_TRANSFORMS_PASSES_H
#define ATTNC_DIALECT_TRANSFORMS_PASSES_H

#include "dialect/IR/Attn.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

#include <optional>

namespace attn {

#define GEN_PASS_DECL
#include "dialect/Transforms/Passes.h.inc"

/// Phases of an attn module, in order; see docs/architecture.md.
enum class Phase { Attn, Stepped, Fused, Quantised, Outlined, Planned };

std::optional<Phase> parsePhase(llvm::StringRef name);

/// Adds the passes that take a module of phase `attn` to `upTo`.
void buildPipeline(mlir::OpPassManager &manager, Phase upTo);

#define GEN_PASS_REGISTRATION
#include "dialect/Transforms/Passes.h.inc"

/// Registers a pipeline for each phase: `--attn-stepped`, `--attn-fused` and so on.
void registerAttnPipelines();

} // namespace attn

#endif // ATTNC_DIALECT_TRANSFORMS_PASSES_H
