//===- PrefetchPanelsTest.cpp - which weights are asked for ahead -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Walks through lowered code as the machine would, and notes what each prefetch asks for.

#include "compiler/schedules/cpu/PrefetchPanels.h"
#include "compiler/schedules/ChooseSchedule.h"
#include "compiler/schedules/KernelPipeline.h"
#include "tests/kernels/KernelHarness.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

using namespace attnc;
using namespace attnc::test;
using namespace Halide::Internal;

namespace {

constexpr const char *Avx512 = "x86-64-linux-avx-avx2-avx512-avx512_skylake-f16c-fma-sse41";
constexpr const char *Vnni =
    "x86-64-linux-avx-avx2-avx512-avx512_cannonlake-avx512_skylake-avx512_zen4-f16c-fma-sse41";
constexpr const char *Zen4 =
    "x86-64-linux-avx-avx2-avx512-avx512_cannonlake-avx512_skylake-avx512_zen4-f16c-fma-sse41-tune_znver4";
constexpr const char *Zen5 =
    "x86-64-linux-avx-avx2-avx512-avx512_cannonlake-avx512_skylake-avx512_zen4-f16c-fma-sse41-tune_znver5";
constexpr int In = 64;
constexpr int Cached = 256,
              Streamed = 8192; // columns; the second cache keeps 64 x 256 weights, not 64 x 8192

/// Of the schedule.
struct Tile {
  int rows, columns;
};

/// Runs the loops of a statement for their prefetches alone; how often each line was asked for.
class PrefetchWalker : public IRVisitor {
public:
  explicit PrefetchWalker(int rows) : rows(rows) {}

  std::map<int64_t, int> lines; // by number from the buffer's start
  std::set<int64_t> localities; // 3: for the first cache, 2: for the second

private:
  using IRVisitor::visit;

  /// Replaces what is known by numbers. Buffers are there, and their second extent is the number of rows.
  class Known : public IRMutator {
  public:
    Known(const std::map<std::string, Halide::Expr> &values, int rows) : values(values), rows(rows) {}

  private:
    using IRMutator::visit;
    Halide::Expr visit(const Variable *variable) override {
      auto found = values.find(variable->name);
      return found == values.end() ? Halide::Expr(variable) : found->second;
    }
    Halide::Expr visit(const Call *call) override {
      if (call->name == Call::buffer_is_bounds_query)
        return const_false();
      if (call->name == Call::buffer_get_extent && is_const_one(call->args[1]))
        return rows;
      return IRMutator::visit(call);
    }
    const std::map<std::string, Halide::Expr> &values;
    const int rows;
  };

  Halide::Expr reduced(const Halide::Expr &expr) {
    return simplify(remove_likelies(Known(values, rows).mutate(expr)));
  }

  int64_t valueOf(const Halide::Expr &expr) {
    Halide::Expr value = reduced(expr);
    auto known = as_const_int(value);
    auto truth = as_const_uint(value);
    EXPECT_TRUE(known || truth) << "not known: " << value;
    return known ? *known : truth ? int64_t(*truth) : 0;
  }

  void visit(const LetStmt *let) override {
    values[let->name] = reduced(let->value);
    let->body.accept(this);
    values.erase(let->name);
  }

  void visit(const For *loop) override {
    const int64_t first = valueOf(loop->min), end = first + valueOf(loop->extent);
    for (int64_t i = first; i < end; ++i) {
      values[loop->name] = int(i);
      loop->body.accept(this);
    }
    values.erase(loop->name);
  }

  void visit(const IfThenElse *branch) override {
    if (valueOf(branch->condition))
      branch->then_case.accept(this);
    else if (branch->else_case.defined())
      branch->else_case.accept(this);
  }

  void visit(const Store *) override {}
  void visit(const AssertStmt *) override {}

  void visit(const Evaluate *statement) override {
    const Call *call = statement->value.as<Call>();
    if (!call || call->name != "llvm.prefetch.p0")
      return;
    // The start as a number, and the offset.
    const Add *address = call->args[0].as<Reinterpret>()->value.as<Add>();
    ASSERT_TRUE(address);
    ++lines[valueOf(address->b) / 64];
    localities.insert(valueOf(call->args[2]));
  }

