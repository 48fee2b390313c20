/* sessions.c - many threads on one model: each has a session of its own and must find what one alone found,
 * bit for bit, also where it may read all logits, as wide beams then do. SPDX-License-Identifier: Apache-2.0
 *
 *   sessions BUNDLE SENTENCE... */

#include "attnrt/attnrt.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { threads = 4, repeats = 3, most_sentences = 16, most_tokens = 64, beam = 16 };

struct request {
  const attnrt_model *model;
  size_t count;
  attnrt_ids sources[most_sentences];
};

struct worker {
  const struct request *request;
  attnrt_pool *pool; /* or null, for threads of its own */
  uint32_t uses;
  const attnrt_result *wanted;
  int succeeded;
};

static attnrt_session *open_session(const struct request *request, attnrt_pool *pool, uint32_t uses) {
  attnrt_session_options options;
  attnrt_session_options_init(request->model, &options);
  options.batch = (int32_t)request->count;
  options.beam = beam;
  options.source = most_tokens;
  options.uses = uses;
  options.threads = 2;
  options.pool = pool;
  attnrt_session *session;
  return attnrt_session_create(request->model, &options, &session) == ATTNRT_OK ? session : 0;
}

static attnrt_result *decode(const struct request *request, attnrt_session *session) {
  attnrt_decode_options options;
  attnrt_decode_options_init(request->model, &options);
  options.beam = options.n_best = beam;
  attnrt_result *result;
  return attnrt_decode(session, request->count, request->sources, &options, &result) == ATTNRT_OK ? result
                                                                                                  : 0;
}

static int are_equal(const attnrt_result *a, const attnrt_result *b, size_t sentences) {
  for (size_t sentence = 0; sentence < sentences; ++sentence)
    for (size_t rank = 0; rank < beam; ++rank) {
      attnrt_hypothesis x, y;
      if (attnrt_result_get(a, sentence, rank, &x) != ATTNRT_OK ||
          attnrt_result_get(b, sentence, rank, &y) != ATTNRT_OK || x.ids.count != y.ids.count ||
          memcmp(x.ids.ids, y.ids.ids, x.ids.count * sizeof(int32_t)) != 0 || x.score != y.score)
        return 0;
    }
  return 1;
}

static void *work(void *argument) {
  struct worker *worker = argument;
  attnrt_session *session = open_session(worker->request, worker->pool, worker->uses);
  worker->succeeded = session != 0;
  for (int repeat = 0; worker->succeeded && repeat < repeats; ++repeat) {
    attnrt_result *result = decode(worker->request, session);
    worker->succeeded = result && are_equal(result, worker->wanted, worker->request->count);
    attnrt_result_destroy(result);
  }
  attnrt_session_destroy(session);
  return 0;
}

/* How many threads found something else, or nothing. */
static int count_failures(const struct request *request, attnrt_pool *pool, const attnrt_result *wanted) {
  pthread_t handles[threads];
  struct worker workers[threads];
  int failures = 0;
  for (int i = 0; i < threads; ++i) {
    const uint32_t uses = ATTNRT_USE_DECODE | (i < threads / 2 ? 0 : ATTNRT_USE_SAMPLE);
    workers[i] = (struct worker){request, i % 2 ? pool : 0, uses, wanted, 0};
    if (pthread_create(&handles[i], 0, work, &workers[i]) != 0)
      return threads;
  }
  for (int i = 0; i < threads; ++i) {
    pthread_join(handles[i], 0);
    failures += !workers[i].succeeded;
  }
  return failures;
}

int main(int count, char **arguments) {
  static int32_t ids[most_sentences][most_tokens];
  attnrt_model *model;
  if (count < 3 || count - 2 > most_sentences || attnrt_model_load(arguments[1], 0, &model) != ATTNRT_OK)
    return 2;
  struct request request = {model, (size_t)count - 2, {{0, 0}}};
  for (size_t i = 0; i < request.count; ++i) {
    const char *text = arguments[i + 2];
    request.sources[i].ids = ids[i];
    if (attnrt_tokenize(model, ATTNRT_SOURCE, strlen(text), text, most_tokens, ids[i],
                        &request.sources[i].count) != ATTNRT_OK ||
        request.sources[i].count > most_tokens)
      return 2;
  }
  attnrt_pool *pool;
  attnrt_session *alone = open_session(&request, 0, ATTNRT_USE_DECODE);
  attnrt_result *wanted = alone ? decode(&request, alone) : 0;
  if (!wanted || attnrt_pool_create(2, &pool) != ATTNRT_OK)
    return 2;
  int failures = count_failures(&request, pool, wanted);
  attnrt_result_destroy(wanted);
  attnrt_session_destroy(alone);
  attnrt_pool_destroy(pool);
  attnrt_model_destroy(model);
  printf("%d\n", failures);
  return 0;
}
