//===- PrefetchPanels.cpp - weights that are asked for before they are needed ===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/schedules/cpu/PrefetchPanels.h"

#include "compiler/schedules/cpu/LoweredCode.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

using namespace Halide::Internal;
using Halide::Expr;

namespace attnc {
namespace {

constexpr int LineBytes = 64;

/// What an iteration over the input reads of the weights.
struct WeightReads {
  std::string buffer;
  Expr first; // element; in the first iteration the tile's first
  int bytes = 0, elementBytes = 0;
};

/// The different vectors of weights that an iteration reads. They are its widest reads; a row's values are
/// read one by one, or in small groups.
class WeightReader : public IRVisitor {
public:
  explicit WeightReader(const std::string &sums) : sums(sums) {}

  WeightReads reads;
  bool isGathered = false; // some vectors do not lie in one piece: not all of it are panels

private:
  using IRVisitor::visit;

  void visit(const LetStmt *let) override {
    let->value.accept(this);
    lets.emplace_back(let->name, let->value);
    let->body.accept(this);
    lets.pop_back();
  }

  void visit(const Load *load) override {
    IRVisitor::visit(load);
    const int bytes = load->type.lanes() * load->type.bytes();
    if (load->name == sums || bytes < NarrowestBytes)
      return;
    const Expr index = withLets(load->index, lets);
    if (std::any_of(seen.begin(), seen.end(), [&](const Expr &other) { return equal(other, index); }))
      return;
    Expr first = index;
    while (const Ramp *ramp = first.as<Ramp>())
      first = ramp->base;
    isGathered |= first.type().is_vector();
    if (seen.empty())
      reads = {load->name, first, 0, load->type.bytes()};
    seen.push_back(index);
    reads.bytes += bytes;
  }

  static constexpr int NarrowestBytes = 32; // of a vector of weights
  const std::string sums;
  std::vector<Let> lets;
  std::vector<Expr> seen;
};

class PrefetchPanels : public IRMutator {
  using IRMutator::visit;

  Stmt visit(const For *loop) override {
    if (loop->name.find(PrefetchingLoop) != loop->name.npos)
      return addPrefetches(loop);
    if (loop->name.find(ReadingAheadLoop) != loop->name.npos)
      return readAhead(loop, FirstCache);
    if (loop->name.find(ReadingAheadSecondLoop) != loop->name.npos)
      return readAhead(loop, SecondCache);
    if (loop->name.find(std::string(".") + RowTileLoop) == loop->name.npos)
      return IRMutator::visit(loop);
    const For *around = std::exchange(rows, loop);
    Stmt visited = IRMutator::visit(loop);
    rows = around;
    return visited;
  }

  /// What an iteration reads of a panel: contiguous whole lines. Otherwise none.
  static WeightReads linesReadBy(const For *loop) {
    WeightReader reader(loop->name.substr(0, loop->name.find('.')));
    loop->body.accept(&reader);
    bool isWhole = !reader.isGathered && reader.reads.bytes % LineBytes == 0;
    return isWhole ? reader.reads : WeightReads();
  }

  /// Asks in each iteration for what a later one reads.
  static Stmt readAhead(const For *loop, int cache) {
    const WeightReads reads = linesReadBy(loop);
    if (reads.bytes == 0)
      return loop;
    Expr first = cast(Halide::Int(64), reads.first) * reads.elementBytes + BytesAhead;
    Stmt body = loop->body;
    for (int line = reads.bytes / LineBytes; line-- > 0;)
      body = Block::make(prefetch(reads.buffer, first + line * LineBytes, cache), body);
    return withBody(loop, body);
  }

  /// Each row tile asks for as many lines in an iteration as all of them need to ask for the next tile. The
  /// lines of one iteration lie far apart, so that several pages are read side by side.
  Stmt addPrefetches(const For *loop) {
    const WeightReads reads = linesReadBy(loop);
    if (reads.bytes == 0)
      return loop;
    const int linesRead = reads.bytes / LineBytes; // in an iteration
    Expr row = rows ? Variable::make(Halide::Int(32), rows->name) - rows->min : Expr(0);
    Expr rowTiles = rows ? rows->extent : Expr(1);
    Expr iteration = row * loop->extent + Variable::make(Halide::Int(32), loop->name) - loop->min;
    Expr atOnce = (linesRead + rowTiles - 1) / rowTiles, lines = linesRead * loop->extent;
    Expr apart = (lines + atOnce - 1) / atOnce;
    std::string number = loop->name + ".line";
    Expr line = iteration + Variable::make(Halide::Int(32), number) * apart;
    Expr first = cast(Halide::Int(64), substitute(loop->name, loop->min, reads.first));
    Expr next = first * reads.elementBytes + lines * LineBytes;
    Stmt fetches =
        For::make(number, 0, atOnce, ForType::Serial, Halide::Partition::Never, Halide::DeviceAPI::None,
                  prefetch(reads.buffer, next + line * LineBytes, SecondCache));
    return withBody(loop, Block::make(IfThenElse::make(iteration < apart, fetches), loop->body));
  }

  /// Asks for one line, `offset` bytes from the buffer's start. What lies past the end is not fetched.
  static Stmt prefetch(const std::string &buffer, const Expr &offset, int cache) {
    Expr start = reinterpret(Halide::UInt(64), Variable::make(Halide::Handle(), buffer));
    Expr address = reinterpret(Halide::Handle(), start + cast(Halide::UInt(64), offset));
    const int read = 0, data = 1;
    return Evaluate::make(
        Call::make(Halide::Int(32), "llvm.prefetch.p0", {address, read, cache, data}, Call::Extern));
  }

  static constexpr int FirstCache = 3, SecondCache = 2; // as llvm.prefetch has them

  const For *rows = nullptr; // the loop over row tiles around the statement that is visited; none: one tile
};

} // namespace

std::unique_ptr<IRMutator> makePrefetchPanels() { return std::make_unique<PrefetchPanels>(); }

} // namespace attnc
