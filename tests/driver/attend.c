/* attend.c - calls a graph's typed function and compares with plain loops in double precision.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The weights are read back from weights.safetensors: panels of 32 columns, query, key and value joined or
 * apart. */

#include "../../examples/read_weights.h"
#include "attend_by_hand.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { batch = 2, query = 5, width = 4, head = 3 };

/* As bundle_test.py writes matrix `number` of seed 1. */
static double weight(int number, int out, int in) {
  return ((out * width + in) * 7 + 13 + number) % 19 / 8.0 - 9 / 8.0;
}

static void project(int number, const float *words, double *result) { /* query x width -> query x head */
  for (int q = 0; q < query; ++q)
    for (int h = 0; h < head; ++h) {
      result[q * head + h] = 0;
      for (int w = 0; w < width; ++w)
        result[q * head + h] += words[q * width + w] * weight(number, h, w);
    }
}

static void expect(const float *words, double *output) { /* query x width -> query x head */
  double projected[3][query * head];
  for (int number = 0; number < 3; ++number)
    project(number, words, projected[number]);
  for (int q = 0; q < query; ++q) {
    double sum = 0, context[head] = {0};
    for (int k = 0; k < query; ++k) {
      double score = 0;
      for (int h = 0; h < head; ++h)
        score += 0.5 * projected[0][q * head + h] * projected[1][k * head + h];
      sum += exp(score);
      for (int h = 0; h < head; ++h)
        context[h] += exp(score) * projected[2][k * head + h];
    }
    for (int h = 0; h < head; ++h)
      output[q * head + h] = context[h] / sum;
  }
}

int main(int count, char **arguments) {
  char *weights = count > 1 ? read_weights(arguments[1]) : 0;
  const attnrt_variant *variant = attend_by_hand_best_variant();
  if (!weights || !variant)
    return 2;
  float words[batch * query * width], output[batch * query * head];
  for (int i = 0; i < batch * query * width; ++i)
    words[i] = (float)sin(i);
  char *arena = aligned_alloc(64, ((size_t)attend_by_hand_arena_attend(batch, query) + 63) / 64 * 64);
  if (attend_by_hand_run_attend(0, variant, weights, arena, batch, query, words, output) != 0)
    return 3;
  for (int b = 0; b < batch; ++b) {
    double wanted[query * head];
    expect(words + b * query * width, wanted);
    for (int i = 0; i < query * head; ++i)
      if (!(fabs(output[b * query * head + i] - wanted[i]) <
            1e-5)) { /* values below 5, about 40 roundings of 2^-24 */
        printf("sentence %d, element %d: %g instead of %g\n", b, i, output[b * query * head + i], wanted[i]);
        return 1;
      }
  }
  free(arena);
  free(weights);
  return 0;
}
