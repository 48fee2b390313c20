//===- ProgressLine.cpp - what long work is at --------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/driver/ProgressLine.h"

#include <iostream>
#include <unistd.h>

namespace attnc {

void showProgress(const std::string &line) {
  if (isatty(STDERR_FILENO))
    std::cerr << "\r\x1b[K" << line << std::flush;
}

void clearProgress() { showProgress(""); }

} // namespace attnc
