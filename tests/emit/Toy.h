//===- Toy.h - a bundle's library made by hand -----------------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ATTNC_TESTS_EMIT_TOY_H
#define ATTNC_TESTS_EMIT_TOY_H

#include "attnrt/bundle.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>
#include <vector>

/// A folder that goes when the test does.
class ScratchFolder {
public:
  ScratchFolder();
  ~ScratchFolder();
  std::string path;
};

/// A module's text, parsed; fails the test where it does not parse.
class ParsedModule {
public:
  explicit ParsedModule(const std::string &text);
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string errors; // what MLIR reported since
};

/// Toy.mlir.
std::string toyText();

/// Lowers and links Toy.mlir with ToyKernels.c as bundle `name` into `folder`.
void buildToy(const std::string &name, const std::string &folder, const std::string &scratch);

#endif // ATTNC_TESTS_EMIT_TOY_H
