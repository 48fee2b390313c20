//===- Interrupts.cpp - Ctrl-C leaves nothing behind -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/emit/Interrupts.h"

#include <csignal>

namespace attnc {

static volatile std::sig_atomic_t interrupted = 0;

void catchInterrupts() {
  auto remember = [](int) { interrupted = 1; };
  std::signal(SIGINT, remember);
  std::signal(SIGTERM, remember);
}

bool wasInterrupted() { return interrupted != 0; }

} // namespace attnc
