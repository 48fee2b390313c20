//===- JoinLoops.cpp - stages of some rows before the next rows -------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/schedules/cpu/JoinLoops.h"

#include "compiler/schedules/cpu/LoweredCode.h"

#include <algorithm>
#include <string>
#include <vector>

using namespace Halide::Internal;

namespace attnc {
namespace {

/// Whether a value depends on memory, which loops before it may write.
class MemoryReader : public IRVisitor {
public:
  bool reads = false;

private:
  using IRVisitor::visit;
  void visit(const Load *) override { reads = true; }
  void visit(const Call *call) override {
    reads |= !call->is_pure();
    IRVisitor::visit(call);
  }
};

bool readsMemory(const Halide::Expr &value) {
  MemoryReader reader;
  value.accept(&reader);
  return reader.reads;
}

/// A statement that consists of loops to be joined, one after the other, and of names for values around them,
/// which may stand before all loops.
class Sequence {
public:
  explicit Sequence(const Stmt &whole) { isOfLoops = collect(whole); }

  bool canBeJoined() const {
    return isOfLoops && loops.size() > 1 && std::all_of(loops.begin(), loops.end(), [this](const For *loop) {
             return loop->for_type == loops[0]->for_type && haveSameValue(loop->min, loops[0]->min) &&
                    haveSameValue(loop->extent, loops[0]->extent);
           });
  }

  Stmt joined() const {
    const For *first = loops[0];
    std::vector<Stmt> bodies;
    for (const For *loop : loops)
      bodies.push_back(substitute(loop->name, Variable::make(Halide::Int(32), first->name), loop->body));
    Stmt result = withBody(first, Block::make(bodies));
    for (auto let = lets.rbegin(); let != lets.rend(); ++let)
      result = LetStmt::make(let->first, let->second, result);
    return result;
  }

private:
  bool haveSameValue(const Halide::Expr &a, const Halide::Expr &b) const {
    return equal(withLets(a, lets), withLets(b, lets));
  }

  bool isNamed(const std::string &name) const {
    return std::any_of(lets.begin(), lets.end(), [&](const Let &let) { return let.first == name; });
  }

  bool collect(const Stmt &part) {
    if (const auto *block = part.as<Block>())
      return collect(block->first) && collect(block->rest);
    if (const auto *stage = part.as<ProducerConsumer>())
      return collect(stage->body);
    if (const auto *let = part.as<LetStmt>()) {
      if (readsMemory(let->value) || isNamed(let->name))
        return false;
      lets.emplace_back(let->name, let->value);
      return collect(let->body);
    }
    const auto *loop = part.as<For>();
    if (!loop || !loop->name.ends_with(std::string(".") + JoinedLoop))
      return false;
    loops.push_back(loop);
    return true;
  }

  std::vector<Let> lets;
  std::vector<const For *> loops;
  bool isOfLoops;
};

class JoinLoops : public IRMutator {
  using IRMutator::visit;

  Stmt visit(const Block *block) override {
    if (Sequence sequence(block); sequence.canBeJoined())
      return sequence.joined();
    return IRMutator::visit(block);
  }
};

} // namespace

std::unique_ptr<IRMutator> makeJoinLoops() { return std::make_unique<JoinLoops>(); }

} // namespace attnc
