//===- Toy.h - a bundle's library made by hand -----------------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ATTNC_TESTS_EMIT_TOY_H
#define ATTNC_TESTS_EMIT_TOY_H

#include "attnrt/bundle.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <csignal>
#include <string>
#include <sys/resource.h>
#include <vector>

/// A folder that goes when the test does.
class ScratchFolder {
public:
  ScratchFolder();
  ~ScratchFolder();
  std::string path;
};

/// Makes every write past `bytes` of a file fail, as on a full disk.
class FullDisk {
public:
  explicit FullDisk(rlim_t bytes) : handler(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before);
    const rlimit limit{bytes, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FullDisk() {
    setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, handler);
  }

private:
  void (*handler)(int);
  rlimit before;
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
