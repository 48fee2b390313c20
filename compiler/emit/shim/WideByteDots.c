/* WideByteDots.c - sums of products of bytes and whole numbers by vectors (AVX-512 with VNNI).
 * SPDX-License-Identifier: Apache-2.0
 *
 * An instruction adds four products to each of 16 sums, in 32 bits. Sums are exact, and so equal in every
 * tile.
 */

#include "ExternalStage.h"

static inline __m512i addProducts(__m512i sums, __m512i bytes, __m512i weights) {
  return _mm512_dpbusd_epi32(sums, bytes, weights);
}
static inline __m512i weightsOf(__m512i weights, int number) {
  (void)number;
  return weights;
}
enum { OneRowPanels = 4, GroupNumbers = 1 };
#include "WideTiles.h"

/* rows: bytes, `steps` times 64; panels: 4 x 32 x groups x panels of whole numbers; sums: 32-bit columns x
 * rows. */
int attnc_multiply_byte_dots_wide(buffer *rows, buffer *panels, int steps, buffer *sums) {
  if (isBoundsQuery(rows, panels, sums))
    return answer(rows, panels, sums, steps * TileBytes, steps * TileRows);
  block b = place(rows, panels, sums, 1);
  b.steps = steps;
  /* Asked for into the first cache, they come later where they are in the second one. */
  static const reading ahead = {.stripes = usualStripes, .asksFrom = 3, .cache = 1};
  multiplyStripes(&b, &ahead);
  return 0;
}
