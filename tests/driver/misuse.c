/* misuse.c - calls a graph as no program may, to see that a sanitizer watches compiled kernels.
 * SPDX-License-Identifier: Apache-2.0
 *
 *   misuse MODE VARIANT     MODE: right, short-input, shared-arena; VARIANT: number of a variant */

#include "attend_by_hand.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { batch = 2, query = 5, width = 4, head = 3, most_weights = 4096 };

struct call {
  const attnrt_variant *variant;
  const char *weights;
  char *arena;
  const float *words; /* batch x query x width */
};

static void *run(void *argument) {
  const struct call *call = argument;
  float output[batch * query * head];
  for (int repeat = 0; repeat < 100; ++repeat)
    if (attend_by_hand_run_attend(0, call->variant, call->weights, call->arena, batch, query, call->words,
                                  output) != 0)
      abort();
  return 0;
}

static char *zeros(size_t size) {
  size = (size + 63) / 64 * 64;
  char *memory = aligned_alloc(64, size);
  return memory ? memset(memory, 0, size) : 0;
}

int main(int count, char **arguments) {
  if (count != 3)
    return 2;
  int is_short = strcmp(arguments[1], "short-input") == 0,
      is_shared = strcmp(arguments[1], "shared-arena") == 0;
  const attnrt_variant *best = attend_by_hand_best_variant();
  const attnrt_variant *variant = attend_by_hand_descriptor.variants + atoi(arguments[2]);
  if (!best || variant > best) /* this machine cannot run it */
    return 77;
  size_t arena = (size_t)attend_by_hand_arena_attend(batch, query);
  float *words = calloc(batch * query * width - is_short, sizeof(float));
  struct call first = {variant, zeros(most_weights * sizeof(float)), zeros(arena), words};
  struct call second = first;
  if (!is_shared)
    second.arena = zeros(arena);
  pthread_t thread;
  if (!first.weights || !first.arena || !second.arena || !words ||
      pthread_create(&thread, 0, run, &first) != 0)
    return 2;
  run(&second);
  pthread_join(thread, 0);
  free((char *)first.weights);
  free(first.arena);
  if (!is_shared)
    free(second.arena);
  free(words);
  return 0;
}
