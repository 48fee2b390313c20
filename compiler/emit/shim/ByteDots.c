/* ByteDots.c - sums of products of bytes and whole numbers by vectors (AVX-VNNI).
 * SPDX-License-Identifier: Apache-2.0
 *
 * An instruction adds four products to each of 8 sums, in 32 bits. Sums are exact, and so equal in every
 * tile.
 */

#include "ExternalStage.h"

enum { BlockInputs = 256 /* groups of a panel: 32 KiB */ };
typedef __m256i vector; /* of sums, of four bytes of a row again and again, or of four weights of 8 columns */
static inline vector none(void) { return _mm256_setzero_si256(); }
static inline vector broadcast(const uint8_t *input) { return _mm256_set1_epi32(fourBytes(input)); }
static inline vector load(const uint8_t *from) { return _mm256_loadu_si256((const __m256i *)from); }
static inline void store(uint8_t *to, vector sums) { _mm256_storeu_si256((__m256i *)to, sums); }
#define ADD(sum, number, weight)                                                                             \
  {                                                                                                          \
    sum = _mm256_dpbusd_avx_epi32(sum, number, weight);                                                      \
    STAY(sum);                                                                                               \
  }
#include "NarrowTiles.h"

/* rows: bytes, `steps` times 64; panels: 4 x 32 x groups x panels of whole numbers; sums: 32-bit columns x
 * rows. */
int attnc_multiply_byte_dots(buffer *rows, buffer *panels, int steps, buffer *sums) {
  if (isBoundsQuery(rows, panels, sums))
    return answer(rows, panels, sums, steps * TileBytes, steps * TileRows);
  block b = place(rows, panels, sums, 1);
  multiplyPanels(&b, steps * TileRows);
  return 0;
}
