/* SpreadSentences.c - what entries call to give each sentence of a batch its place.
 * SPDX-License-Identifier: Apache-2.0
 *
 * It needs no library, not even C's.
 */

#include <stdint.h>

/* 16 bytes, anywhere. */
typedef char piece __attribute__((vector_size(16), aligned(1), may_alias));

/* From the end on: what is copied may lie in the way. */
static void moveUp(const char *from, char *to, int64_t bytes) {
  for (; bytes >= (int64_t)sizeof(piece); bytes -= sizeof(piece))
    *(piece *)(to + bytes - sizeof(piece)) = *(const piece *)(from + bytes - sizeof(piece));
  while (bytes-- > 0)
    to[bytes] = from[bytes];
}

static void clear(char *to, int64_t bytes) {
  const piece zeros = {0};
  for (; bytes >= (int64_t)sizeof(piece); bytes -= sizeof(piece), to += sizeof(piece))
    *(piece *)to = zeros;
  while (bytes-- > 0)
    to[bytes] = 0;
}

/* Sentences that were computed one after the other, `together` bytes each, come to lie `apart` bytes from
 * each other, which is no less. Behind each, attention reads what a `block` of keys reaches, for nothing:
 * these must be numbers. */
void attnc_spread_sentences(char *first, int64_t sentences, int64_t together, int64_t apart, int64_t block) {
  const int64_t gap = apart - together;
  while (gap > 0 && sentences-- > 0) {
    moveUp(first + sentences * together, first + sentences * apart, together);
    clear(first + sentences * apart + together, gap < block ? gap : block);
  }
}
