//===- StackScratch.cpp - scratch of any size lies on the stack -------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/schedules/cpu/StackScratch.h"

using namespace Halide::Internal;

namespace attnc {
namespace {

class StackScratch : public IRMutator {
  using IRMutator::visit;

  /// Halide generates code for registers whose number is known as for the stack. What has no size that is
  /// known is left to be asked of the heap, with which no kernel links.
  Stmt visit(const Allocate *scratch) override {
    Stmt body = mutate(scratch->body);
    bool isOnStack =
        scratch->memory_type == Halide::MemoryType::Stack && scratch->constant_allocation_size() > 0;
    return Allocate::make(scratch->name, scratch->type,
                          isOnStack ? Halide::MemoryType::Register : scratch->memory_type, scratch->extents,
                          scratch->condition, body, scratch->new_expr, scratch->free_function,
                          scratch->padding);
  }
};

} // namespace

std::unique_ptr<IRMutator> makeStackScratch() { return std::make_unique<StackScratch>(); }

} // namespace attnc
