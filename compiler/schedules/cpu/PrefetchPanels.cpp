//===- PrefetchPanels.cpp - weights that are asked for before they are needed ===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/schedules/cpu/PrefetchPanels.h"

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
    Expr index = load->index;
    for (auto let = lets.rbegin(); let != lets.rend(); ++let)
      index = substitute(let->first, let->second, index);
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
  std::vector<std::pair<std::string, Expr>> lets;
  std::vector<Expr> seen;
};

class PrefetchPanels : public IRMutator {
  using IRMutator::visit;

  Stmt visit(const For *loop) override {
    if (loop->name.find(PrefetchingLoop) != loop->name.npos)
      return addPrefetches(loop);
    if (loop->name.find(".rowTile") == loop->name.npos)
      return IRMutator::visit(loop);
    const For *around = std::exchange(rows, loop);
    Stmt visited = IRMutator::visit(loop);
    rows = around;
    return visited;
  }

  /// The lines that each row tile asks for in an iteration: the fewest with which all of them ask for all.
  static Expr linesAtOnce(const Expr &rowTiles, int linesRead) {
    return select(rowTiles >= linesRead, 1, rowTiles * 2 >= linesRead, 2, MostAtOnce);
  }

  Stmt addPrefetches(const For *loop) {
    WeightReader reader(loop->name.substr(0, loop->name.find('.')));
    loop->body.accept(&reader);
    const WeightReads &reads = reader.reads;
    if (!rows || reader.isGathered || reads.bytes == 0 || reads.bytes % LineBytes != 0)
      return loop;
    const int lines = reads.bytes / LineBytes; // of an iteration, and in each of the next tile's
    Expr row = Variable::make(Halide::Int(32), rows->name) - rows->min;
    Expr step = Variable::make(Halide::Int(32), loop->name) - loop->min;
    Expr atOnce = linesAtOnce(rows->extent, lines);
    Expr next =
        substitute(loop->name, loop->min, reads.first) * reads.elementBytes + loop->extent * reads.bytes;
    Expr line = (row * loop->extent + step) * atOnce;
    auto fetch = [&](int number) { return prefetch(reads.buffer, next + (line + number) * LineBytes); };
    Stmt four = IfThenElse::make(atOnce == MostAtOnce, Block::make(fetch(2), fetch(3)));
    Stmt two = IfThenElse::make(atOnce > 1, Block::make(fetch(1), four));
    Stmt some = IfThenElse::make(row * atOnce < lines, Block::make(fetch(0), two));
    return For::make(loop->name, loop->min, loop->extent, loop->for_type, loop->partition_policy,
                     loop->device_api, Block::make(some, loop->body));
  }

  /// Asks for one line, `offset` bytes from the buffer's start. What lies past the end is not fetched.
  static Stmt prefetch(const std::string &buffer, const Expr &offset) {
    Expr start = reinterpret(Halide::UInt(64), Variable::make(Halide::Handle(), buffer));
    Expr address =
        reinterpret(Halide::Handle(), start + cast(Halide::UInt(64), cast(Halide::Int(64), offset)));
    const int read = 0, secondCache = 2, data = 1;
    return Evaluate::make(
        Call::make(Halide::Int(32), "llvm.prefetch.p0", {address, read, secondCache, data}, Call::Extern));
  }

  static constexpr int MostAtOnce = 4; // a core has 16 lines under way
  const For *rows = nullptr;           // the loop over row tiles around the statement that is visited
};

} // namespace

std::unique_ptr<IRMutator> makePrefetchPanels() { return std::make_unique<PrefetchPanels>(); }

} // namespace attnc
