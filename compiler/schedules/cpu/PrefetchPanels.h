//===- PrefetchPanels.h - weights that are asked for before they are needed -===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ATTNC_SCHEDULES_CPU_PREFETCH_PANELS_H
#define ATTNC_SCHEDULES_CPU_PREFETCH_PANELS_H

#include "Halide.h"
#include "compiler/kernels/StageLimits.h"

#include <memory>

namespace attnc {

// Loops over a matmul's input that carry one of these in their names ask for weights.

/// For the next tile's.
constexpr const char *PrefetchingLoop = "prefetching";
/// For their own, of one panel, `BytesAhead` on, for the first cache.
constexpr const char *ReadingAheadLoop = "readingAhead";
/// The same, for the second cache.
constexpr const char *ReadingAheadSecondLoop = "readingIntoSecond";

/// The name, but for a suffix, of the loop over row tiles around them: each asks for its share.
constexpr const char *RowTileLoop = "rowTile";

/// A pass over lowered code. The first row tile that meets a tile of columns waits for its weights, which
/// come from memory; the others find them in the second cache. So that memory and core work side by side,
/// each row tile asks for a part of the next tile's weights between its multiply-adds: as many cache lines at
/// a time as it takes for all row tiles together to ask for the whole tile, once. Lines that are asked for
/// together are far apart: memory gives more from several pages at a time than from one. (Halide's own
/// prefetches would ask for all of the tile, line by line, in each row tile.) One row tile that reads ahead
/// asks in each iteration for as many lines as it reads, `BytesAhead` after them.
std::unique_ptr<Halide::Internal::IRMutator> makePrefetchPanels();

} // namespace attnc

#endif // ATTNC_SCHEDULES_CPU_PREFETCH_PANELS_H
