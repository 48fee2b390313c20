//===- RegionElements.cpp - the elements of views, pointwise and indirect ops -===//
// SPDX-License-Identifier: Apache-2.0
//
// Each operation becomes a function from coordinates (fastest axis first) to an expression over its operands.

#include "compiler/kernels/Math.h"
#include "compiler/kernels/Region.h"

#include "llvm/ADT/TypeSwitch.h"

using Halide::Expr;

namespace attnc {

Expr applyActivation(attn::ActivationKind kind, Expr x) {
  switch (kind) {
  case attn::ActivationKind::relu:
    return Halide::max(x, 0.f);
  case attn::ActivationKind::gelu:
    return x * (0.5f + 0.5f * erfFast(x * 0.707106781f));
  case attn::ActivationKind::gelu_tanh:
    return x * (0.5f + 0.5f * tanhFast(0.797884561f * (x + 0.044715f * x * x * x)));
  case attn::ActivationKind::silu:
    return x * sigmoidFast(x);
  case attn::ActivationKind::tanh:
    return tanhFast(x);
  case attn::ActivationKind::sigmoid:
    return sigmoidFast(x);
  }
  llvm_unreachable("unknown activation");
}

static Coordinates replace(Coordinates at, size_t axis, Expr with) {
  at[axis] = std::move(with);
  return at;
}

Tensor Region::buildView(mlir::Operation *op) {
  Tensor in = tensor(op->getOperand(0));
  Coordinates extents = extentsOf(llvm::cast<mlir::RankedTensorType>(op->getResult(0).getType()));
  using Result = Tensor;
  return llvm::TypeSwitch<mlir::Operation *, Result>(op)
      .Case([&](attn::SplitHeadsOp) -> Result {
        return {{extents[0], in.extents[1], extents[2], in.extents[2]},
                [=](const Coordinates &at) { return in.at({at[2] * extents[0] + at[0], at[1], at[3]}); }};
      })
      .Case([&](attn::MergeHeadsOp) -> Result {
        Expr width = in.extents[0];
        return {{extents[0], in.extents[1], in.extents[3]},
                [=](const Coordinates &at) { return in.at({at[0] % width, at[1], at[0] / width, at[2]}); }};
      })
      .Case([&](attn::SliceOp slice) -> Result {
        int offset = slice.getOffset();
        return {replace(in.extents, 0, extents[0]),
                [=](const Coordinates &at) { return in.at(replace(at, 0, at[0] + offset)); }};
      })
      .Case([&](attn::SelectOp select) -> Result {
        int position = select.getPosition();
        return {{in.extents[0], in.extents[2]},
                [=](const Coordinates &at) { return in.at({at[0], position, at[1]}); }};
      })
      .Case([&](attn::CollapseOp) -> Result {
        // The two slowest axes become one.
        size_t last = in.extents.size() - 1;
        Coordinates collapsed(in.extents.begin(), in.extents.end() - 1);
        collapsed.back() = in.extents[last - 1] * in.extents[last];
        return {collapsed, [=](const Coordinates &at) {
                  Coordinates source = at;
                  source.back() = at.back() % in.extents[last - 1];
                  source.push_back(at.back() / in.extents[last - 1]);
                  return in.at(source);
                }};
      })
      .Case([&](attn::ExpandOp) -> Result {
        size_t last = extents.size() - 1;
        return {extents, [=](const Coordinates &at) {
                  Coordinates source(at.begin(), at.end() - 1);
                  source.back() = at[last] * extents[last - 1] + at[last - 1];
                  return in.at(source);
                }};
      });
}

Tensor Region::buildPointwise(mlir::Operation *op) {
  Tensor in = tensor(op->getOperand(0));
  auto map = [&](auto apply) -> Tensor {
    return {in.extents, [=](const Coordinates &at) -> Expr { return apply(in.at(at), at); }};
  };
  return llvm::TypeSwitch<mlir::Operation *, Tensor>(op)
      .Case([&](attn::ScaleOp scale) {
        float factor = scale.getFactor().convertToFloat();
        bool staysMasked = mayBeMasked(scale.getInput());
        return map([=](Expr x, const Coordinates &) {
          return staysMasked ? Halide::select(x > 0.5f * MaskedScore, x * factor, MaskedScore) : x * factor;
        });
      })
      .Case([&](attn::AddOp add) {
        Tensor rhs = tensor(add.getRhs());
        return map([=](Expr x, const Coordinates &at) { return x + rhs.at(at); });
      })
      .Case([&](attn::MulOp mul) {
        Tensor rhs = tensor(mul.getRhs());
        return map([=](Expr x, const Coordinates &at) { return x * rhs.at(at); });
      })
      .Case([&](attn::ActivationOp activation) {
        attn::ActivationKind kind = activation.getKind();
        return map([=](Expr x, const Coordinates &) { return applyActivation(kind, x); });
      })
      .Case([&](attn::RoundOp) {
        return map([](Expr x, const Coordinates &) { return Halide::reinterpret<float>(bfloatBits(x)); });
      })
      .Case([&](attn::LiveOp live) -> Tensor {
        Tensor lengths = tensor(live.getLengths());
        size_t last = in.extents.size() - 1;
        return {{in.extents[last - 1], in.extents[last]},
                [=](const Coordinates &at) { return Halide::cast<int32_t>(at[0] < lengths.at({at[1]})); }};
      })
      .Case([&](attn::WhereOp where) -> Tensor {
        Tensor fresh = tensor(where.getFresh()), kept = where.getKept() ? tensor(where.getKept()) : Tensor();
        return {fresh.extents, [=](const Coordinates &at) {
                  Expr isLive = in.at(Coordinates(at.begin() + 1, at.end())) != 0;
                  return Halide::select(isLive, fresh.at(at), kept.defined() ? kept.at(at) : Expr(0.f));
                }};
      })
      .Case([&](attn::ZerosOp zeros) -> Tensor {
        return {{Expr(int(zeros.getWidth())), Expr(1), in.extents[0]},
                [](const Coordinates &) { return Expr(0.f); }};
      })
      .Case([&](attn::IncrementOp) { return map([](Expr x, const Coordinates &) { return x + 1; }); })
      .Default([](mlir::Operation *) { return Tensor(); });
}

// Indices from memory are clamped: a kernel never reads outside its buffers.
static Expr inRange(Expr index, Expr extent) { return Halide::max(Halide::min(index, extent - 1), 0); }

Tensor Region::buildRotary(attn::RotaryOp rotary) {
  Tensor in = tensor(rotary.getInput()), table = tensor(rotary.getTable());
  Tensor starts = rotary.getStarts() ? tensor(rotary.getStarts()) : Tensor();
  int turned = llvm::cast<mlir::RankedTensorType>(rotary.getTable().getType()).getDimSize(1),
      half = turned / 2;
  bool interleaved = rotary.getInterleaved();
  return {in.extents, [=](const Coordinates &at) {
            Expr column = Halide::min(at[0], turned - 1); // columns past the turned ones are selected below
            Expr isFirst = interleaved ? column % 2 == 0 : column < half;
            Expr step = Halide::select(isFirst, interleaved ? 1 : half, interleaved ? -1 : -half);
            Expr angle = interleaved ? column / 2 : column % half;
            Expr position = inRange(starts.defined() ? at[1] + starts.at({at[3]}) : at[1], table.extents[1]);
            Expr sine = table.at({angle, position}), cosine = table.at({angle + half, position});
            Expr own = in.at(at), other = in.at(replace(at, 0, inRange(column + step, turned)));
            Expr rotated = own * cosine + Halide::select(isFirst, -other, other) * sine;
            return Halide::select(at[0] < turned, rotated, own);
          }};
}

Tensor Region::buildIndirection(mlir::Operation *op) {
  return llvm::TypeSwitch<mlir::Operation *, Tensor>(op)
      .Case([&](attn::EmbedOp embed) -> Tensor {
        Tensor ids = tensor(embed.getIds()), table = tensor(embed.getTable());
        Tensor scales = embed.getScales() ? tensor(embed.getScales()) : Tensor();
        Coordinates extents = {table.extents[0]};
        extents.insert(extents.end(), ids.extents.begin(), ids.extents.end());
        return {extents, [=](const Coordinates &at) -> Expr {
                  Expr id = inRange(ids.at(Coordinates(at.begin() + 1, at.end())), table.extents[1]);
                  Expr element = table.at({at[0], id});
                  return scales.defined() ? Halide::cast<float>(element) * scales.at({id, 0}) : element;
                }};
      })
      .Case([&](attn::AddPositionsOp add) -> Tensor {
        Tensor in = tensor(add.getInput()), table = tensor(add.getTable());
        Tensor starts = add.getStarts() ? tensor(add.getStarts()) : Tensor();
        int offset = add.getOffset();
        return {in.extents, [=](const Coordinates &at) {
                  // Rank 2 has no query axis: with starts its rows are batch rows of one position.
                  Expr query = at.size() > 2 || !starts.defined() ? at[1] : Expr(0);
                  Expr position = query + offset;
                  if (starts.defined())
                    position = position + starts.at({at.back()});
                  return in.at(at) + table.at({at[0], inRange(position, table.extents[1])});
                }};
      })
      .Case([&](attn::RotaryOp rotary) { return buildRotary(rotary); })
      .Case([&](attn::TakeOp take) -> Tensor {
        Tensor in = tensor(take.getInput()), index = tensor(take.getIndex());
        Coordinates extents = in.extents;
        extents.back() = index.extents[0];
        return {extents, [=](const Coordinates &at) {
                  return in.at(replace(at, at.size() - 1, inRange(index.at({at.back()}), in.extents.back())));
                }};
      })
      .Case([&](attn::LookupOp lookup) -> Tensor {
        Tensor cache = tensor(lookup.getCache()), ancestors = tensor(lookup.getAncestors());
        Expr keys = Halide::min(cache.extents[2], ancestors.extents[0]);
        return {{cache.extents[0], keys, cache.extents[1], ancestors.extents[1]}, [=](const Coordinates &at) {
                  Expr slot = inRange(ancestors.at({at[1], at[3]}), cache.extents[3]);
                  return cache.at({at[0], at[2], at[1], slot});
                }};
      })
      .Case([&](attn::RecallOp recall) -> Tensor {
        Tensor cache = tensor(recall.getCache()), ancestors = tensor(recall.getAncestors());
        Tensor positions = tensor(recall.getPositions()), initial = tensor(recall.getInitial());
        return {initial.extents, [=](const Coordinates &at) {
                  Expr position = positions.at({at[2]});
                  Expr before = Halide::max(position - 1, 0);
                  Expr slot =
                      inRange(ancestors.at({inRange(before, ancestors.extents[0]), at[2]}), cache.extents[3]);
                  Expr kept = cache.at({at[0], 0, before % cache.extents[2], slot});
                  return Halide::select(position > 0, kept, initial.at(at));
                }};
      })
      .Case([&](attn::PickOp pick) -> Tensor {
        Tensor in = tensor(pick.getInput()), ids = tensor(pick.getIds());
        return {ids.extents, [=](const Coordinates &at) {
                  Coordinates source = {inRange(ids.at(at), in.extents[0])};
                  source.insert(source.end(), at.begin(), at.end());
                  return in.at(source);
                }};
      });
}

} // namespace attnc
