//===- ProgressLine.h - what long work is at ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ATTNC_COMPILER_DRIVER_PROGRESSLINE_H
#define ATTNC_COMPILER_DRIVER_PROGRESSLINE_H

#include <string>

namespace attnc {

/// Writes one line on stderr over the one before it, where stderr is a terminal.
void showProgress(const std::string &line);

/// Takes the line away.
void clearProgress();

} // namespace attnc

#endif // ATTNC_COMPILER_DRIVER_PROGRESSLINE_H
