/* NarrowVectors.h - what external stages share whose tiles fill 16 vector registers, as AVX2 has them.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Sums of three rows by a panel, or of six by half of one, fill the registers: a panel is read several times.
 * The processor by itself does not ask for what comes next then. So a block of inputs that a cache holds
 * meets all rows, which ask for the next block meanwhile, evenly: many lines at once wait for each other.
 */

#ifndef ATTNC_COMPILER_EMIT_SHIM_NARROWVECTORS_H
#define ATTNC_COMPILER_EMIT_SHIM_NARROWVECTORS_H

#include "ExternalStage.h"

enum { Streams = 2 /* of lines that are asked for: memory gives pages faster side by side */ };

#define TILE static inline __attribute__((always_inline)) void

/* A value stays in its register: GCC moves sums to others, for which it writes some to memory. */
#define STAY(vector) __asm__("" : "+v"(vector))

/* What is still to be asked for of the block that comes next: lines from `line` to `end` and as many of each
 * other stream, `stride` bytes on; `count` of them, spread over `steps` steps. `owed`: steps times those that
 * are due. */
typedef struct {
  const uint8_t *line, *end;
  long stride;
  int count, steps, owed;
} lines;

/* Spreads asking for a block of `bytes` over at least one step; a null block has nothing to ask for. */
static inline lines spreadLines(const uint8_t *next, int bytes, int steps) {
  int stride = next ? bytes / Streams : 0;
  lines wanted = {.line = next,
                  .end = next + stride,
                  .stride = stride,
                  .count = (stride + LineBytes - 1) / LineBytes,
                  .steps = steps > 0 ? steps : 1};
  return wanted;
}

static inline void fetchSome(lines *wanted) {
  wanted->owed += wanted->count;
  for (; wanted->owed >= wanted->steps && wanted->line < wanted->end; wanted->line += LineBytes) {
    UNROLL for (int stream = 0; stream < Streams; ++stream) FETCH(0, wanted->line + stream * wanted->stride);
    wanted->owed -= wanted->steps;
  }
}

#endif /* ATTNC_COMPILER_EMIT_SHIM_NARROWVECTORS_H */
