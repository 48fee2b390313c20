//===- ChooseMatmul.cpp - tiles and tasks of matmuls for a CPU --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Reasons are counts of registers, bytes and lanes; timings are in docs/tuning-notes.md.

#include "compiler/schedules/ChooseSchedule.h"

#include "compiler/kernels/Archetype.h"
#include "compiler/kernels/Math.h"

#include "llvm/ADT/StringSwitch.h"

#include <algorithm>

namespace attnc {

// AVX-512. A tile's accumulators, one vector of weights per column group and a broadcast fit 32 registers. A
// sum needs 4 cycles, two start per cycle, so 8 vectors must be under way: 1 x 128 = 8 sums, 4 x 64 = 16, 8 x
// 32 = 16, 6 x 64 = 24. Nine to twelve rows are two tiles of six, which computes fewer rows in vain than two
// of eight.
// A network's weights come from memory, other layers' having taken their place in the second cache. One row
// on a Zen 4 reads one panel alone: 1 x 32 = 2 sums take 128 bytes in 4 cycles, more than memory gives.
static std::vector<MatmulTile> wideTiles(const CpuTarget &cpu, bool areIntegers) {
  MatmulTile one{1, 128}, few{.rows = 4, .columns = 64}, eight{.rows = 8, .columns = 32};
  MatmulTile twelve{.rows = 6, .columns = 64, .serves = 12}, many{.rows = 8, .columns = 32};
  few.prefetch = eight.prefetch = twelve.prefetch = many.prefetch = Prefetch::NextColumns;
  switch (cpu.reading) {
  case WeightReading::NextColumns:
    break;
  case WeightReading::PanelByPanel:
    one.columns = few.columns = PanelColumns;
    few.prefetch = Prefetch::None;
    eight.prefetch = Prefetch::AheadSecond;
    if (!areIntegers)
      twelve.prefetch = many.prefetch = Prefetch::None;
    break;
  case WeightReading::Ahead:
    few.columns = PanelColumns;
    few.prefetch = eight.prefetch = Prefetch::Ahead;
    break;
  }
  return {one, few, eight, twelve, many};
}

// 16 registers: 6 x 16 = 12 sums, 4 x 16 = 8, 1 x 64 = 8. Weights from memory are read by all rows in blocks
// of 16 steps over the input, so that the core, which looks some 500 operations ahead, asks for the next
// block while it works on this one. Tiles as wide as the sums allow ask for most at a time: their
// multiply-adds per weight are few, and four panels lie in four pages.
static std::vector<MatmulTile> narrowTiles(bool streams) {
  if (streams)
    return {{1, 64}, {.rows = 1, .columns = 64, .serves = 16, .steps = 16}, {6, 16}};
  return {{1, 64}, {4, 16}, {6, 16}};
}

// Plain x86-64 multiplies into a register of its own: 2 x 16 = 8 sums, 4 weights, 2 products.
static std::vector<MatmulTile> baselineTiles(bool streams) {
  if (streams)
    return {{1, 32}, {.rows = 1, .columns = 32, .serves = 16, .steps = 16}, {2, 16}};
  return {{1, 32}, {2, 16}};
}

static std::vector<MatmulTile> tilesFor(const CpuTarget &cpu, bool streams, bool areIntegers) {
  switch (cpu.kind) {
  case CpuClass::Avx512:
    return wideTiles(cpu, areIntegers);
  case CpuClass::Avx2:
    return narrowTiles(streams);
  case CpuClass::Baseline:
    return baselineTiles(streams);
  }
  return {};
}

/// Half a second cache of 2 MiB, in groups of inputs (4 bytes, whatever the type): the rest is for rows and
/// results.
constexpr int64_t CachedWeights = (1 << 20) / 4;

/// 96 rows of 512 floats are 192 KiB: they stay in the second cache while each panel of weights meets them
/// once, and the panels of a task may stay there for the next task, which has other rows.
constexpr int RowsPerTask = 96;

/// Tiles that ask for weights ahead need not find them in the second cache: one task after the other keeps
/// its rows there instead (of 512 floats 128 KiB, of 2,048 512 KiB). Threads have rows of their own, which
/// they find in their caches from kernel to kernel.
constexpr int KeptRows = 64;

/// Tasks that follow each other by rows share no weights: small enough for two threads to finish together
/// where one has 64 rows and the other 32.
constexpr int ColumnsOfKeptRows = 128;

/// Loops over fewer panels may be unrolled wholly.
constexpr int FewPanels = 16;

static bool comesFromMemory(int steps, int out) { return int64_t(steps) * out > CachedWeights; }

/// Columns of a task, which is worth a thread from about 2^17 multiplications per row.
static int columnsPerTask(const MatmulShape &shape) {
  const int grain = 128; // every tile's columns divide it
  int columns = std::max(1, (1 << 17) / std::max(1, shape.steps * shape.group * grain)) * grain;
  return std::min(columns, (shape.out + grain - 1) / grain * grain);
}

static Prefetch prefetchOf(std::string_view word) {
  return llvm::StringSwitch<Prefetch>(word)
      .Case("none", Prefetch::None)
      .Case("next_columns", Prefetch::NextColumns)
      .Case("ahead", Prefetch::Ahead)
      .Case("ahead_second", Prefetch::AheadSecond);
}

/// Gives tiles what is chosen for them; those that share weights stay as they are.
static void applyChoice(std::vector<MatmulTile> &tiles, const ScheduleChoice &choice) {
  MatmulTile &manyRows = tiles.back();
  if (auto word = chosen(choice, "tile"); !word.empty()) {
    manyRows.rows = numberOf(word);
    manyRows.columns = secondNumberOf(word);
  }
  if (auto word = chosen(choice, "prefetch"); !word.empty())
    manyRows.prefetch = prefetchOf(word);
  if (auto word = chosen(choice, "one_row_columns"); !word.empty())
    tiles.front().columns = numberOf(word);
  if (auto word = chosen(choice, "few_rows_prefetch"); !word.empty())
    for (MatmulTile &tile : llvm::MutableArrayRef(tiles).drop_back())
      if (tile.rows > 1 && !tile.isShared())
        tile.prefetch = prefetchOf(word);
}

static bool isAhead(Prefetch prefetch) {
  return prefetch == Prefetch::Ahead || prefetch == Prefetch::AheadSecond;
}

/// Panels are asked for whole, and ahead by tiles of one alone.
static void limitPrefetch(MatmulTile &tile) {
  if (tile.columns % PanelColumns != 0)
    tile.prefetch = Prefetch::None;
  else if (isAhead(tile.prefetch) && tile.columns != PanelColumns)
    tile.prefetch = Prefetch::NextColumns;
}

static bool asksAhead(const MatmulSchedule &schedule) {
  return schedule.tiles.back().prefetch != Prefetch::None;
}

/// Makes tasks of the last tile. `byRows`: those that follow each other have the same rows, else the same
/// columns. `keepsRows`: so few rows that they stay in the second cache.
static void orderTasks(MatmulSchedule &schedule, bool byRows, bool keepsRows) {
  const MatmulTile &manyRows = schedule.tiles.back();
  schedule.byRows = byRows;
  schedule.rowTilesPerTask = (keepsRows ? KeptRows : RowsPerTask) / manyRows.rows;
}

/// A tile that reaches past the weight sums its last panel several times, or has room for sums that there are
/// not. Where there are few panels, LLVM sees that one is repeated, and shares sums of products among the
/// copies: it adds in another order than in other tiles.
static void fitToPanels(MatmulTile &tile, int panels) {
  while (panels < FewPanels && panels * PanelColumns % tile.columns != 0)
    tile.columns /= 2;
}

static MatmulSchedule chooseForVectors(const CpuTarget &cpu, const MatmulShape &shape,
                                       const ScheduleChoice &choice, bool shareTiles) {
  const auto [steps, group, out, areIntegers] = shape;
  bool streams = shareTiles && comesFromMemory(steps, out);
  MatmulSchedule schedule{tilesFor(cpu, streams, areIntegers), cpu.lanes, 0, 0};
  if (!shareTiles)
    std::erase_if(schedule.tiles, [](const MatmulTile &tile) { return tile.isShared(); });
  applyChoice(schedule.tiles, choice);
  for (MatmulTile &tile : schedule.tiles) {
    fitToPanels(tile, (out + PanelColumns - 1) / PanelColumns);
    tile.inOrder = cpu.sumsInOrder();
    limitPrefetch(tile);
  }
  schedule.columnsPerTask = columnsPerTask(shape);
  return schedule;
}

MatmulSchedule chooseGates(const CpuTarget &cpu, const MatmulShape &shape, const ScheduleChoice &choice) {
  MatmulSchedule schedule = chooseForVectors(cpu, shape, choice, /*shareTiles=*/false);
  orderTasks(schedule, /*byRows=*/true, asksAhead(schedule));
  return schedule;
}

/// Terms that are packed at once: all of a few, or a part that leaves no rest, so that loops need no bounds.
static int chooseTerms(int terms) {
  constexpr int most = 128, usual = 64;
  if (terms > 0 && terms <= most)
    return terms;
  return terms > 0 && lanesDividing(terms, usual) >= usual / 4 ? lanesDividing(terms, usual) : usual;
}

ProductTiles chooseProduct(const CpuTarget &cpu, const ProductInputs &inputs) {
  // Eight vectors of sums hide the latency of an addition; AVX-512 has registers for sixteen.
  ProductTiles tiles{.columns = 2 * cpu.lanes,
                     .rows = cpu.kind == CpuClass::Avx512 ? 8 : 4,
                     .rowsOfBlock = 64,
                     .terms = chooseTerms(inputs.terms),
                     .lanes = cpu.lanes,
                     .turnedLanes = 0,
                     .fewRows = inputs.isTransposed ? 4 : 8,
                     .inOrder = cpu.sumsInOrder()};
  if (inputs.columns > 0) // blocks that leave no rest, of one vector at least
    tiles.columns = std::max(lanesDividing(inputs.columns, tiles.columns), cpu.lanes);
  const bool isWhole = inputs.terms > 0 && inputs.terms % tiles.terms == 0;
  constexpr int turnedLanes = 4; // stores are as wide as the shuffles before them
  if (inputs.isTransposed && isWhole && tiles.terms % turnedLanes == 0)
    tiles.turnedLanes = turnedLanes;
  return tiles;
}

namespace {
enum class WeightType { Float, Bfloat, Integer };
} // namespace

static WeightType typeOf(const LinearInputs &inputs) {
  if (inputs.scales)
    return WeightType::Integer;
  return inputs.weight.group == 2 ? WeightType::Bfloat : WeightType::Float;
}

/// The function that sums up rows of memory and panels, or null: Halide's loops do.
static const char *chooseFunction(const CpuTarget &cpu, const LinearInputs &inputs) {
  if (inputs.external.empty())
    return nullptr;
  switch (typeOf(inputs)) {
  case WeightType::Float:
    return cpu.hasNarrowVectors() && !inputs.areRounded ? "attnc_multiply_float_vectors" : nullptr;
  case WeightType::Bfloat:
    if (cpu.hasMatrixTiles)
      return "attnc_multiply_bfloats";
    if (cpu.hasNarrowVectors()) // of so few, Halide's tiles round products before they add them
      return inputs.weight.in > FewTerms ? "attnc_multiply_widened_vectors" : nullptr;
    if (cpu.hasWideFloatVectors())
      return inputs.weight.in > FewTerms ? "attnc_multiply_widened_vectors_wide" : nullptr;
    if (!cpu.hasFastPairs)
      return nullptr;
    return cpu.reading == WeightReading::Ahead ? "attnc_multiply_bfloat_vectors_zen5"
                                               : "attnc_multiply_bfloat_vectors_zen4";
  case WeightType::Integer:
    if (cpu.hasMatrixTiles)
      return "attnc_multiply_bytes";
    if (cpu.byteSums == ByteSums::Split)
      return cpu.hasNarrowVectors() ? "attnc_multiply_byte_vectors" : "attnc_multiply_byte_vectors_wide";
    if (cpu.byteSums == ByteSums::Dots)
      return cpu.hasNarrowVectors() ? "attnc_multiply_byte_dots" : "attnc_multiply_byte_dots_wide";
    return nullptr;
  }
  return nullptr;
}

/// Up to so many rows keep their tiles where there is an external one. Up to four wait for memory in any
/// tile, and have the same sums: those of integers are exact, and floats, widened ones too, are added up in
/// one order. But pairs of bfloat16 are not, and of integers Halide's tiles use none of the instructions that
/// the external one does where there are no matrix instructions. Of 32 registers, a tile of eight rows holds
/// widened weights as well as the external one does.
static int rowsOfHalidesTiles(const CpuTarget &cpu, WeightType type) {
  if (type == WeightType::Integer)
    return cpu.hasMatrixTiles ? 4 : 0;
  if (cpu.hasWideFloatVectors())
    return 8;
  return cpu.hasNarrowVectors() ? 4 : 0;
}

/// Lets the external tile take the place of those it is better than. More rows of floats than it serves meet
/// weights that are in the caches, in the last tile; of bfloat16 that tile would widen both again for each 16
/// columns.
static void putExternal(std::vector<MatmulTile> &tiles, const MatmulTile &external, const CpuTarget &cpu,
                        WeightType type) {
  const int few = rowsOfHalidesTiles(cpu, type);
  std::vector<MatmulTile> chosen;
  for (MatmulTile tile : tiles)
    if (tile.rows <= few && (chosen.empty() || chosen.back().serves < few)) {
      tile.serves = std::min(tile.serves, few);
      chosen.push_back(tile);
    }
  chosen.push_back(external);
  if (type == WeightType::Float)
    chosen.push_back(tiles.back());
  tiles = std::move(chosen);
}

/// Rows of floats whose external tile asks for weights, 32 of them at a time, while it multiplies. More find
/// them in the caches: they take the last tile, whose sums never leave registers.
constexpr int RowsThatAsk = 64;

/// Whether tiles of 256 columns leave tasks as they are with 128, and need no guard that those do not.
static bool fitWideTiles(int out, const MatmulSchedule &schedule) {
  return schedule.columnsPerTask % 256 == 0 && (out % 256 == 0 || out % 128 != 0);
}

// 32 rows x 128 columns of sums are 16 KiB. Tiles take twice that where stages prepare rows again for each:
// with AVX-512 and AMX those of bfloat16 are widened, or rounded where they are floats; bytes are split into
// magnitudes and signs.
static MatmulSchedule chooseTiles(const CpuTarget &cpu, const LinearInputs &inputs,
                                  const ScheduleChoice &choice) {
  const PanelMatrix &weight = inputs.weight;
  WeightType type = typeOf(inputs);
  MatmulShape shape{std::max(1, weight.in / weight.group), weight.group, weight.out,
                    type == WeightType::Integer};
  MatmulSchedule schedule = chooseForVectors(cpu, shape, choice, /*shareTiles=*/true);
  const char *function = chooseFunction(cpu, inputs);
  if (!function)
    return schedule;
  bool splitsBytes = type == WeightType::Integer && cpu.byteSums == ByteSums::Split;
  bool isWide = splitsBytes ? fitWideTiles(weight.out, schedule)
                            : type == WeightType::Bfloat && !cpu.hasNarrowVectors();
  MatmulTile external{.rows = 32,
                      .columns = isWide ? 256 : 128,
                      .serves = type == WeightType::Float ? RowsThatAsk : 32,
                      .external = function,
                      .byteOffset = splitsBytes ? 128 : 0};
  if (auto word = chosen(choice, "external_columns"); !word.empty())
    external.columns = numberOf(word);
  fitToPanels(external, weight.panels());
  putExternal(schedule.tiles, external, cpu, type);
  schedule.columnsPerTask = std::max(schedule.columnsPerTask, external.columns);
  return schedule;
}

/// Whether the first cache holds 32 rows as matrix instructions read them. Rows of floats, which are rounded
/// for each tile, and those that are filled up do not lie as they are read.
static bool canStay(const LinearInputs &inputs) {
  constexpr int longestRow = 1024; // bytes: 32 KiB of 48
  const bool areBytes = typeOf(inputs) == WeightType::Integer;
  const bool areRead = areBytes || (inputs.areRounded && inputs.weight.in % PanelColumns == 0);
  return areRead && inputs.weight.in * (areBytes ? 1 : 2) <= longestRow;
}

/// Lets 32 rows meet all panels of a task one after the other, so that they stay in the first cache. It has
/// room for few sums beside them, and what is made of these is written while the next are added up.
static void stayWithRows(MatmulSchedule &schedule, WeightType type) {
  MatmulTile tile = schedule.tiles.back();
  const bool areBytes = type == WeightType::Integer;
  tile.columns = std::min(tile.columns, areBytes ? PanelColumns : 2 * PanelColumns);
  tile.external = areBytes ? "attnc_multiply_bytes_of_task" : "attnc_multiply_bfloats_of_task";
  tile.columnsOfTask = schedule.columnsPerRowTask / tile.columns * tile.columns;
  schedule.tiles.push_back(tile);
}

MatmulSchedule chooseMatmul(const CpuTarget &cpu, const LinearInputs &inputs, const ScheduleChoice &choice) {
  MatmulSchedule schedule = chooseTiles(cpu, inputs, choice);
  auto word = chosen(choice, "tasks");
  bool keepsRows = word.empty() ? asksAhead(schedule) : word == "by_rows";
  orderTasks(schedule, keepsRows, keepsRows);
  schedule.columnsPerRowTask =
      keepsRows ? std::max(ColumnsOfKeptRows, schedule.tiles.back().columns) : schedule.columnsPerTask;
  if (cpu.hasMatrixTiles && schedule.tiles.back().isExternal() && canStay(inputs))
    stayWithRows(schedule, typeOf(inputs));
  return schedule;
}

// Weights are far more than rows: tasks of the same columns find these in the second cache. Matrix
// instructions ask for the next tile's, of 128 KiB at most, while they multiply (MatrixTiles.c).
MatmulSchedule chooseVocabulary(const CpuTarget &cpu, const LinearInputs &inputs,
                                const ScheduleChoice &choice) {
  MatmulSchedule schedule = chooseTiles(cpu, inputs, choice);
  if (cpu.hasMatrixTiles && inputs.areRounded)
    schedule.tiles.back().columns = std::min(schedule.tiles.back().columns, 128);
  orderTasks(schedule, /*byRows=*/false, asksAhead(schedule));
  return schedule;
}

} // namespace attnc
