//===- Interrupts.cpp - Ctrl-C leaves nothing behind -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/emit/Interrupts.h"

#include <atomic>
#include <csignal>

namespace attnc {

// Written by a handler in one thread, read by others.
static std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a handler may not wait for a lock");

void catchInterrupts() {
  auto remember = [](int) { interrupted = true; };
  std::signal(SIGINT, remember);
  std::signal(SIGTERM, remember);
}

bool wasInterrupted() { return interrupted; }

} // namespace attnc
