/* PreparedRows.h - rows of external stages that tiles do not read as they lie in memory.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Whoever includes this defines before PreparedBytes, of a number as tiles read it, and prepareRow, which
 * makes such numbers of `count` floats or bfloat16, and zeros up to `width`, a multiple of 32.
 */

#ifndef ATTNC_COMPILER_EMIT_SHIM_PREPAREDROWS_H
#define ATTNC_COMPILER_EMIT_SHIM_PREPAREDROWS_H

#include "ExternalStage.h"

enum { BlockSteps = 16, BlockWidth = BlockSteps * StepWidth };

/* Has `multiply` add up a block whose rows are floats or bfloat16 of so many bytes, prepared block by block
 * of inputs, in an order that depends on the width alone. */
static inline void prepareAndMultiply(block *b, int bytes, int width, void (*multiply)(const block *)) {
  uint8_t prepared[MostRows][BlockWidth * PreparedBytes] __attribute__((aligned(64)));
  const uint8_t *from = b->rows, *columns = b->panels, *after = b->after, *next = b->next;
  const long fromBytes = b->rowBytes;
  const int steps = stepsOf(width);
  b->rows = prepared[0];
  b->rowBytes = sizeof prepared[0];
  for (int first = 0; first < steps; first += BlockSteps) {
    b->steps = steps - first < BlockSteps ? steps - first : BlockSteps;
    for (int row = 0; row < b->count; ++row)
      prepareRow(from + row * fromBytes + first * StepWidth * bytes, bytes, width - first * StepWidth,
                 prepared[row], b->steps * StepWidth);
    WRITE_OUT();
    b->panels = columns + first * StepBytes;
    b->isLater = first > 0;
    if (next)
      b->next = next + first * StepBytes;
    if (after) /* the next block of inputs, or the next columns */
      b->after = first + BlockSteps < steps ? b->panels + BlockSteps * StepBytes : after;
    multiply(b);
  }
}

/* The same, but that rows which need no preparing are read as they lie. Blocks are not copied: what copies
 * them in wide registers waits until all sums before are in the cache. */
static inline void multiplyPrepared(block *b, int bytes, int width, void (*multiply)(const block *)) {
  if (b->count <= 0 || b->panelCount <= 0)
    return;
  if (bytes == PreparedBytes && width % StepWidth == 0) {
    b->steps = stepsOf(width);
    multiply(b);
  } else {
    prepareAndMultiply(b, bytes, width, multiply);
  }
}

/* rows: floats or bfloat16 x `width`; panels: 32 x pairs x panels of words; sums: float columns x rows. */
static inline int multiplyPairs(buffer *rows, buffer *panels, int width, buffer *sums,
                                void (*multiply)(const block *)) {
  if (isBoundsQuery(rows, panels, sums))
    return answer(rows, panels, sums, width, stepsOf(width) * TileRows);
  block b = place(rows, panels, sums, bytesOf(rows));
  multiplyPrepared(&b, bytesOf(rows), width, multiply);
  return 0;
}

#endif /* ATTNC_COMPILER_EMIT_SHIM_PREPAREDROWS_H */
