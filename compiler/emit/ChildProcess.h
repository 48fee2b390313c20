//===- ChildProcess.h - a program run to its end ---------------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ATTNC_COMPILER_EMIT_CHILDPROCESS_H
#define ATTNC_COMPILER_EMIT_CHILDPROCESS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace attnc {

/// The path of the program that runs.
std::string thisProgram();

struct ChildResult {
  int code = 0;         // of the exit; negative where it did not start or was ended by a signal
  bool crashed = false; // ended by a signal
  std::string output;   // what it printed, without blanks around it
  std::string reason;   // why `code` is negative
};

/// Runs `program` with `arguments` (without its name) and no input. Its output is kept in memory: a full disk
/// does not lose it. Any thread may call this.
ChildResult runChild(llvm::StringRef program, llvm::ArrayRef<std::string> arguments);

} // namespace attnc

#endif // ATTNC_COMPILER_EMIT_CHILDPROCESS_H
