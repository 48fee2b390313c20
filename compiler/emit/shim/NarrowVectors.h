/* NarrowVectors.h - what external stages of processors with 16 vector registers share (AVX2).
 * SPDX-License-Identifier: Apache-2.0
 *
 * Sums of three rows by a panel, or of six by half of one, fill the registers: a panel is read several times.
 * The processor by itself does not ask for what comes next then. So a block of inputs that the first cache
 * holds meets all rows, which ask for the next block meanwhile.
 */

#ifndef ATTNC_COMPILER_EMIT_SHIM_NARROWVECTORS_H
#define ATTNC_COMPILER_EMIT_SHIM_NARROWVECTORS_H

#include "ExternalStage.h"

enum {
  VectorBytes = 32,
  BlockGroups = 128, /* of a panel: 16 KiB */
  Unrolled = 4,      /* groups of inputs */
  Pages = 4          /* of a block, which memory gives faster side by side */
};

#define UNROLL _Pragma("GCC unroll 12")
#define TILE static inline __attribute__((always_inline)) void

/* A value stays in its register: GCC moves sums to others, for which it writes some to memory. */
#define STAY(vector) __asm__("" : "+x"(vector))

/* Lines of the block that comes next: those from `next` on are still to be asked for, some with every few
 * groups of inputs. */
typedef struct {
  const uint8_t *block;
  int next, end, atOnce;
} lines;

/* Shares the lines of a block of `bytes` out among `tiles` tiles of `groups` groups; a null block has none.
 */
static inline lines shareLines(const uint8_t *block, int bytes, int groups, int tiles) {
  int steps = (groups + Unrolled - 1) / Unrolled * tiles, all = block ? bytes / LineBytes : 0;
  lines wanted = {block, 0, all, (all + steps - 1) / steps};
  return wanted;
}

static inline void fetchSome(lines *wanted) {
  int end = wanted->next + wanted->atOnce;
  for (; wanted->next < end && wanted->next < wanted->end; ++wanted->next) {
    int page = wanted->next % Pages, line = wanted->next / Pages;
    FETCH(0, wanted->block + (page * (wanted->end / Pages) + line) * LineBytes);
  }
}

#endif /* ATTNC_COMPILER_EMIT_SHIM_NARROWVECTORS_H */
