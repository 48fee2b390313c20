//===- Interrupts.h - Ctrl-C leaves nothing behind -------------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ATTNC_COMPILER_EMIT_INTERRUPTS_H
#define ATTNC_COMPILER_EMIT_INTERRUPTS_H

namespace attnc {

/// From here on SIGINT and SIGTERM end the work at the next step, with an error and all that is temporary
/// removed, instead of the process at once.
void catchInterrupts();

/// Whether one of them has come.
bool wasInterrupted();

} // namespace attnc

#endif // ATTNC_COMPILER_EMIT_INTERRUPTS_H
