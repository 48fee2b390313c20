//===- MaskRecurrences.cpp - lengths of recurrences as choices --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A row that has ended keeps its states and gives zeros, so padding changes nothing and a reversed recurrence
// begins, for each row, at its own last position.

#include "dialect/Transforms/Passes.h"

using namespace mlir;

namespace attn {

#define GEN_PASS_DEF_MASKRECURRENCES
#include "dialect/Transforms/Passes.h.inc"

namespace {

struct MaskRecurrences : impl::MaskRecurrencesBase<MaskRecurrences> {
  void runOnOperation() override {
    for (auto recurrence : llvm::make_early_inc_range(getOperation().getOps<RecurrenceOp>()))
      if (recurrence.getLengths())
        mask(recurrence);
  }

  void mask(RecurrenceOp recurrence) {
    OpBuilder builder(recurrence);
    Location loc = recurrence.getLoc();
    SmallVector<Value> sequences(recurrence.getSequences());
    Value live = LiveOp::create(builder, loc, sequences.front(), recurrence.getLengths());
    sequences.push_back(live);
    auto masked =
        RecurrenceOp::create(builder, loc, recurrence.getResultTypes(), sequences, recurrence.getInitial(),
                             recurrence.getConstants(), Value(), recurrence.getReverse(), ArrayAttr());
    unsigned place = recurrence.getSequences().size();
    masked.getBody().takeBody(recurrence.getBody());
    Type position = positionOf(cast<RankedTensorType>(live.getType()));
    Value now = masked.getBody().insertArgument(place, position, loc);
    auto yield = cast<YieldOp>(masked.getBody().front().getTerminator());
    builder.setInsertionPoint(yield);
    size_t outputs = masked.getOutputs().size();
    for (OpOperand &operand : yield->getOpOperands()) {
      unsigned number = operand.getOperandNumber();
      Value kept = number < outputs ? Value() : masked.getStates()[number - outputs];
      operand.set(WhereOp::create(builder, operand.get().getLoc(), now, operand.get(), kept));
    }
    recurrence.replaceAllUsesWith(masked.getResults());
    recurrence.erase();
    ++numMasked;
  }
};

} // namespace
} // namespace attn
