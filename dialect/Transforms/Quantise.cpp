//===- Quantise.cpp - weights of other types than f32 -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Gives the matrices that a spec asks it for the type in which kernels read them, and the rows that meet them
// as well. A value is quantised or rounded once for all linears that read it.

#include "dialect/IR/StepBuilder.h"
#include "dialect/Transforms/Fusion.h"
#include "dialect/Transforms/Passes.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace attn {

#define GEN_PASS_DEF_QUANTISE
#include "dialect/Transforms/Passes.h.inc"

namespace {

/// Products of bytes and integers, at most 255 x 127 each, that a sum of 32 bits holds.
constexpr int64_t longestRow = 65536;

/// What reads a matrix.
struct Readers {
  SmallVector<GetWeightOp> gets;
  llvm::SetVector<Operation *> users; // `attn.fused`, where the weight can have another type
};

/// Regions that make rows of another type, by value.
using RowsByValue = llvm::MapVector<Value, FusedOp>;

/// The region's arguments that stand for `weight`.
SmallVector<BlockArgument> argumentsOf(FusedOp fused, WeightOp weight) {
  SmallVector<BlockArgument> arguments;
  for (auto [argument, input] : llvm::zip_equal(fused.getBody().getArguments(), fused.getInputs()))
    if (auto get = input.getDefiningOp<GetWeightOp>(); get && get.getWeight() == weight.getSymName())
      arguments.push_back(argument);
  return arguments;
}

/// The region's argument for `value`, which is added where there is none.
Value addInput(FusedOp fused, Value value) {
  for (auto [argument, input] : llvm::zip_equal(fused.getBody().getArguments(), fused.getInputs()))
    if (input == value)
      return argument;
  fused.getInputsMutable().append(value);
  return fused.getBody().addArgument(value.getType(), value.getLoc());
}

void eraseUnusedInputs(FusedOp fused) {
  for (unsigned number = fused.getInputs().size(); number-- > 0;)
    if (fused.getBody().getArgument(number).use_empty()) {
      fused.getBody().eraseArgument(number);
      fused.getInputsMutable().erase(number);
    }
}

struct Quantise : impl::QuantiseBase<Quantise> {
  void runOnOperation() override {
    symbols.emplace(getOperation());
    quantised.clear();
    rounded.clear();
    for (auto &[weight, readers] : findReaders()) {
      if (readers.users.empty()) // a part of a joined matrix
        continue;
      if (std::string reason = findObstacle(weight, readers); !reason.empty()) {
        weight.emitRemark() << "stays f32, for " << reason << ": " << *weight.getTensors();
      } else {
        bool isInt8 = *weight.getStorage() == Storage::int8;
        Builder builder(&getContext());
        store(weight, readers, isInt8 ? Type(builder.getI8Type()) : Type(builder.getBF16Type()));
        if (isInt8)
          scale(weight, readers);
        else
          roundRows(weight, readers);
        ++numStored;
      }
    }
    for (FusedOp rows : llvm::make_second_range(rounded))
      roundInProducer(rows);
    for (WeightOp weight : getOperation().getOps<WeightOp>())
      weight.removeStorageAttr();
  }

  llvm::MapVector<WeightOp, Readers> findReaders() {
    llvm::MapVector<WeightOp, Readers> found;
    getOperation().walk([&](GetWeightOp get) {
      auto weight = symbols->lookup<WeightOp>(get.getWeight());
      if (!weight.getStorage())
        return;
      found[weight].gets.push_back(get);
      found[weight].users.insert(get->user_begin(), get->user_end());
    });
    return found;
  }

  /// Why a weight cannot have another type; empty where it can.
  std::string findObstacle(WeightOp weight, const Readers &readers) {
    bool hasLinear = false;
    for (Operation *user : readers.users) {
      auto fused = dyn_cast<FusedOp>(user);
      if (!fused || !isa<func::FuncOp>(fused->getParentOp()))
        return "a recurrence reads it";
      for (BlockArgument argument : argumentsOf(fused, weight))
        for (Operation *reader : argument.getUsers()) {
          auto linear = dyn_cast<LinearOp>(reader);
          if (!linear && !isa<EmbedOp>(reader))
            return "'" + reader->getName().getStringRef().str() + "' reads it";
          if (linear && linear.getInput() == argument)
            return "a linear reads it as rows";
          if (linear && !isa<BlockArgument>(linear.getInput()))
            return "it multiplies rows that the same kernel computes";
          hasLinear |= bool(linear);
        }
    }
    if (*weight.getStorage() == Storage::int8 && weight.getType().getDimSize(1) > longestRow)
      return "32 bits do not hold the sums of so many inputs";
    return hasLinear ? "" : "no linear reads it";
  }

  void store(WeightOp weight, const Readers &readers, Type element) {
    auto type = cast<RankedTensorType>(weight.getType());
    int64_t group = 32 / element.getIntOrFloatBitWidth();
    auto stored =
        RankedTensorType::get(type.getShape(), element, PanelsAttr::get(&getContext(), panelColumns, group));
    weight.setTypeAttr(TypeAttr::get(stored));
    for (GetWeightOp get : readers.gets)
      get.getResult().setType(stored);
    for (Operation *user : readers.users)
      for (BlockArgument argument : argumentsOf(cast<FusedOp>(user), weight))
        argument.setType(stored);
  }

