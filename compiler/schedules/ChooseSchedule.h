//===- ChooseSchedule.h - parameters of a kernel's schedule for a CPU -------===//
// SPDX-License-Identifier: Apache-2.0
//
// From a CPU class and the widths of a kernel to tiles and grains: by rules, but for what a choice says.

#ifndef ATTNC_SCHEDULES_CHOOSE_SCHEDULE_H
#define ATTNC_SCHEDULES_CHOOSE_SCHEDULE_H

#include "compiler/kernels/Attention.h"
#include "compiler/kernels/Linear.h"
#include "compiler/kernels/Product.h"
#include "compiler/schedules/CpuTarget.h"
#include "compiler/schedules/ScheduleChoice.h"

namespace attnc {

struct MatmulSchedule {
  std::vector<MatmulTile> tiles; // in the order of the rows they serve, the last one any number
  int lanes;
  int columnsPerTask;        // as many of a tile's columns as fit in
  int rowTilesPerTask;       // of the last tile
  int columnsPerRowTask = 0; // of the last tile's tasks, in linears
  bool byRows = false; // tasks of the same rows follow each other; otherwise those of the same columns do

  bool operator==(const MatmulSchedule &) const = default;
};

/// What a schedule depends on.
struct MatmulShape {
  int steps; // over groups of inputs
  int group; // inputs of one
  int out;   // outputs
  bool areIntegers = false;
};

MatmulSchedule chooseMatmul(const CpuTarget &cpu, const LinearInputs &inputs,
                            const ScheduleChoice &choice = {});

/// Of panels of a vocabulary.
MatmulSchedule chooseVocabulary(const CpuTarget &cpu, const LinearInputs &inputs,
                                const ScheduleChoice &choice = {});

/// Of gates, whose row tiles share no weights.
MatmulSchedule chooseGates(const CpuTarget &cpu, const MatmulShape &shape, const ScheduleChoice &choice = {});

ProductTiles chooseProduct(const CpuTarget &cpu, const ProductInputs &inputs);

struct AttentionSchedule {
  AttentionTiles tiles;
  int width; // of queries and keys
  int valueWidth;
  // Of blocks of queries; a step has none.
  int queryLanes = 1;     // lanes of a vector of queries
  int contextRows = 1;    // tile of weights x values: queries
  int contextColumns = 1; // and columns of the value
  int blocksPerTask = 1;  // blocks that visit a block of keys together
  int manyKeys = 0;       // where there are more keys, and queries, than these

  bool operator==(const AttentionSchedule &) const = default;
};

/// Blocks of queries, in the order of the numbers of queries that each of the schedules serves.
std::vector<AttentionSchedule> chooseAttention(const CpuTarget &cpu, const AttentionInputs &inputs,
                                               const ScheduleChoice &choice = {});

/// Queries one by one: of a step, and a few of a graph, where that takes less time than a block of them.
/// `heads`: as many may be worked on side by side; 1 where `inputs` has them as tasks.
std::vector<AttentionSchedule> chooseStepAttention(const CpuTarget &cpu, const AttentionInputs &inputs,
                                                   int heads, const ScheduleChoice &choice = {});

} // namespace attnc

#endif // ATTNC_SCHEDULES_CHOOSE_SCHEDULE_H
