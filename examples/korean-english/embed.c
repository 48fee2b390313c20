/* embed.c - a C program with the compiled model inside: it translates each line of its standard input.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The code of the bundle is linked in (libkorean_english.a); weights and tokenizer are read from its folder:
 *   embed BUNDLE
 */
#include "attnrt/attnrt.h"
#include "korean_english.h"

#include <stdio.h>
#include <string.h>

enum { MAX_TOKENS = 128, MAX_TEXT = 4096 };

static int fail(const char *what) {
  fprintf(stderr, "embed: %s: %s\n", what, attnrt_last_error());
  return 1;
}

/* Translates one line of text and prints it. */
static int translate(const attnrt_model *model, attnrt_session *session, const char *line) {
  int32_t source[MAX_TOKENS];
  size_t count;
  if (attnrt_tokenize(model, ATTNRT_SOURCE, strlen(line), line, MAX_TOKENS, source, &count) != ATTNRT_OK)
    return fail("tokenize");
  if (count > MAX_TOKENS) {
    fprintf(stderr, "embed: %zu tokens in a line, at most %d are taken\n", count, MAX_TOKENS);
    return 1;
  }

  attnrt_ids sources[1] = {{count, source}};
  attnrt_result *result;
  if (attnrt_decode(session, 1, sources, NULL, &result) != ATTNRT_OK)
    return fail("decode");

  attnrt_hypothesis best;
  char text[MAX_TEXT];
  size_t size;
  attnrt_status status = attnrt_result_get(result, 0, 0, &best);
  if (status == ATTNRT_OK)
    status = attnrt_detokenize(model, ATTNRT_TARGET, best.ids.count, best.ids.ids, MAX_TEXT, text, &size);
  attnrt_result_destroy(result);
  if (status != ATTNRT_OK)
    return fail("read the result");
  if (size >= MAX_TEXT) {
    fprintf(stderr, "embed: the output has %zu bytes, at most %d are taken\n", size, MAX_TEXT - 1);
    return 1;
  }
  puts(text);
  return 0;
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: embed BUNDLE < korean.txt\n");
    return 2;
  }
  attnrt_model *model;
  if (attnrt_model_create(&korean_english_descriptor, argv[1], NULL, &model) != ATTNRT_OK)
    return fail(argv[1]);

  attnrt_session_options options;
  attnrt_session_options_init(model, &options);
  options.source = MAX_TOKENS;
  options.uses = ATTNRT_USE_DECODE;
  attnrt_session *session;
  if (attnrt_session_create(model, &options, &session) != ATTNRT_OK) {
    attnrt_model_destroy(model);
    return fail("session");
  }

  char line[MAX_TEXT];
  int code = 0;
  while (code == 0 && fgets(line, sizeof line, stdin)) {
    size_t length = strcspn(line, "\n");
    line[length] = '\0';
    if (length < MAX_TEXT - 1) {
      code = translate(model, session, line);
    } else { /* the rest of it would be taken for another line */
      fprintf(stderr, "embed: a line has more than %d bytes\n", MAX_TEXT - 2);
      code = 1;
    }
  }
  attnrt_session_destroy(session);
  attnrt_model_destroy(model);
  return code;
}
