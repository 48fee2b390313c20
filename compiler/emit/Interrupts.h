//===- Interrupts.h - Ctrl-C leaves nothing behind -------------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ATTNC_COMPILER_EMIT_INTERRUPTS_H
#define ATTNC_COMPILER_EMIT_INTERRUPTS_H

#include <array>
#include <csignal>

namespace attnc {

/// While it lives, SIGINT, SIGTERM and SIGHUP end the work at the next step, with an error and all that is
/// temporary removed, instead of the process at once; a signal that the process was started to ignore stays
/// ignored. Output that nobody reads any more (SIGPIPE) ends the process only afterwards, and what exceeds
/// the largest file that the system allows (SIGXFSZ) is an error of writing.
class InterruptCatcher {
public:
  InterruptCatcher();
  ~InterruptCatcher();
  InterruptCatcher(const InterruptCatcher &) = delete;

private:
  static constexpr std::array<int, 5> signals = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ};
  std::array<struct sigaction, signals.size()> before;
};

/// Whether one of them has come.
bool wasInterrupted();

} // namespace attnc

#endif // ATTNC_COMPILER_EMIT_INTERRUPTS_H
