/* textbook.c - worked examples of the textbook through compiled graphs, compared with its numbers.
 * SPDX-License-Identifier: Apache-2.0
 *
 * usage: textbook THREE_WORDS_WEIGHTS EIGHT_WORDS_WEIGHTS SCORES_WEIGHTS
 */

#include "../read_weights.h"
#include "textbook_eight_words.h"
#include "textbook_scores.h"
#include "textbook_three_words.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static char *make_arena(int64_t bytes) { return aligned_alloc(64, (size_t)(bytes + 127) / 64 * 64); }

/* Numbers are printed with six decimals: half of the last, and 1e-6 for sums in float32. */
static int differ(const char *what, int count, const float *got, const double *wanted) {
  int wrong = 0;
  for (int i = 0; i < count; ++i)
    if (!(fabs(got[i] - wanted[i]) <= 1.5e-6)) {
      printf("%s[%d] is %.7f, the book has %.6f\n", what, i, got[i], wanted[i]);
      ++wrong;
    }
  return wrong;
}

static int check_three_words(const char *weight_file) {
  const float words[3 * 4] = {1, 0, 1, 0, 0, 2, 0, 2, 1, 1, 1, 1};
  const double weights[3 * 3] = {0.136126, 0.431937, 0.431937, 0.00089, 0.908843,
                                 0.090267, 0.007445, 0.754708, 0.237848};
  const double output[3 * 3] = {1.863874, 6.319371, 1.704189, 1.99911, 7.814124,
                                0.273472, 1.992555, 7.479636, 0.735877};
  float got[9], gotWeights[9];
  char *arena = make_arena(textbook_three_words_arena_attend(1, 3)), *data = read_weights(weight_file);
  int code = textbook_three_words_run_attend(0, textbook_three_words_best_variant(), data, arena, 1, 3, words,
                                             got, gotWeights);
  free(arena);
  free(data);
  if (code != 0)
    return 1;
  return differ("three words: weights", 9, gotWeights, weights) +
         differ("three words: output", 9, got, output);
}

static int check_eight_words(const char *weight_file) {
  const float words[8 * 4] = {.1f, .2f, .1f, .3f, 0,   .1f, .2f, .4f, .5f, .3f, .2f, .1f, .1f, .1f, .1f, .2f,
                              .2f, .3f, .1f, 0,   .4f, 0,   .3f, .2f, .3f, .1f, .4f, .1f, .5f, .2f, 0,   .1f};
  const double output[8 * 4] = {0.201039, 0.17911,  0.189161, 0.208695, 0.201054, 0.179105, 0.189138,
                                0.208678, 0.201654, 0.179318, 0.189421, 0.209434, 0.200752, 0.179005,
                                0.18904,  0.208358, 0.200871, 0.179068, 0.189124, 0.208536, 0.201402,
                                0.1792,   0.189267, 0.209083, 0.201379, 0.179208, 0.189264, 0.209058,
                                0.201211, 0.17916,  0.189255, 0.208935};
  /* of the third word, 배 */
  const double weights[8] = {0.123401, 0.123499, 0.131097, 0.119921, 0.121728, 0.12749, 0.127617, 0.125247};
  float got[8 * 4], gotWeights[8 * 8];
  char *arena = make_arena(textbook_eight_words_arena_attend()), *data = read_weights(weight_file);
  int code = textbook_eight_words_run_attend(0, textbook_eight_words_best_variant(), data, arena, words, got,
                                             gotWeights);
  free(arena);
  free(data);
  if (code != 0)
    return 1;
  return differ("eight words: weights", 8, gotWeights + 2 * 8, weights) +
         differ("eight words: output", 8 * 4, got, output);
}

typedef int32_t (*run_function)(attnrt_kernel_context *, const attnrt_variant *, const char *, char *,
                                int64_t, int64_t, const float *, float *);

/* The three words with five score functions, computed in double precision. */
static int check_scores(const char *weight_file) {
  static const float words[3 * 4] = {1, 0, 1, 0, 0, 2, 0, 2, 1, 1, 1, 1};
  static const struct {
    const char *name;
    run_function run;
    int64_t (*arena)(int64_t, int64_t);
    double output[3 * 3];
  } all[] = {{"dot",
              textbook_scores_run_dot,
              textbook_scores_arena_dot,
              {1.936621, 6.683105, 1.595068, 1.999994, 7.963992, 0.053976, 1.999705, 7.759892, 0.358389}},
             {"scaled",
              textbook_scores_run_scaled,
              textbook_scores_arena_scaled,
              {1.863874, 6.319371, 1.704189, 1.99911, 7.814124, 0.273472, 1.992555, 7.479636, 0.735877}},
             {"general",
              textbook_scores_run_general,
              textbook_scores_arena_general,
              {1.999671, 7.962064, 0.054929, 1.999994, 7.995018, 0.007436, 1.999999, 7.998173, 0.002736}},
             {"additive",
              textbook_scores_run_additive,
              textbook_scores_arena_additive,
              {1.68582, 5.408758, 2.001782, 1.667251, 5.315763, 2.029859, 1.669675, 5.345636, 1.999596}},
             {"cosine",
              textbook_scores_run_cosine,
              textbook_scores_arena_cosine,
              {1.61328, 5.016877, 2.154368, 1.679027, 5.358053, 2.03708, 1.641193, 5.158814, 2.108937}}};
  char *weights = read_weights(weight_file);
  int wrong = 0;
  for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i) {
    float got[9];
    char *arena = make_arena(all[i].arena(1, 3));
    if (all[i].run(0, textbook_scores_best_variant(), weights, arena, 1, 3, words, got) != 0)
      return 1;
    wrong += differ(all[i].name, 9, got, all[i].output);
    free(arena);
  }
  free(weights);
  return wrong;
}

int main(int argc, char **argv) {
  if (argc != 4)
    return 2;
  if (check_three_words(argv[1]) + check_eight_words(argv[2]) + check_scores(argv[3]) != 0)
    return 1;
  puts("every number is the book's");
  return 0;
}
