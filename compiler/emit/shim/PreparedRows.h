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

/* Has `multiply` add up a block whose rows are numbers of so many bytes, prepared block by block of inputs,
 * in an order that depends on the width alone. */
static inline void multiplyPrepared(block b, int bytes, int width, void (*multiply)(const block *)) {
  int steps = stepsOf(width);
  if (bytes == PreparedBytes && width % StepWidth == 0) {
    b.steps = steps;
    if (b.count > 0 && b.panelCount > 0)
      multiply(&b);
    return;
  }
  uint8_t prepared[MostRows][BlockWidth * PreparedBytes] __attribute__((aligned(64)));
  const uint8_t *from = b.rows, *columns = b.panels, *after = b.after;
  long fromBytes = b.rowBytes;
  b.rows = prepared[0];
  b.rowBytes = sizeof prepared[0];
  for (int first = 0; first < steps && b.count > 0 && b.panelCount > 0; first += BlockSteps) {
    b.steps = steps - first < BlockSteps ? steps - first : BlockSteps;
    for (int row = 0; row < b.count; ++row)
      prepareRow(from + row * fromBytes + first * StepWidth * bytes, bytes, width - first * StepWidth,
                 prepared[row], b.steps * StepWidth);
    WRITE_OUT();
    b.panels = columns + first * StepBytes;
    b.isLater = first > 0;
    if (after) /* the next block of inputs, or the next columns */
      b.after = first + BlockSteps < steps ? b.panels + BlockSteps * StepBytes : after;
    multiply(&b);
  }
}

/* rows: floats or bfloat16 x `width`; panels: 32 x pairs x panels of words; sums: float columns x rows. */
static inline int multiplyPairs(buffer *rows, buffer *panels, int width, buffer *sums,
                                void (*multiply)(const block *)) {
  if (!rows->host || !panels->host || !sums->host)
    return answer(rows, panels, sums, width, stepsOf(width) * TileRows);
  multiplyPrepared(place(rows, panels, sums, bytesOf(rows)), bytesOf(rows), width, multiply);
  return 0;
}

#endif /* ATTNC_COMPILER_EMIT_SHIM_PREPAREDROWS_H */
