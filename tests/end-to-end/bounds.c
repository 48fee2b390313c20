/* bounds.c - sizes up to the manifest's bounds are right, sizes past them are refused: by a graph's call, by
 * its entry and by a session. SPDX-License-Identifier: Apache-2.0
 *
 * usage: bounds LONG_ATTENTION LONG_SOURCES (bundles)
 */

#include "attnrt/attnrt.h"
#include "long_attention.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { query = 3, width = 4, most_keys = 16384 };

static int failures = 0;

static void expect(int holds, const char *what) {
  if (!holds) {
    printf("%s (last error: %s)\n", what, attnrt_last_error());
    ++failures;
  }
}

/* Scores within +-4; the last key has the best score of query 0, so that dropping it shows. */
static void fill(float *queries, float *keys, float *values) {
  for (int i = 0; i < query * width; ++i)
    queries[i] = (float)cos(i);
  for (int i = 0; i < (most_keys + 1) * width; ++i) {
    keys[i] = 2 * (float)sin(0.7 * i);
    values[i] = (float)cos(0.3 * i);
  }
  for (int w = 0; w < width; ++w)
    keys[(most_keys - 1) * width + w] = 8 * queries[w];
}

static void attend(const float *queries, const float *keys, const float *values, double *output) {
  for (int q = 0; q < query; ++q) {
    double sum = 0, context[width] = {0};
    for (int k = 0; k < most_keys; ++k) {
      double score = 0;
      for (int w = 0; w < width; ++w)
        score += 0.5 * queries[q * width + w] * keys[k * width + w];
      sum += exp(score);
      for (int w = 0; w < width; ++w)
        context[w] += exp(score) * values[k * width + w];
    }
    for (int w = 0; w < width; ++w)
      output[q * width + w] = context[w] / sum;
  }
}

/* The sizes that `call` gets are batch, key, query. */
static void check_graph(const char *folder) {
  static float keys[(most_keys + 1) * width], values[(most_keys + 1) * width];
  float queries[query * width], called[query * width] = {0}, run[query * width] = {0};
  double wanted[query * width];
  fill(queries, keys, values);
  attend(queries, keys, values, wanted);
  attnrt_model *model = NULL;
  if (attnrt_model_load(folder, NULL, &model) != ATTNRT_OK) {
    expect(0, "the graph cannot be loaded");
    return;
  }
  void *tensors[] = {queries, keys, values, called};
  int64_t sizes[] = {1, most_keys, query};
  expect(attnrt_graph_call(model, NULL, "attend", 3, sizes, 4, tensors) == ATTNRT_OK,
         "16,384 keys are refused");
  /* Weights sum to 1 and values are at most 1: what a score of at most 8 loses by rounding, 8 * 8 * 2^-24,
   * moves an output by 4e-6; sums over 128 blocks add 128 * 2^-24. */
  for (int i = 0; i < query * width; ++i)
    if (!(fabs(called[i] - wanted[i]) < 2e-5)) {
      printf("element %d: %g instead of %g\n", i, called[i], wanted[i]);
      ++failures;
    }
  char *arena = aligned_alloc(64, ((size_t)long_attention_arena_attend(1, most_keys, query) + 64) / 64 * 64);
  const attnrt_variant *variant = long_attention_best_variant();
  expect(long_attention_run_attend(0, variant, 0, arena, 1, most_keys, query, queries, keys, values, run) ==
             0,
         "the entry refuses 16,384 keys");
  expect(memcmp(run, called, sizeof run) == 0, "the entry and the call give different bits");

  sizes[1] = most_keys + 1;
  expect(attnrt_graph_call(model, NULL, "attend", 3, sizes, 4, tensors) == ATTNRT_OUT_OF_RANGE &&
             strcmp(attnrt_last_error(),
                    "entry 'attend' works with at most 16384 for key, but is given key = 16385") == 0,
         "16,385 keys are not refused, or not for what they are");
  const int64_t broken[][3] = {
      {1, most_keys + 1, query}, {1 << 20, most_keys, query}, {INT64_MAX, INT64_MAX, INT64_MAX}, {1, -1, 1}};
  for (size_t i = 0; i < sizeof broken / sizeof broken[0]; ++i) {
    expect(long_attention_run_attend(0, variant, 0, arena, broken[i][0], broken[i][1], broken[i][2], queries,
                                     keys, values, run) == ATTNRT_SIZES_OUT_OF_RANGE,
           "the entry takes sizes out of its bounds");
    expect(attnrt_graph_call(model, NULL, "attend", 3, broken[i], 4, tensors) == ATTNRT_OUT_OF_RANGE,
           "the call takes sizes out of the entry's bounds");
  }
  free(arena);
  attnrt_model_destroy(model);
}

/* A session at the bound decodes; one past it is not opened. */
static void check_session(const char *folder) {
  static int32_t ids[most_keys];
  for (int i = 0; i < most_keys; ++i)
    ids[i] = 3 + i % 7;
  attnrt_model *model = NULL;
  attnrt_session *session = NULL;
  attnrt_session_options room;
  if (attnrt_model_load(folder, NULL, &model) != ATTNRT_OK) {
    expect(0, "the model cannot be loaded");
    return;
  }
  attnrt_session_options_init(model, &room);
  room.source = most_keys;
  room.target = 4;
  room.uses = ATTNRT_USE_DECODE;
  expect(attnrt_session_create(model, &room, &session) == ATTNRT_OK,
         "no session for sources of 16,384 tokens");
  attnrt_ids source = {most_keys, ids};
  attnrt_result *result = NULL;
  expect(attnrt_decode(session, 1, &source, NULL, &result) == ATTNRT_OK, "16,384 tokens are not decoded");
  attnrt_result_destroy(result);
  attnrt_session_destroy(session);

  room.source = most_keys + 1;
  expect(attnrt_session_create(model, &room, &session) == ATTNRT_OUT_OF_RANGE &&
             strcmp(attnrt_last_error(),
                    "entry 'encode' works with at most 16384 for length, but is given length = 16385") == 0,
         "a session for sources of 16,385 tokens is opened, or not refused for what it is");
  room.source = 4;
  room.target = most_keys + 1;
  expect(attnrt_session_create(model, &room, &session) == ATTNRT_OUT_OF_RANGE &&
             strstr(attnrt_last_error(), "entry 'step' works with at most 16384 for history") != NULL,
         "a session for targets of 16,385 tokens is opened, or not refused for what it is");
  attnrt_model_destroy(model);
}

int main(int count, char **arguments) {
  if (count != 3)
    return 2;
  check_graph(arguments[1]);
  check_session(arguments[2]);
  return failures != 0;
}
