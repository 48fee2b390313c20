//===- Failure.h - how commands report -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ATTNC_COMPILER_DRIVER_FAILURE_H
#define ATTNC_COMPILER_DRIVER_FAILURE_H

#include "llvm/Support/Error.h"

#include <iostream>
#include <string>

namespace attnc {

/// Prints `attnc: error: MESSAGE` and gives the exit code of a user's mistake.
inline int fail(const std::string &message) {
  std::cerr << "attnc: error: " << message << "\n";
  return 1;
}

inline int fail(llvm::Error error) { return fail(llvm::toString(std::move(error))); }

} // namespace attnc

#endif // ATTNC_COMPILER_DRIVER_FAILURE_H
