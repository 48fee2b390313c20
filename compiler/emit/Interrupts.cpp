//===- Interrupts.cpp - Ctrl-C leaves nothing behind -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/emit/Interrupts.h"

#include <atomic>

namespace attnc {

// Written by a handler in one thread, read by others.
static std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a handler may not wait for a lock");

InterruptCatcher::InterruptCatcher() {
  for (size_t i = 0; i < signals.size(); ++i) {
    sigaction(signals[i], nullptr, &before[i]);
    if (before[i].sa_handler == SIG_IGN)
      continue;
    struct sigaction action = {};
    action.sa_flags = SA_RESTART;
    action.sa_handler = SIG_IGN;
    if (signals[i] != SIGPIPE && signals[i] != SIGXFSZ)
      action.sa_handler = [](int) { interrupted = true; };
    sigaction(signals[i], &action, nullptr);
  }
}

InterruptCatcher::~InterruptCatcher() {
  for (size_t i = 0; i < signals.size(); ++i)
    sigaction(signals[i], &before[i], nullptr);
}

bool wasInterrupted() { return interrupted; }

} // namespace attnc
