//===- Archetype.h - which kind of kernel a region is -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Looks at a region's operations only. A region that is none of the special kinds is `Rows`: row-by-row
// expressions.

#ifndef ATTNC_KERNELS_ARCHETYPE_H
#define ATTNC_KERNELS_ARCHETYPE_H

#include "compiler/kernels/StageLimits.h"
#include "dialect/IR/Attn.h"

#include <optional>

namespace attnc {

/// Keys of a block, and blocks for whose running maxima there is room on the stack: 128 blocks of 32 queries
/// are 16 KiB, and a task has up to 8 such blocks of queries. Further keys are not attended to; callers
/// refuse them.
constexpr int KeysPerBlock = StageKeys, MaxKeyBlocks = 128;
constexpr int64_t MostKeys = int64_t(KeysPerBlock) * MaxKeyBlocks;

/// softmax(score(query, key)) x value, or that rounded, the only result of its region.
struct AttentionMatch {
  mlir::Operation *products = nullptr; // query x key^T, or additive scores
  attn::MatmulOp context;
  attn::SoftmaxOp softmax;
  mlir::Value result; // the context, or that rounded
  mlir::Value scaled; // the products, or what `factor` makes of them: where the score function begins
  float factor = 1;
  bool onlyBounded = false;                   // scores are products that nothing but `masks` changes
  llvm::SmallVector<mlir::Operation *> masks; // that bound the keys

  /// Whether both products may be of bfloat16.
  bool isRounded() const {
    auto scores = llvm::dyn_cast<attn::MatmulOp>(products);
    return scores && scores.getRounded() && attn::MatmulOp(context).getRounded();
  }
};
std::optional<AttentionMatch> matchAttention(attn::KernelOp kernel);

/// One linear, pointwise operations on rows, at most one norm. No views: an element needs its own column
/// only.
struct MatmulMatch {
  attn::LinearOp linear;
  mlir::Operation *norm = nullptr;
};
std::optional<MatmulMatch> matchMatmul(attn::KernelOp kernel);

/// The product of two inputs, or of what is selected of them, from which `value` is made, where their region
/// has nothing else but what acts on scores, and a softmax. Steps' products, of one row each, are none of
/// these.
std::optional<attn::MatmulOp> matchProduct(mlir::Value value);

/// The softmax of scores that its kernel makes; its only result.
std::optional<attn::SoftmaxOp> matchWeights(attn::KernelOp kernel);

/// Results that are computed together: they need no other linears than those below.
struct CellStage {
  llvm::SmallVector<mlir::Value> results;
  llvm::SmallVector<mlir::Value> gates; // slices of linears, or linears
};

/// Linears and what pointwise work makes of slices of them, all results of one width. Each stage after the
/// first has a linear that reads a result of the one before.
struct CellMatch {
  llvm::SmallVector<CellStage> stages;
};
std::optional<CellMatch> matchCell(attn::KernelOp kernel);

/// log_softmax of a linear, then nothing, `pick` or `top_k`; or a linear and its log_sum_exp.
struct VocabularyMatch {
  attn::LinearOp linear;
  attn::LogSoftmaxOp logSoftmax; // or null
  attn::LogSumExpOp logSum;      // where that is null
  attn::TopKOp top;              // or null
  attn::PickOp pick;             // or null
};
std::optional<VocabularyMatch> matchVocabulary(attn::KernelOp kernel);

/// The only operation of its kind in the kernel, or null.
template <typename Op> Op findOnly(attn::KernelOp kernel) {
  auto found = kernel.getBody().front().getOps<Op>();
  if (found.empty() || std::next(found.begin()) != found.end())
    return {};
  return *found.begin();
}

/// True where `value` is computed from `origin` by operations of one region.
bool dependsOn(mlir::Value value, mlir::Operation *origin);

} // namespace attnc

#endif // ATTNC_KERNELS_ARCHETYPE_H
