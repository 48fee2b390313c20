/* main.c - one compiled attention in a C program that knows nothing else of attnc.
 * SPDX-License-Identifier: Apache-2.0
 *
 * All there is: the header and the archive that `attnc compile attention.yaml -o one-kernel` wrote. The
 * kernel takes plain pointers, sizes and strides, allocates nothing, and runs on the calling thread unless it
 * is given a pool.
 */

#include "one_kernel.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { batch = 2, head = 8, query = 5, key = 9, width = 64 };

/* Two sentences of 9 and 6 words; the keys past the second one's end are never looked at. */
static const int32_t lengths[batch] = {9, 6};

/* Queries and context are rows of 512 columns, in which the heads lie side by side; keys and values are two
 * halves of rows of 1024 columns, as one projection makes them. */
static float q[batch][query][head][width], kv[batch][key][2][head][width], context[batch][query][head][width];

/* One number of the context by plain loops, in double precision. */
static double attend(int b, int h, int i, int column) {
  double sum = 0, mixed = 0;
  for (int k = 0; k < lengths[b]; ++k) {
    double score = 0;
    for (int w = 0; w < width; ++w)
      score += (double)q[b][i][h][w] * kv[b][k][0][h][w];
    double weight = exp(score / sqrt(width));
    sum += weight;
    mixed += weight * kv[b][k][1][h][column];
  }
  return mixed / sum;
}

int main(void) {
  for (size_t i = 0; i < sizeof q / sizeof(float); ++i)
    (&q[0][0][0][0])[i] = (float)sin(0.1 * (double)i);
  for (size_t i = 0; i < sizeof kv / sizeof(float); ++i)
    (&kv[0][0][0][0][0])[i] = (float)cos(0.3 * (double)i);

  const attnrt_variant *variant = one_kernel_best_variant(); /* AVX-512, AVX2 or plain x86-64 */
  int64_t query_batch = query * head * width, key_batch = key * 2 * head * width, key_head = width,
          key_row = 2 * head * width;
  size_t bytes =
      (size_t)one_kernel_arena_attend(batch, key, key_batch, key_head, key_row, query, query_batch);
  char *arena = aligned_alloc(64, (bytes + 127) / 64 * 64);
  if (one_kernel_run_attend(0, variant, 0, arena, batch, key, key_batch, key_head, key_row, query,
                            query_batch, &q[0][0][0][0], &kv[0][0][0][0][0], &kv[0][0][1][0][0], lengths,
                            &context[0][0][0][0]) != 0)
    return 1;
  free(arena);

  double worst = 0;
  for (int b = 0; b < batch; ++b)
    for (int h = 0; h < head; ++h)
      for (int i = 0; i < query; ++i)
        for (int w = 0; w < width; ++w)
          worst = fmax(worst, fabs(attend(b, h, i, w) - context[b][i][h][w]));
  /* Scores below 8 of 64 terms and weights in float32: 64 roundings of 2^-24. */
  printf("%s: %s\n", variant->name,
         worst < 1e-5 ? "the kernel gives what the loops give" : "the kernel is wrong");
  return worst < 1e-5 ? 0 : 1;
}