  /// Gives the readers of a matrix of integers the scales of its outputs, and bytes instead of rows.
  void scale(WeightOp weight, const Readers &readers) {
    WeightOp scales = declareScales(weight);
    for (Operation *user : readers.users) {
      auto fused = cast<FusedOp>(user);
      OpBuilder builder(fused);
      Value outside = GetWeightOp::create(builder, fused.getLoc(), scales.getType(), scales.getSymName());
      Value inside = addInput(fused, outside);
      for (BlockArgument argument : argumentsOf(fused, weight))
        for (Operation *reader : llvm::make_early_inc_range(argument.getUsers()))
          if (auto embed = dyn_cast<EmbedOp>(reader))
            embed.getScalesMutable().assign(inside);
          else
            quantiseInput(cast<LinearOp>(reader), inside, fused);
      eraseUnusedInputs(fused);
    }
  }

  /// Declares the companion of `weight` that holds the scales of its outputs.
  WeightOp declareScales(WeightOp weight) {
    OpBuilder builder(&getContext());
    builder.setInsertionPointAfter(weight);
    auto type = cast<RankedTensorType>(weight.getType());
    int64_t out = type.getDimSize(0), padded = llvm::alignTo(out, panelColumns);
    auto scales = cast<WeightOp>(builder.clone(*weight));
    scales.setTypeAttr(TypeAttr::get(RankedTensorType::get({2, padded}, builder.getF32Type())));
    if (!scales.getRows())
      scales.setRows(ArrayRef<int64_t>(out));
    scales.setScales(type.getDimSize(1));
    scales.removeStorageAttr();
    scales.setSymName((weight.getSymName() + "_scales").str());
    symbols->insert(scales);
    return scales;
  }

  void quantiseInput(LinearOp linear, Value weightScales, FusedOp fused) {
    unsigned number = cast<BlockArgument>(linear.getInput()).getArgNumber();
    FusedOp rows = findOrCreate<QuantiseOp>(quantised, fused.getInputs()[number]);
    Value bytes = addInput(fused, rows.getResult(0)), scales = addInput(fused, rows.getResult(1));
    OpBuilder builder(linear);
    auto replacement = LinearOp::create(builder, linear.getLoc(), bytes, scales, linear.getWeight(),
                                        weightScales, linear.getBias());
    linear.getResult().replaceAllUsesWith(replacement.getResult());
    linear.erase();
    ++numLinears;
  }

  /// Gives the readers of a matrix of bf16 rows of that type, where whole steps of matrix instructions fill
  /// them.
  void roundRows(WeightOp weight, const Readers &readers) {
    if (weight.getType().getDimSize(1) % (rowBytes / 2) != 0)
      return;
    for (Operation *user : readers.users) {
      auto fused = cast<FusedOp>(user);
      for (BlockArgument argument : argumentsOf(fused, weight))
        for (Operation *reader : argument.getUsers())
          if (auto linear = dyn_cast<LinearOp>(reader))
            roundInput(linear, fused);
      eraseUnusedInputs(fused);
    }
  }

  void roundInput(LinearOp linear, FusedOp fused) {
    auto exact = cast<BlockArgument>(linear.getInput());
    if (!cast<RankedTensorType>(exact.getType()).getElementType().isF32())
      return; // by another matrix
    FusedOp rows = findOrCreate<RoundOp>(rounded, fused.getInputs()[exact.getArgNumber()]);
    linear.getInputMutable().assign(addInput(fused, rows.getResult(0)));
    ++numRounded;
  }

  /// Where nothing else reads what is rounded, or what it is a view of, the region that computes it rounds
  /// it.
  static void roundInProducer(FusedOp rows) {
    Value exact = rows.getInputs().front(), computed = exact;
    SmallVector<Operation *> views;
    for (; isView(computed.getDefiningOp()) && computed.hasOneUse(); computed = views.back()->getOperand(0))
      views.push_back(computed.getDefiningOp());
    if (!computed.hasOneUse() || !canRound(computed))
      return;
    roundResult(cast<OpResult>(computed));
    for (Operation *view : llvm::reverse(views))
      inferResultTypes(view);
    rows.getResult(0).replaceAllUsesWith(exact);
    rows.erase();
  }

  /// The region that makes an `Op` of `value`, right after it.
  template <typename Op> FusedOp findOrCreate(RowsByValue &known, Value value) {
    FusedOp &rows = known[value];
    if (rows)
      return rows;
    OpBuilder builder(&getContext());
    builder.setInsertionPointAfterValue(value);
    Group group;
    group.members = {Op::create(builder, value.getLoc(), value)};
    for (Value result : group.members.front()->getResults())
      group.alwaysYielded.insert(result.getAsOpaquePointer());
    ++numQuantised;
    return rows = fuse(std::move(group), "rows of another type");
  }

  std::optional<SymbolTable> symbols;
  RowsByValue quantised, rounded;
};

} // namespace
} // namespace attn
