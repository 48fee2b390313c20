//===- JoinedWeights.h - weights of several linears as one -------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Declares the weight and the bias of merged linears, once for all entries.

#ifndef ATTNC_DIALECT_TRANSFORMS_JOINEDWEIGHTS_H
#define ATTNC_DIALECT_TRANSFORMS_JOINEDWEIGHTS_H

#include "dialect/IR/Attn.h"

#include <map>

namespace attn {

class JoinedWeights {
public:
  explicit JoinedWeights(mlir::SymbolTable &symbols) : symbols(symbols) {}

  /// True where the weights of these linears can stand in one matrix: all come from a file, stored alike, or
  /// all are literal.
  bool canJoin(llvm::ArrayRef<LinearOp> linears);

  /// One linear for all of them, built where the first one stands.
  LinearOp join(llvm::ArrayRef<LinearOp> linears);

private:
  WeightOp find(mlir::Value weight);
  WeightOp joinSymbols(llvm::ArrayRef<WeightOp> parts, llvm::ArrayRef<int64_t> rows);

  mlir::SymbolTable &symbols;
  std::map<std::string, WeightOp> known; // by the parts' names
};

} // namespace attn

#endif // ATTNC_DIALECT_TRANSFORMS_JOINEDWEIGHTS_H
