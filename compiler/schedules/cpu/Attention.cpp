//===- Attention.cpp - schedule of attention on CPUs ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A task is one block of queries of one head and batch row (many queries) or a row with all its heads (a step).

#include "compiler/schedules/cpu/Schedules.h"

using namespace Halide;

namespace attnc {

namespace {
/// Applies one schedule to the stages; members are what several stages need.
class AttentionScheduler {
public:
  AttentionScheduler(AttentionStages &stages, const AttentionSchedule &schedule)
      : s(stages), p(schedule), tiles(schedule.tiles) {}

  void schedule() {
    if (tiles.queries == 1)
      scheduleStepResult();
    else
      scheduleResult();
    scheduleState();
    if (tiles.queries == 1)
      scheduleStepProducts();
    else
      scheduleProducts();
    scheduleSoftmax();
    scheduleContext();
  }

private:
  int valueWidth() const { return *as_const_int(p.contextColumns) ; }

  /// What all stages of a task share: one block of queries, one head, one batch row, memory on the stack.
  Func &local(Func &stage, bool hasBlock) {
    stage.store_in(MemoryType::Stack);
    stage.bound_extent(s.queryBlock, 1).bound_extent(s.head, 1).bound_extent(s.batch, 1);
    if (hasBlock)
      stage.bound_extent(s.block, 1);
    return stage;
  }

  AttentionStages &s;
  const AttentionSchedule &p;
  const AttentionTiles &tiles;
};
} // namespace

void scheduleAttention(AttentionStages &stages, const AttentionSchedule &schedule) {
  AttentionScheduler(stages, schedule).schedule();
}

} // namespace attnc
