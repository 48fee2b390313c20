//===- Schedules.h - schedules for CPUs -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Each applies parameters to the stages of one kind of kernel. Nothing here computes; scratch is on the stack
// with bounds that are known when compiling, so kernels never allocate.

#ifndef ATTNC_SCHEDULES_CPU_SCHEDULES_H
#define ATTNC_SCHEDULES_CPU_SCHEDULES_H

#include "compiler/kernels/Cell.h"
#include "compiler/kernels/Product.h"
#include "compiler/kernels/QuantisedRows.h"
#include "compiler/kernels/RowNorm.h"
#include "compiler/kernels/Vocabulary.h"
#include "compiler/schedules/ChooseSchedule.h"

namespace attnc {

/// Loops over a tile of sums, and over tiles, of a class of row counts, whose number ends names.
struct TileLoops {
  Halide::Var column, row, rowTile, columnTile;
  std::string suffix;
};

/// Makes tasks of tiles, `columnTiles` each: of a class of few rows, with all of its row tiles; of any rows,
/// with some of them, in the order of the schedule.
void shareOutTiles(Halide::Stage stage, const TileLoops &loops, int columnTiles,
                   const MatmulSchedule &schedule, bool anyRows);

void scheduleMatmul(LinearStages &stages, const MatmulSchedule &schedule);

/// The sums of one tile, computed where `consumer` visits the tile at `level`.
void scheduleAccumulator(Accumulator &accumulator, int lanes, Halide::Func consumer, Halide::VarOrRVar level);

void scheduleCell(CellStages &stages, const MatmulSchedule &schedule);

/// One schedule for each way.
void scheduleAttention(AttentionKernel &kernel, const std::vector<AttentionSchedule> &schedules);

void scheduleProduct(ProductStages &stages, const ProductTiles &tiles);

/// Rows in memory (vars[0] in the lanes, vars[1] in groups that run in parallel).
void scheduleRows(Halide::Func result, const std::vector<Halide::Var> &vars, int lanes);

/// A reduction by lane (the first axis), computed per row of `consumer`.
void scheduleLaneReduction(Halide::Func stage, int lanes, Halide::Func consumer, Halide::Var row);

/// The groups alone, of a stage whose lanes have been chosen.
void scheduleRowGroups(Halide::Stage stage, const std::vector<Halide::Var> &vars);

/// Rows that go to places of their own in a cache, in groups of queries and rows that run in parallel.
void scheduleAppendedRows(Halide::Stage update, const Halide::RVar &query, const Halide::RVar &row);

/// Stages of a norm, computed per row (`vars[1]`) of `consumer`.
void scheduleRowNorm(RowNormStages &stages, int lanes, Halide::Func consumer, Halide::Var row);

/// Rows of bytes and their scales, in groups of rows that run in parallel.
void scheduleQuantisedRows(QuantisedRowsStages &stages, int lanes);

/// Panels of a vocabulary, written to scratch.
void scheduleVocabulary(VocabularyStages &stages, const MatmulSchedule &schedule);

/// The sum over panels, computed per row of `consumer`.
void scheduleLogSum(LogSumStages &stages, int lanes, Halide::Func consumer, Halide::Var row);

void scheduleTop(TopStages &stages, VocabularyStages &vocabulary, int lanes);

void scheduleRowLogSum(RowLogSumStages &stages, int lanes, Halide::Func consumer, Halide::Var row);

} // namespace attnc

#endif // ATTNC_SCHEDULES_CPU_SCHEDULES_H
