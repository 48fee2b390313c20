//===- ArenaPlan.cpp - offsets in one block of memory --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Greedy by size within each product of sizes (Pisarchyk and Lee 2020, section 5.2); the products' areas
// follow one another.

#include "dialect/Transforms/ArenaPlan.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace attn {

constexpr int64_t alignment = 64; // a cache line, and the widest vector

SizeAttr alignedBytes(SizeAttr bytes) {
  SmallVector<SizeTerm> terms(bytes.getTerms());
  for (SizeTerm &term : terms)
    term.coefficient = llvm::alignTo(term.coefficient, alignment);
  return SizeAttr::getCanonical(bytes.getContext(), terms);
}

unsigned ArenaPlan::add(SizeAttr bytes, unsigned begin, unsigned end) {
  SizeAttr aligned = alignedBytes(bytes);
  assert(aligned.getTerms().size() == 1 && "a value's bytes are one product");
  values.push_back({aligned.getTerms().front(), begin, end, 0, SizeAttr()});
  return values.size() - 1;
}

/// Gives each of `group` the lowest start that no value alive at the same moment has; larger ones choose
/// first.
int64_t ArenaPlan::placeTogether(MutableArrayRef<Lifetime *> group) {
  llvm::stable_sort(group,
                    [](Lifetime *a, Lifetime *b) { return a->bytes.coefficient > b->bytes.coefficient; });
  int64_t extent = 0;
  for (auto [number, value] : llvm::enumerate(group)) {
    SmallVector<Lifetime *> neighbours;
    for (Lifetime *other : group.take_front(number))
      if (other->begin <= value->end && value->begin <= other->end)
        neighbours.push_back(other);
    llvm::sort(neighbours, [](Lifetime *a, Lifetime *b) { return a->start < b->start; });
    for (Lifetime *other : neighbours)
      if (other->start < value->start + value->bytes.coefficient)
        value->start = std::max(value->start, other->start + other->bytes.coefficient);
    extent = std::max(extent, value->start + value->bytes.coefficient);
  }
  return extent;
}

void ArenaPlan::solve() {
  llvm::MapVector<Attribute, SmallVector<Lifetime *>> groups;
  for (Lifetime &value : values)
    groups[value.bytes.names].push_back(&value);
  total = SizeAttr::getConstant(context, 0);
  for (auto &[names, group] : groups) {
    int64_t extent = placeTogether(group);
    for (Lifetime *value : group)
      value->offset = total.plus(SizeAttr::getCanonical(context, SizeTerm{value->start, value->bytes.names}));
    total = total.plus(SizeAttr::getCanonical(context, SizeTerm{extent, group.front()->bytes.names}));
  }
}

} // namespace attn
