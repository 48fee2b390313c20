/* failing_host.c - threads of a host that leave one task of each loop out: no call may succeed.
 * SPDX-License-Identifier: Apache-2.0
 *
 *   failing_host BUNDLE */

#include "attnrt/attnrt.h"

#include <stdio.h>
#include <string.h>

enum { most_floats = 64 };

static void leave_one_out(void *user, int32_t count, attnrt_host_work work, void *closure) {
  (void)user;
  for (int32_t i = 0; i + 1 < count; ++i)
    work(closure, i);
}

/* Whether a call failed, and its message says of what. */
static int is_told(const char *call, attnrt_status status) {
  if (status == ATTNRT_KERNEL_FAILED &&
      strstr(attnrt_last_error(), "the host's pool did not run as many tasks"))
    return 1;
  printf("%s: status %d, %s\n", call, (int)status, attnrt_last_error());
  return 0;
}

int main(int argc, char **argv) {
  attnrt_model *model;
  attnrt_pool *pool;
  attnrt_session *session;
  attnrt_session_options options;
  if (argc != 2 || attnrt_model_load(argv[1], 0, &model) != ATTNRT_OK ||
      attnrt_pool_create_on_host(leave_one_out, 0, &pool) != ATTNRT_OK)
    return 2;
  attnrt_session_options_init(model, &options);
  options.pool = pool;
  if (attnrt_session_create(model, &options, &session) != ATTNRT_OK)
    return 2;
  const int32_t ids[] = {5, 6, 7, 8};
  const attnrt_ids sentence = {4, ids};
  float numbers[most_floats];
  attnrt_result *result;
  int good = is_told("score", attnrt_score(session, 1, &sentence, &sentence, numbers));
  good &= is_told("attend", attnrt_attend(session, sentence, sentence, numbers));
  good &= is_told("decode", attnrt_decode(session, 1, &sentence, 0, &result));
  attnrt_session_destroy(session);
  attnrt_pool_destroy(pool);
  attnrt_model_destroy(model);
  return good ? 0 : 1;
}
