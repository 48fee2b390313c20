//===- ArenaPlan.h - offsets in one block of memory ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Values that do not live at the same moment share memory. Sizes are products like `2048 * batch * source`,
// unknown when compiling: only values with the same product are compared, by their coefficients.

#ifndef ATTNC_DIALECT_TRANSFORMS_ARENAPLAN_H
#define ATTNC_DIALECT_TRANSFORMS_ARENAPLAN_H

#include "dialect/IR/Attn.h"

namespace attn {

/// Bytes rounded up so that a multiple of them is a multiple of 64.
SizeAttr alignedBytes(SizeAttr bytes);

class ArenaPlan {
public:
  explicit ArenaPlan(mlir::MLIRContext *context) : context(context) {}

  /// A value that lives from operation `begin` to operation `end`, both included. Gives its number.
  unsigned add(SizeAttr bytes, unsigned begin, unsigned end);

  /// Finds all offsets. Nothing may be added afterwards.
  void solve();

  SizeAttr getOffset(unsigned number) const { return values[number].offset; }
  SizeAttr getTotal() const { return total; }
  size_t size() const { return values.size(); }

private:
  struct Lifetime {
    SizeTerm bytes;
    unsigned begin, end;
    int64_t start = 0; // in units of its product
    SizeAttr offset;
  };
  int64_t placeTogether(llvm::MutableArrayRef<Lifetime *> group);

  mlir::MLIRContext *context;
  llvm::SmallVector<Lifetime> values;
  SizeAttr total;
};

} // namespace attn

#endif // ATTNC_DIALECT_TRANSFORMS_ARENAPLAN_H
