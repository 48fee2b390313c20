//===- HoistGuards.cpp - no work for iterations that write nothing ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/schedules/cpu/HoistGuards.h"

#include "compiler/schedules/cpu/LoweredCode.h"

#include <algorithm>
#include <utility>

using namespace Halide::Internal;

namespace attnc {
namespace {

/// The stage that a loop or a buffer belongs to: parts of tuples are best.0 and best.1.
std::string stageOf(const std::string &name) { return name.substr(0, name.find('.')); }

/// The buffers of other stages than `own` that a statement writes to.
class WriteFinder : public IRVisitor {
public:
  explicit WriteFinder(std::string own) : own(std::move(own)) {}

  Scope<void> buffers;

private:
  using IRVisitor::visit;

  void visit(const Store *store) override {
    if (stageOf(store->name) != own)
      buffers.push(store->name);
  }

  const std::string own;
};

/// A condition under which an iteration writes what its loop is for, in terms of what is known at the head of
/// the loop's body; none of `known`. These conditions read lengths, the first key, the blocks that are seen,
/// and panels' maxima and the row's threshold, which are there before the loop. Of what the body writes they
/// may read the stage itself: that a key has been seen, after which no more is written.
class GuardFinder : public IRVisitor {
public:
  GuardFinder(const For *loop, const std::vector<Halide::Expr> &known)
      : stage(stageOf(loop->name)), known(known), writes(stage) {
    loop->body.accept(&writes);
    changing.set_containing_scope(&writes.buffers);
  }

  /// Not defined where some writes have no condition, or another one.
  Halide::Expr guard() const { return isUnguarded ? Halide::Expr() : found; }

private:
  using IRVisitor::visit;

  void visit(const LetStmt *let) override {
    lets.emplace_back(let->name, let->value);
    let->body.accept(this);
    lets.pop_back();
  }

  void visit(const IfThenElse *branch) override {
    Halide::Expr condition = withLets(branch->condition, lets); // in terms of the head
    if (isInside || branch->else_case.defined() || isKnown(condition) || expr_uses_vars(condition, changing))
      return IRVisitor::visit(branch);
    bool hadWrites = std::exchange(hasWrites, false);
    isInside = true;
    branch->then_case.accept(this);
    isInside = false;
    if (hasWrites) {
      isUnguarded |= found.defined() && !equal(found, condition);
      found = condition;
    }
    hasWrites |= hadWrites;
  }

  void visit(const For *loop) override {
    ScopedBinding<void> inside(changing, loop->name);
    loop->body.accept(this);
  }

  void visit(const Store *store) override {
    if (stageOf(store->name) != stage)
      return;
    hasWrites = true;
    isUnguarded |= !isInside;
  }

  bool isKnown(const Halide::Expr &condition) const {
    return std::any_of(known.begin(), known.end(),
                       [&](const Halide::Expr &other) { return equal(other, condition); });
  }

  const std::string stage;
  const std::vector<Halide::Expr> &known;
  std::vector<Let> lets;
  WriteFinder writes;
  Scope<void> changing; // what the body writes, and the loops around the statement that is visited
  Halide::Expr found;
  bool isInside = false, hasWrites = false, isUnguarded = false;
};

class HoistGuards : public IRMutator {
  using IRMutator::visit;

  Stmt visit(const For *loop) override {
    Stmt visited = IRMutator::visit(loop);
    loop = visited.as<For>();
    if (loop->name.find(GuardedLoop) == loop->name.npos)
      return visited;
    std::vector<Halide::Expr> guards; // the outermost one first
    for (;;) {
      GuardFinder finder(loop, guards);
      loop->body.accept(&finder);
      if (!finder.guard().defined())
        break;
      guards.push_back(finder.guard());
    }
    Stmt body = loop->body;
    for (auto guard = guards.rbegin(); guard != guards.rend(); ++guard)
      body = IfThenElse::make(*guard, body);
    return withBody(loop, body);
  }
};

} // namespace

std::unique_ptr<IRMutator> makeHoistGuards() { return std::make_unique<HoistGuards>(); }

} // namespace attnc
