//===- RegionScores.cpp - masks and maps of scores as expressions -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// A mask selects between the score and MaskedScore; the body of a score map becomes one expression.

#include "compiler/kernels/Region.h"
#include "compiler/kernels/ScalarBuilder.h"

#include "llvm/ADT/TypeSwitch.h"

using Halide::Expr;
using Halide::Internal::common_subexpression_elimination;

namespace attnc {

/// Places of a score in its coordinates, which have the fastest axis first.
enum ScoreAxis { KeyAxis, QueryAxis, HeadAxis, BatchAxis };

bool mayBeMasked(mlir::Value value) {
  mlir::Operation *op = value.getDefiningOp();
  if (!op || attn::makesScores(op) || llvm::isa<attn::SoftmaxOp, attn::LinearOp>(op))
    return false;
  return llvm::isa<attn::CausalMaskOp, attn::PaddingMaskOp, attn::WindowMaskOp, attn::PrefixMaskOp,
                   attn::ScoreMapOp>(op) ||
         llvm::any_of(op->getOperands(), mayBeMasked);
}

/// The values of a score map's body at one place.
ScalarBuilder Region::buildScalars(attn::ScoreMapOp map, const Expr &score, const Coordinates &at) {
  Expr query = at[QueryAxis];
  if (map.getStarts())
    query = query + tensor(map.getStarts()).at({at[BatchAxis]});
  mlir::Block &body = map.getBody().front();
  ScalarBuilder scalars(body.getArgument(0));
  unsigned number = 0;
  for (const Expr &own : {score, at[BatchAxis], at[HeadAxis], query, at[KeyAxis]})
    scalars.set(body.getArgument(number++), own);
  for (mlir::Value table : map.getTables())
    scalars.setTable(body.getArgument(number++), tensor(table));
  for (mlir::Operation &op : body.without_terminator())
    scalars.build(op);
  return scalars;
}

static mlir::Value mappedScore(attn::ScoreMapOp map) {
  return map.getBody().front().getTerminator()->getOperand(0);
}

Tensor Region::buildScoreMap(attn::ScoreMapOp map) {
  Tensor scores = tensor(map.getScores());
  // Scores from memory may hold minus infinity.
  bool staysMasked = llvm::isa<mlir::BlockArgument>(map.getScores()) || mayBeMasked(map.getScores());
  return {scores.extents, [=, this](const Coordinates &at) {
            Expr score = scores.at(at);
            ScalarBuilder scalars = buildScalars(map, score, at);
            // Functions use their operands several times: shared, or nested ones would grow exponentially.
            Expr mapped = common_subexpression_elimination(scalars.get(mappedScore(map)));
            return staysMasked ? Halide::select(isUnmasked(score), mapped, MaskedScore) : mapped;
          }};
}

Expr Region::mayBeSeen(mlir::Value scores, const Coordinates &at) {
  mlir::Operation *op = scores.getDefiningOp();
  if (!op) // a mask from outside
    return isUnmasked(tensor(scores).at(at));
  if (!attn::actsOnScores(op) || llvm::isa<attn::ActivationOp, attn::MulOp>(op))
    return {};
  Expr before = mayBeSeen(op->getOperand(0), at);
  if (auto add = llvm::dyn_cast<attn::AddOp>(op))
    return both(before, mayBeSeen(add.getRhs(), at));
  // What is hidden by addition alone is computed on, and may come out as any score.
  if (llvm::isa<attn::ScaleOp, attn::ScoreMapOp>(op) && !mayBeMasked(op->getOperand(0)))
    before = {};
  auto map = llvm::dyn_cast<attn::ScoreMapOp>(op);
  if (!map)
    return before;
  Expr own = buildScalars(map, 0.f, at).mayBeSeen(mappedScore(map));
  return both(before, own.defined() ? common_subexpression_elimination(own) : own);
}

/// Keys that the query at `query` sees, of the row `batch`.
Expr Region::isVisible(mlir::Operation *mask, const Expr &key, const Expr &query, const Expr &batch) {
  return llvm::TypeSwitch<mlir::Operation *, Expr>(mask)
      .Case([&](attn::CausalMaskOp) { return key <= query; })
      .Case([&](attn::PaddingMaskOp op) { return key < tensor(op.getLengths()).at({batch}); })
      .Case([&](attn::PrefixMaskOp op) { return key <= query || key < tensor(op.getLengths()).at({batch}); })
      .Case([&](attn::WindowMaskOp op) {
        Expr position = op.getStarts() ? query + tensor(op.getStarts()).at({batch}) : query;
        Expr isNear = op.getBefore() ? key >= position - int(*op.getBefore()) : Expr();
        if (!op.getAfter())
          return isNear;
        Expr isBehind = key <= position + int(*op.getAfter());
        return isNear.defined() ? isNear && isBehind : isBehind;
      });
}

Tensor Region::buildMask(mlir::Operation *mask) {
  Tensor scores = tensor(mask->getOperand(0));
  return {scores.extents, [=, this](const Coordinates &at) {
            Expr visible = isVisible(mask, at[KeyAxis], at[QueryAxis], at[BatchAxis]);
            return Halide::select(visible, scores.at(at), MaskedScore);
          }};
}

KeyRange Region::visibleKeys(mlir::Operation *mask, const Expr &firstQuery, const Expr &lastQuery,
                             const Expr &batch) {
  return llvm::TypeSwitch<mlir::Operation *, KeyRange>(mask)
      .Case([&](attn::CausalMaskOp) -> KeyRange { return {{}, lastQuery + 1}; })
      .Case([&](attn::PaddingMaskOp op) -> KeyRange { return {{}, tensor(op.getLengths()).at({batch})}; })
      .Case([&](attn::PrefixMaskOp op) -> KeyRange {
        return {{}, Halide::max(lastQuery + 1, tensor(op.getLengths()).at({batch}))};
      })
      .Case([&](attn::WindowMaskOp op) -> KeyRange {
        Expr start = op.getStarts() ? tensor(op.getStarts()).at({batch}) : Expr(0);
        Expr first = op.getBefore() ? firstQuery + start - int(*op.getBefore()) : Expr();
        return {first, op.getAfter() ? lastQuery + start + int(*op.getAfter()) + 1 : Expr()};
      });
}

} // namespace attnc
