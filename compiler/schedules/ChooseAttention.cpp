//===- ChooseAttention.cpp - tiles and tasks of attention for a CPU ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// Reasons are counts of registers, bytes and lanes; timings are in docs/tuning-notes.md.

#include "compiler/schedules/ChooseSchedule.h"

#include "compiler/kernels/Archetype.h"
#include "compiler/kernels/Math.h"

#include <algorithm>

namespace attnc {

/// So many queries are worked on one by one where a kernel may choose.
constexpr int FewQueries = 4;

/// Of a block of queries or of its context: 16 KiB of the stack, which the first cache holds.
constexpr int BlockFloats = 4096;

static int attentionLanes(const CpuTarget &cpu, int width, int valueWidth) {
  return std::min(lanesDividing(width, cpu.lanes), lanesDividing(valueWidth, cpu.lanes));
}

static bool addsInOrder(const CpuTarget &cpu, int width, int valueWidth) {
  return cpu.sumsInOrder() || std::min(width, valueWidth) <= FewTerms;
}

/// Whether StepAttention.c can do all of a step's attention: it reads two vectors at a time.
static bool canBeExternalStep(const CpuTarget &cpu, const AttentionInputs &inputs) {
  return cpu.kind != CpuClass::Baseline && inputs.slots.defined() && inputs.onlyBounded &&
         std::max(inputs.width, inputs.valueWidth) <= StepColumns && inputs.width % (2 * cpu.lanes) == 0 &&
         inputs.valueWidth % (2 * cpu.lanes) == 0;
}

/// Heads of a task, where `tasks` have as many.
static int headsOfTask(int heads, int tasks) { return (heads + tasks - 1) / tasks; }

/// Few rows with many keys, whose tasks of all heads would leave threads without work, one row after the
/// other: a task has half of the heads and one span of the keys. Few heads of an odd number stay together, of
/// one row alone, and so do those of an odd number that take turns: the last half would do one again. Parts
/// of all spans are on the stack, so that many or wide heads take turns; where they are several tasks without
/// spans, keys have to be more.
static AttentionTiles shareOutKeys(AttentionTiles tiles, int valueWidth, int heads) {
  constexpr int fewHeads = 5, fewRows = 3, manyKeys = 256, mostFloats = 32 << 10;
  const bool isOneTask = tiles.heads == heads;
  int together = std::min<int>(StepHeads, mostFloats / (StepSpans * (valueWidth + tiles.lanes)));
  tiles.heads = headsOfTask(heads, (heads + together - 1) / together);
  bool hasHalves = tiles.heads % 2 == 0 || (isOneTask && tiles.heads > fewHeads);
  tiles.spanHeads = headsOfTask(tiles.heads, hasHalves ? 2 : 1);
  tiles.serves = hasHalves ? fewRows : 1;
  tiles.longerThan = isOneTask ? manyKeys : 4 * manyKeys;
  return tiles;
}

/// Tasks of all heads read keys and values as they lie; of many heads, each has as many. Where tasks do not
/// divide the heads, the last one does some again.
static std::vector<AttentionSchedule> chooseExternalStep(const CpuTarget &cpu, const AttentionInputs &inputs,
                                                         int heads, const ScheduleChoice &choice) {
  static constexpr ExternalAttention narrow = {.attend = "attnc_attend_step",
                                               .attendSpan = "attnc_attend_span",
                                               .mergeSpans = "attnc_merge_spans"},
                                     wide = {.attend = "attnc_attend_step_wide",
                                             .attendSpan = "attnc_attend_span_wide",
                                             .mergeSpans = "attnc_merge_spans_wide"};
  int tasks = (heads + StepHeads - 1) / StepHeads;
  auto word = chosen(choice, "head_tasks");
  if (!word.empty())
    tasks = std::max(tasks, numberOf(word));
  AttentionTiles tiles{.queries = 1,
                       .keys = KeysPerBlock,
                       .keyTile = 1,
                       .lanes = cpu.lanes,
                       .heads = headsOfTask(heads, tasks)};
  tiles.external = cpu.hasNarrowVectors() ? &narrow : &wide;
  tiles.attendsAlone = true;
  std::vector<AttentionSchedule> schedules = {{tiles, inputs.width, inputs.valueWidth}};
  if (word.empty() && !inputs.headsAreTasks)
    schedules.insert(schedules.begin(),
                     {shareOutKeys(tiles, inputs.valueWidth, heads), inputs.width, inputs.valueWidth});
  return schedules;
}

// Heads side by side: their scores of a block of keys and their states are on the stack. Blocks that a mask
// hides are left out head by head.
std::vector<AttentionSchedule> chooseStepAttention(const CpuTarget &cpu, const AttentionInputs &inputs,
                                                   int heads, const ScheduleChoice &choice) {
  if (canBeExternalStep(cpu, inputs))
    return chooseExternalStep(cpu, inputs, heads, choice);
  const int width = inputs.width, valueWidth = inputs.valueWidth;
  bool headsDiffer = inputs.keyStart || inputs.mayBeSeen({0, 0, 0, 0}).defined();
  int lanes = attentionLanes(cpu, width, valueWidth), together = headsDiffer ? 1 : heads;
  if (auto word = chosen(choice, "head_tasks"); !word.empty())
    together = std::min(together, headsOfTask(heads, numberOf(word)));
  while (together > 1 &&
         (heads % together != 0 || together * std::max(KeysPerBlock, valueWidth + lanes) > BlockFloats))
    --together;
  AttentionTiles tiles{.queries = 1,
                       .keys = KeysPerBlock,
                       .keyTile = 16,
                       .lanes = lanes,
                       .heads = together,
                       .inOrder = addsInOrder(cpu, width, valueWidth)};
  tiles.serves = FewQueries;
  return {{tiles, width, valueWidth}};
}

/// Whether external stages can sum up the products of heads of these widths.
static bool canBeExternal(const CpuTarget &cpu, int width, int valueWidth) {
  return cpu.roundsRows() && std::max(width, valueWidth) <= StageColumns;
}

/// Some queries by 32 keys; 32 by 32 are four of AMX's tiles.
static AttentionSchedule chooseExternal(const CpuTarget &cpu, int width, int valueWidth, int queries) {
  static constexpr ExternalAttention byTiles = {"attnc_turn_bfloats", "attnc_score_bfloats",
                                                "attnc_mix_bfloats", "attnc_attend_bfloats"};
  static constexpr ExternalAttention byVectors = {"attnc_turn_bfloat_vectors", "attnc_score_bfloat_vectors",
                                                  "attnc_mix_bfloat_vectors", "attnc_attend_bfloat_vectors"};
  AttentionTiles tiles{.queries = queries,
                       .keys = KeysPerBlock,
                       .keyTile = 32,
                       .lanes = attentionLanes(cpu, width, valueWidth)};
  tiles.external = cpu.hasMatrixTiles ? &byTiles : &byVectors;
  tiles.serves = queries;
  return {tiles, width, valueWidth, cpu.lanes};
}

/// Whether all queries of a row see the same keys.
static bool seeTheSame(const AttentionInputs &inputs) {
  Halide::Var query("query"), batch("batch");
  return inputs.onlyBounded && !inputs.keyStart &&
         !Halide::Internal::expr_uses_var(inputs.keyEnd(query, batch), query.name());
}

/// Lets the blocks of queries of a task share keys and values that are widened first: 64 queries, for which
/// that is little work, and no more, so that there are tasks for many threads. Those of a head as wide as
/// StageColumns take 128 KiB of the stack.
static void widenFirst(AttentionSchedule &schedule) {
  constexpr int queriesOfTask = 64;
  const int blocks = std::max(1, queriesOfTask / schedule.tiles.queries);
  schedule.tiles.widenedFor = schedule.blocksPerTask = std::min(schedule.blocksPerTask, blocks);
  schedule.manyKeys = 0;
}

// Products: `keyTile` keys by one or two vectors of queries, as many sums as a matmul's tile has. Context:
// `contextRows` x `contextColumns`, counted alike. 128 keys x 32 queries of scores are 16 KiB, and so is
// what is mixed up to a width of 128; wider heads take fewer queries. What a task keeps of its blocks, turned
// queries, contexts and maxima, is at most 272 KiB. A chosen tile of the context that is more sums than there
// are registers is slow, no more.
static AttentionSchedule chooseBlocks(const CpuTarget &cpu, const AttentionInputs &inputs,
                                      const ScheduleChoice &choice) {
  const int width = inputs.width, valueWidth = inputs.valueWidth;
  int lanes = attentionLanes(cpu, width, valueWidth);
  AttentionSchedule schedule{{}, width, valueWidth};
  int queries = cpu.lanes * 2;
  while (queries > 2 && queries * std::max(width, valueWidth) > BlockFloats)
    queries /= 2;
  int sums = cpu.kind == CpuClass::Avx512 ? 16 : 8;
  schedule.queryLanes = std::min(cpu.lanes, queries);
  int keyTile = sums / (queries / schedule.queryLanes);
  schedule.tiles = {queries, KeysPerBlock, keyTile, lanes, 1, addsInOrder(cpu, width, valueWidth)};
  schedule.blocksPerTask = std::min(8, 4 * BlockFloats / (queries * std::max(width, valueWidth)));
  schedule.manyKeys = 2048;
  schedule.contextColumns = lanesDividing(valueWidth / lanes, 2) * lanes;
  schedule.contextRows = lanesDividing(queries, sums / (schedule.contextColumns / lanes));
  if (auto word = chosen(choice, "query_blocks"); !word.empty()) {
    schedule.blocksPerTask = std::min(schedule.blocksPerTask, numberOf(word));
    schedule.manyKeys = 0;
  }
  if (auto word = chosen(choice, "context_tile"); !word.empty()) {
    schedule.contextRows = lanesDividing(queries, numberOf(word));
    schedule.contextColumns =
        lanesDividing(valueWidth / lanes, std::max(1, secondNumberOf(word) / lanes)) * lanes;
  }
  if (inputs.areRounded && std::max(width, valueWidth) <= StageColumns && seeTheSame(inputs))
    widenFirst(schedule);
  return schedule;
}

/// Queries of the blocks that external stages work on. One stage that does all of attention takes 32 of them
/// at a time. Several leave scores, mixed values and maxima of all on the stack: 400 KiB for 64 of width 128,
/// of 512 that are promised.
static std::vector<int> externalBlocks(bool attendsAlone, const ScheduleChoice &choice) {
  const std::vector<int> blocks =
      attendsAlone ? std::vector{64, 128, int(StageQueries)} : std::vector{32, 64};
  auto word = chosen(choice, "query_blocks");
  return word.empty() ? blocks : std::vector{std::min(numberOf(word) * PanelColumns, blocks.back())};
}

// Keys and values are rounded for each block of queries: for 256 of them an eighth as often as for 32. A
// block's queries are scaled whether there are as many or not.
std::vector<AttentionSchedule> chooseAttention(const CpuTarget &cpu, const AttentionInputs &inputs,
                                               const ScheduleChoice &choice) {
  if (inputs.memory.empty() || !canBeExternal(cpu, inputs.width, inputs.valueWidth))
    return {chooseBlocks(cpu, inputs, choice)};
  std::vector<AttentionSchedule> schedules;
  for (int queries : externalBlocks(inputs.onlyBounded, choice)) {
    schedules.push_back(chooseExternal(cpu, inputs.width, inputs.valueWidth, queries));
    schedules.back().tiles.attendsAlone = inputs.onlyBounded;
  }
  return schedules;
}

} // namespace attnc
