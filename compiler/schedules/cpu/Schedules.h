//===- Schedules.h - schedules for CPUs -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Each applies parameters to the stages of one kind of kernel. Nothing here computes; scratch is on the stack with
// bounds that are known when compiling, so kernels never allocate.

#ifndef ATTNC_SCHEDULES_CPU_SCHEDULES_H
#define ATTNC_SCHEDULES_CPU_SCHEDULES_H

#include "compiler/kernels/RowNorm.h"
#include "compiler/schedules/ChooseSchedule.h"

namespace attnc {

void scheduleMatmul(LinearStages &stages, const MatmulSchedule &schedule);

/// The sums of one tile, computed where `consumer` visits the tile at `level`.
void scheduleAccumulator(Accumulator &accumulator, int lanes, Halide::Func consumer, Halide::VarOrRVar level);

void scheduleAttention(AttentionStages &stages, const AttentionSchedule &schedule);

/// Rows of `result` (vars[0] the width of extent `width`, vars[1...] rows) with the stages of their norms; `staged`
/// are rows that norms read and that are kept on the stack.
void scheduleRows(Halide::Func result, const std::vector<Halide::Var> &vars, int lanes, int rowsPerTask);

/// The sums of a norm, per row of `consumer`.
void scheduleRowNorm(RowNormStages &stages, int lanes, Halide::Func consumer, Halide::Var row);

} // namespace attnc

#endif // ATTNC_SCHEDULES_CPU_SCHEDULES_H
