//===- Pipeline.cpp - the passes in order ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Reads as the list of what becomes true; phases are those of docs/architecture.md.

#include "dialect/Transforms/Passes.h"

#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace attn {

std::optional<Phase> parsePhase(StringRef name) {
  return llvm::StringSwitch<std::optional<Phase>>(name)
      .Case("attn", Phase::Attn)
      .Case("stepped", Phase::Stepped)
      .Case("fused", Phase::Fused)
      .Case("quantised", Phase::Quantised)
      .Case("outlined", Phase::Outlined)
      .Case("planned", Phase::Planned)
      .Default(std::nullopt);
}

void buildPipeline(OpPassManager &manager, Phase upTo) {
  if (upTo >= Phase::Stepped)
    manager.addPass(createDeriveEntries()); // step, score and the others are derived from decode
  if (upTo >= Phase::Fused) {
    manager.addPass(createMergeProjections()); // projections of one input are one linear
    OpPassManager &entries = manager.nest<func::FuncOp>();
    entries.addPass(createMaskRecurrences()); // recurrences are loops over all positions
    entries.addPass(createFuseAttention());   // no softmax feeds a matmul alone
    entries.addPass(createFuseVocabulary());  // no logits are written
    entries.addPass(createFuseEmbedding());   // embeddings have their positions and norm
    entries.addPass(createFuseCells());       // cells have their matmuls and gates
    entries.addPass(createFuseLinear());      // linears have their epilogues
    entries.addPass(createFuseRemaining());   // all work is in regions
    entries.addPass(createInsertCopies());    // every value can be written where it must be
  }
  if (upTo >= Phase::Quantised) {
    manager.addPass(createRoundAttention()); // what attention reads has the type that the spec asks for
    manager.addPass(createQuantise());       // and so have weights
  }
  if (upTo >= Phase::Outlined) {
    manager.addPass(createPackMatrices());   // weights have the layout that kernels read
    manager.addPass(createOutlineKernels()); // only calls and views remain in entries
  }
  if (upTo >= Phase::Planned) {
    manager.addPass(createEncodeByParts()); // few sentences are encoded at a time
    manager.addPass(createPlanMemory());    // every value has a place
  }
}

static void registerPhase(StringRef argument, StringRef leaves, Phase upTo) {
  PassPipelineRegistration<>(argument, leaves,
                             [upTo](OpPassManager &manager) { buildPipeline(manager, upTo); });
}

void registerAttnPipelines() {
  registerPhase("attn-stepped", "From phase 'attn' on: all entries are there, and states", Phase::Stepped);
  registerPhase("attn-fused", "From phase 'attn' on: all work is in fused regions", Phase::Fused);
  registerPhase("attn-quantised", "From phase 'attn' on: matrices have the types in which kernels read them",
                Phase::Quantised);
  registerPhase("attn-outlined", "From phase 'attn' on: only calls of kernels and views remain in entries",
                Phase::Outlined);
  registerPhase("attn-planned", "From phase 'attn' on: every value has a place in memory", Phase::Planned);
}

} // namespace attn