  const int rows;
  std::map<std::string, Halide::Expr> values;
};

/// Keeps the code that it is given.
class Keeper : public IRMutator {
public:
  explicit Keeper(Stmt &kept) : kept(kept) {}
  Stmt mutate(const Stmt &code) override { return kept = code; }

private:
  Stmt &kept;
};

Stmt lowered(int out, const std::string &weights, const char *machine = Avx512) {
  std::string x = "tensor<?x64xf32, #attn.axes<row, width>>";
  std::string y = "tensor<?x" + std::to_string(out) + "xf32, #attn.axes<row, width>>";
  std::string w = "tensor<" + std::to_string(out) + "x64x" + weights + ">";
  TestKernel kernel("attn.kernel @k {\n^bb0(%x: " + x + ", %w: " + w + "):\n  %0 = attn.linear %x, %w : (" +
                    x + ", " + w + ") -> " + y + "\n  attn.yield %0 : " + y + "\n}\n");
  EXPECT_TRUE(kernel.op());
  Halide::Target target(machine);
  auto pipeline = buildKernelPipeline(kernel.op(), describeCpu(target));
  EXPECT_TRUE(bool(pipeline));
  Halide::Pipeline whole(pipeline->outputs);
  Stmt kept;
  whole.add_custom_lowering_pass(makePrefetchPanels().release());
  whole.add_custom_lowering_pass(new Keeper(kept));
  (void)whole.compile_to_module(pipeline->arguments, "k", target);
  return kept;
}

/// Each line of the next tile once, by rows of one task. Where row tiles cannot share them evenly, the last
/// asks for a few more.
void expectNextTilesOnce(const Stmt &code, int out, Tile tile, int rows, int elementBytes) {
  SCOPED_TRACE(std::to_string(rows) + " rows");
  PrefetchWalker walker(rows);
  code.accept(&walker);
  const int lines = In * tile.columns * elementBytes / 64;
  const int rowTiles = (rows + tile.rows - 1) / tile.rows;
  const int iterations = In / 4, linesRead = lines / iterations;
  const int atOnce = (linesRead + rowTiles - 1) / rowTiles, apart = (lines + atOnce - 1) / atOnce;
  EXPECT_LE(apart, rowTiles * iterations) << "there is time for all of them";
  std::map<int64_t, int> wanted;
  for (int next = 1; next <= out / tile.columns; ++next)
    for (int64_t line = 0; line < int64_t(atOnce) * apart; ++line)
      ++wanted[next * lines + line];
  EXPECT_EQ(walker.lines, wanted);
  EXPECT_EQ(walker.localities, std::set<int64_t>{2});
}

TEST(PrefetchPanelsTest, EachLineOfTheNextTileIsAskedForOnce) {
  for (int out : {Cached, Streamed}) {
    const Stmt code = lowered(out, "f32, #attn.panels<32>");
    for (int rows : {2, 4})
      expectNextTilesOnce(code, out, {4, 64}, rows, 4);
    for (int rows : {5, 7, 8, 13, 17, 24, 25, 37, 48, 64})
      expectNextTilesOnce(code, out, {8, 32}, rows, 4);
    for (int rows : {9, 12})
      expectNextTilesOnce(code, out, {6, 64}, rows, 4);
  }
}

TEST(PrefetchPanelsTest, SmallerElementsHaveFewerLines) {
  const Stmt code = lowered(Cached, "bf16, #attn.panels<32, 2>");
  for (int rows : {5, 8}) // an external stage has more
    expectNextTilesOnce(code, Cached, {8, 32}, rows, 2);
}

void expectNothingAskedFor(const Stmt &code, std::initializer_list<int> rowCounts) {
  for (int rows : rowCounts) {
    PrefetchWalker walker(rows);
    code.accept(&walker);
    EXPECT_TRUE(walker.lines.empty()) << rows;
  }
}

TEST(PrefetchPanelsTest, OneRowAsksForNothing) {
  for (int out : {Cached, Streamed})
    expectNothingAskedFor(lowered(out, "f32, #attn.panels<32>"), {1});
}

/// Each line of the weights once, so far ahead.
void expectAllAhead(const Stmt &code, int out, int rows, int64_t locality) {
  SCOPED_TRACE(std::to_string(rows) + " rows");
  PrefetchWalker walker(rows);
  code.accept(&walker);
  std::map<int64_t, int> wanted;
  for (int64_t line = 0; line < int64_t(In) * out * 4 / 64; ++line)
    ++wanted[line + BytesAhead / 64];
  EXPECT_EQ(walker.lines, wanted);
  EXPECT_EQ(walker.localities, std::set{locality});
}

TEST(PrefetchPanelsTest, OnZen5AFewRowsReadAhead) {
  for (int out : {Cached, Streamed}) {
    const Stmt code = lowered(out, "f32, #attn.panels<32>", Zen5);
    for (int rows : {2, 3, 4, 5, 8})
      expectAllAhead(code, out, rows, 3);
  }
}

TEST(PrefetchPanelsTest, OnZen5ManyRowsAskForTheNextTile) {
  for (int out : {Cached, Streamed}) {
    const Stmt code = lowered(out, "f32, #attn.panels<32>", Zen5);
    for (int rows : {9, 12})
      expectNextTilesOnce(code, out, {6, 64}, rows, 4);
    for (int rows : {13, 24, 37, 64})
      expectNextTilesOnce(code, out, {8, 32}, rows, 4);
  }
}

TEST(PrefetchPanelsTest, OnZen4FiveToEightRowsReadAheadIntoTheSecondCache) {
  for (int out : {Cached, Streamed}) {
    const Stmt code = lowered(out, "f32, #attn.panels<32>", Zen4);
    for (int rows : {5, 8})
      expectAllAhead(code, out, rows, 2);
    expectNothingAskedFor(code, {1, 2, 4, 9, 12, 13, 64});
  }
}

/// What tiles ask for: of one row, of up to 4, 8 and 12, and of more.
std::vector<attnc::Prefetch> askedBy(const std::vector<MatmulTile> &tiles) {
  std::vector<attnc::Prefetch> asked;
  for (const MatmulTile &tile : tiles)
    asked.push_back(tile.prefetch);
  return asked;
}

/// Of 512 inputs as integers.
std::vector<MatmulTile> tilesOfIntegers(const char *machine, int out) {
  LinearInputs inputs;
  inputs.weight = {.in = 512, .out = out, .at = {}, .group = 4};
  inputs.scales.emplace();
  return chooseMatmul(describeCpu(Halide::Target(machine)), inputs).tiles;
}

std::vector<MatmulTile> tilesOfGates(const char *machine) {
  return chooseGates(describeCpu(Halide::Target(machine)), {In, 1, Streamed}).tiles;
}

TEST(PrefetchPanelsTest, IntegersAreAskedForAsEachProcessorReadsThemBest) {
  using enum attnc::Prefetch;
  using Asked = std::vector<attnc::Prefetch>;
  for (int out : {512, 32000}) {
    EXPECT_EQ(askedBy(tilesOfIntegers(Vnni, out)),
              (Asked{None, NextColumns, NextColumns, NextColumns, NextColumns}));
    EXPECT_EQ(askedBy(tilesOfIntegers(Zen4, out)),
              (Asked{None, None, AheadSecond, NextColumns, NextColumns}));
    EXPECT_EQ(askedBy(tilesOfIntegers(Zen5, out)), (Asked{None, Ahead, Ahead, NextColumns, NextColumns}));
  }
}

TEST(PrefetchPanelsTest, OnZen4GatesAreAskedForByFiveToEightRowsAlone) {
  using enum attnc::Prefetch;
  EXPECT_EQ(askedBy(tilesOfGates(Zen4)), (std::vector<attnc::Prefetch>{None, None, AheadSecond, None, None}));
}

TEST(PrefetchPanelsTest, OnlyOnZen4OneRowReadsPanelByPanel) {
  for (auto [machine, columns] : {std::pair(Vnni, 128), std::pair(Zen4, 32), std::pair(Zen5, 128)}) {
    EXPECT_EQ(tilesOfIntegers(machine, 32000).front().columns, columns);
    EXPECT_EQ(tilesOfGates(machine).front().columns, columns);
  }
}

} // namespace
