//===- RegionReductions.cpp - sums where no archetype has stages for them ---===//
// SPDX-License-Identifier: Apache-2.0
//
// The plain form of matmul, L2 norm and softmax: right for any region, for those that no archetype covers.

#include "compiler/kernels/Math.h"
#include "compiler/kernels/Region.h"

#include "llvm/ADT/TypeSwitch.h"

using Halide::Expr;
using Halide::RDom;

namespace attnc {

static Coordinates withFirst(Expr first, const Coordinates &at) {
  Coordinates result = at;
  result[0] = std::move(first);
  return result;
}

int headsPerGroup(mlir::Value queries, mlir::Value keys) {
  auto left = llvm::cast<mlir::RankedTensorType>(queries.getType());
  auto right = llvm::cast<mlir::RankedTensorType>(keys.getType());
  bool isGrouped = left.getRank() == 4 && !left.isDynamicDim(1) && !right.isDynamicDim(1);
  return isGrouped ? int(left.getDimSize(1) / right.getDimSize(1)) : 1;
}

ScoreTerm Region::additiveTerm(attn::AdditiveScoresOp op) {
  Tensor weight = tensor(op.getWeight());
  return [weight](Expr query, Expr key, Expr column, Expr head) {
    Coordinates at = weight.extents.size() == 1 ? Coordinates{column} : Coordinates{column, head};
    return weight.at(at) * tanhFast(query + key);
  };
}

Tensor Region::buildReduction(mlir::Operation *op) {
  return llvm::TypeSwitch<mlir::Operation *, Tensor>(op)
      .Case([&](attn::LinearOp linear) { return inlineLinear(this->linear(linear)); })
      .Case([&](attn::MatmulOp matmul) -> Tensor {
        Tensor lhs = tensor(matmul.getLhs()), rhs = tensor(matmul.getRhs());
        bool transposed = matmul.getTransposed();
        int group = headsPerGroup(matmul.getLhs(), matmul.getRhs());
        return {withFirst(rhs.extents[transposed ? 1 : 0], lhs.extents), [=](const Coordinates &at) {
                  RDom k(0, lhs.extents[0]);
                  Coordinates other = at;
                  other[0] = transposed ? Expr(k) : at[0];
                  other[1] = transposed ? at[0] : Expr(k);
                  if (group > 1)
                    other[2] = at[2] / group;
                  return Halide::sum(k, lhs.at(withFirst(k, at)) * rhs.at(other));
                }};
      })
      .Case([&](attn::AdditiveScoresOp additive) -> Tensor {
        Tensor query = tensor(additive.getQuery()), key = tensor(additive.getKey());
        auto term = additiveTerm(additive);
        int group = headsPerGroup(additive.getQuery(), additive.getKey());
        return {withFirst(key.extents[1], query.extents), [=](const Coordinates &at) {
                  RDom column(0, query.extents[0]);
                  Expr asked = query.at(withFirst(column, at));
                  return Halide::sum(
                      column, term(asked, key.at({column, at[0], at[2] / group, at[3]}), column, at[2]));
                }};
      })
      .Case([&](attn::MeanHeadsOp mean) -> Tensor {
        Tensor in = tensor(mean.getWeights());
        Coordinates extents = {in.extents[0], in.extents[1], in.extents[3]};
        return {extents, [=](const Coordinates &at) {
                  RDom head(0, in.extents[2]);
                  return Halide::sum(head, in.at({at[0], at[1], head, at[2]})) /
                         Halide::cast<float>(in.extents[2]);
                }};
      });
}

/// The axes but for the first.
static std::vector<Halide::Var> rowsOf(const Tensor &in) {
  std::vector<Halide::Var> rows;
  for (size_t axis = 1; axis < in.extents.size(); ++axis)
    rows.push_back(Halide::Var("row" + std::to_string(axis)));
  return rows;
}

static Coordinates elementOf(Expr element, const std::vector<Halide::Var> &row) {
  Coordinates at = {std::move(element)};
  at.insert(at.end(), row.begin(), row.end());
  return at;
}

/// Maxima and sums of this many columns lie side by side: two vectors or more but on AVX-512.
constexpr int RowLanes = 16;

/// Elements that are sums themselves are computed one by one where they are asked for: with lanes past the
/// end of a row, the room that they take would not be known when compiling.
static Halide::Func reduceByColumn(const Tensor &in, const char *name, const RowReduction &reduction) {
  const std::vector<Halide::Var> rows = rowsOf(in);
  RDom column(0, in.extents[0], "column");
  Halide::Func all(name);
  all(rows) = reduction.start;
  all(rows) = reduction.step(all(rows), in.at(elementOf(column, rows)));
  return all;
}

/// A row's reduction. Column `c` belongs to lane `c % RowLanes`, however long the row is: first whole vectors
/// of columns as they lie, then the rest, in which lanes past the end read the last column once more.
Halide::Func Region::reduceRow(const Tensor &in, const char *name, const RowReduction &reduction) {
  if (reduction.isOfSums)
    return rowStages.emplace_back(reduceByColumn(in, name, reduction));
  Halide::Var lane("lane");
  std::vector<Halide::Var> rows = rowsOf(in), places = {lane};
  places.insert(places.end(), rows.begin(), rows.end());
  const Expr columns = in.extents[0], whole = columns / RowLanes;
  RDom vectors(0, whole, "vectors");
  Halide::Func byLane(std::string(name) + "ByLane"), all(name);
  byLane(places) = reduction.start;
  byLane(places) = reduction.step(byLane(places), in.at(elementOf(vectors * RowLanes + lane, rows)));
  Expr column = whole * RowLanes + lane, last = in.at(elementOf(Halide::min(column, columns - 1), rows));
  byLane(places) = Halide::select(column < columns, reduction.step(byLane(places), last), byLane(places));
  all(rows) = reduction.join([&](int part) -> Expr { return byLane(elementOf(part, rows)); }, RowLanes);
  laneStages.push_back(byLane);
  rowStages.push_back(all);
  return all;
}

// Maxima and sums of rows are Funcs, not inline sums: the schedule computes them once per row.
Region::Exponentials Region::buildExponentials(const Tensor &in, bool isMasked, bool isOfSums) {
  auto larger = [](const Expr &soFar, const Expr &score) { return Halide::max(soFar, score); };
  Halide::Func maximum = reduceRow(in, "maximum", {MaskedScore, larger, maxPairwise, isOfSums});
  std::vector<Halide::Var> rows = rowsOf(in);
  auto add = [&](const Expr &sum, const Expr &score) {
    Expr weight = expFast(score - maximum(rows));
    return sum + (isMasked ? Halide::select(score > 0.5f * MaskedScore, weight, 0.f) : weight);
  };
  return {maximum, reduceRow(in, "sum", {0.f, add, sumPairwise, isOfSums})};
}

Tensor Region::buildSoftmax(attn::SoftmaxOp softmax) {
  mlir::Value scores = softmax.getScores();
  const Tensor in = tensor(scores);
  const bool isOfSums = attn::findScores(scores) && !bound.contains(scores);
  auto [maximum, sum] = buildExponentials(in, /*isMasked=*/true, isOfSums);
  return {in.extents, [=](const Coordinates &at) {
            Coordinates row(at.begin() + 1, at.end());
            Expr valid = in.at(at) > 0.5f * MaskedScore && sum(row) > 0.f;
            return Halide::select(valid, expFast(in.at(at) - maximum(row)) / Halide::max(sum(row), 1e-30f),
                                  0.f);
          }};
}

Tensor Region::buildLogSum(const Tensor &in) {
  auto [maximum, sum] = buildExponentials(in, /*isMasked=*/false, /*isOfSums=*/false);
  Coordinates extents(in.extents.begin() + 1, in.extents.end());
  return {extents, [=](const Coordinates &row) { return maximum(row) + logFast(sum(row)); }};
}

Tensor Region::buildLogSoftmax(const Tensor &in) {
  Tensor logSum = buildLogSum(in);
  return {in.extents, [=](const Coordinates &at) {
            return in.at(at) - logSum.at(Coordinates(at.begin() + 1, at.end()));
          }};
}

Tensor Region::buildL2Norm(attn::L2NormOp norm) {
  Tensor in = tensor(norm.getInput());
  float epsilon = norm.getEpsilon().convertToFloat();
  auto addSquare = [](const Expr &sum, const Expr &element) { return sum + element * element; };
  Halide::Func squares = reduceRow(in, "squares", {0.f, addSquare, sumPairwise, false});
  return {in.extents, [=](const Coordinates &at) {
            Coordinates row(at.begin() + 1, at.end());
            return in.at(at) / Halide::max(Halide::sqrt(squares(row)), epsilon);
          }};
}

} // namespace attnc
