/* attnrt.h - the C interface of the runtime: load a bundle, open sessions, decode and score.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Every function that can fail returns a status; the message of this thread's last failure is
 * attnrt_last_error(). Nothing aborts the process and no exception leaves the library. Options structs start
 * with their size: fill them with their init function, then change what you need. docs/runtime.md shows all
 * of it by example. */
#ifndef ATTNRT_ATTNRT_H
#define ATTNRT_ATTNRT_H

#include <stddef.h>
#include <stdint.h>

#include "attnrt/bundle.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum attnrt_status {
  ATTNRT_OK = 0,
  ATTNRT_INVALID_ARGUMENT, /* null pointer, unknown name, id out of range, contradictory options */
  ATTNRT_OUT_OF_RANGE,     /* beyond the session's capacity or the model's limits */
  ATTNRT_NOT_FOUND,        /* a file is missing or cannot be read */
  ATTNRT_BAD_BUNDLE,       /* a file of the bundle is damaged, or its parts do not belong together */
  ATTNRT_UNSUPPORTED,      /* this machine or this bundle cannot do it */
  ATTNRT_OUT_OF_MEMORY,
  ATTNRT_CANCELLED, /* by attnrt_cancel_trigger() or by the token callback */
  ATTNRT_BUSY,      /* the session serves another call at this moment */
  ATTNRT_KERNEL_FAILED,
  ATTNRT_INTERNAL /* a mistake of the runtime: please report it */
} attnrt_status;

/* The message of the last failure on this thread, or "". Valid until this thread's next call. */
const char *attnrt_last_error(void);

/* ---- Models -------------------------------------------------------------------------------------- */

/* A loaded bundle. Immutable: any number of threads may use it at once. */
typedef struct attnrt_model attnrt_model;

typedef struct attnrt_model_options {
  size_t size;
  const char *variant; /* the kernels to use (avx2, ...), or null for the best that this machine can run */
  int verify_weights;  /* 1: compare library and weights to their hashes, which reads the whole files */
} attnrt_model_options;

void attnrt_model_options_init(attnrt_model_options *options);

/* Loads a bundle's folder and the shared library in it, which must be trusted: it is code. The other files
 * need not be. `options` may be null. On success `*out` is yours: free it with attnrt_model_destroy(). On
 * failure it is null. Any thread may call this. */
attnrt_status attnrt_model_load(const char *folder, const attnrt_model_options *options, attnrt_model **out);

/* As attnrt_model_load(), for a bundle whose code is linked into the program: `folder` gives the data only.
 * `descriptor` must outlive the model. */
attnrt_status attnrt_model_create(const attnrt_descriptor *descriptor, const char *folder,
                                  const attnrt_model_options *options, attnrt_model **out);

/* Null is allowed. Sessions may outlive the model's handle: they keep what they need. */
void attnrt_model_destroy(attnrt_model *model);

/* These point into the model and live as long as it does. */
const char *attnrt_model_name(const attnrt_model *model);
const char *attnrt_model_variant(const attnrt_model *model);  /* the chosen one */
const char *attnrt_model_manifest(const attnrt_model *model); /* manifest.json as text */

/* Compares the weights to their hashes and repeats the decodings recorded in the manifest's `golden`. */
attnrt_status attnrt_model_self_check(const attnrt_model *model);

/* Writes the JSON text of `golden` for this model: what it decodes now. For compilers; see attnrt_text below.
 */
attnrt_status attnrt_model_record_golden(const attnrt_model *model, size_t capacity, char *text,
                                         size_t *size);

/* Writes the 32 digits of a manifest's hash as bundle.h's `manifest_hash` has it. */
attnrt_status attnrt_manifest_hash(size_t size, const char *manifest, char hash[33]);

/* ---- Tokens -------------------------------------------------------------------------------------- */

/* Functions take it as a number: whatever comes is checked. */
typedef enum attnrt_side { ATTNRT_SOURCE = 0, ATTNRT_TARGET = 1 } attnrt_side;

/* Token ids of one text. The memory is the caller's unless a comment says otherwise. */
typedef struct attnrt_ids {
  size_t count;
  const int32_t *ids;
} attnrt_ids;

/* Splits UTF-8 text into token ids; on the source side with the start and end tokens that the model expects.
 * Writes at most `capacity` ids and sets `*count` to how many there are: call again with more room if it is
 * larger. Text that the vocabulary does not know, invalid UTF-8 included, becomes the unknown token. */
attnrt_status attnrt_tokenize(const attnrt_model *model, int32_t side, size_t text_size, const char *text,
                              size_t capacity, int32_t *ids, size_t *count);

/* Languages that a request may choose (`tokens.languages` of the spec): each is a token's id. None: 0. */
size_t attnrt_model_language_count(const attnrt_model *model);
/* Language `number` in the order of their codes; `*code` lives as long as the model. */
attnrt_status attnrt_model_language(const attnrt_model *model, size_t number, const char **code, int32_t *id);
/* The language called `code`. Where there is none the message lists those that are. */
attnrt_status attnrt_find_language(const attnrt_model *model, const char *code, int32_t *id);

/* As attnrt_tokenize() of a source that is in `language`, which takes the place of the bundle's own. */
attnrt_status attnrt_tokenize_in(const attnrt_model *model, int32_t language, size_t text_size,
                                 const char *text, size_t capacity, int32_t *ids, size_t *count);

/* Joins token ids to text; an id that the vocabulary does not have is an error. Writes at most `capacity`
 * bytes, the last of them a NUL, and sets `*size` to the text's length without the NUL: call again with more
 * room if it is `capacity` or more. */
attnrt_status attnrt_detokenize(const attnrt_model *model, int32_t side, size_t count, const int32_t *ids,
                                size_t capacity, char *text, size_t *size);

/* One token as the vocabulary writes it, as attnrt_detokenize() gives texts. */
attnrt_status attnrt_token_text(const attnrt_model *model, int32_t side, int32_t id, size_t capacity,
                                char *text, size_t *size);

/* Whether a tokenizer's files in `folder` can be read. `description` is what a manifest has under
 * tokenizer.source; ids must be below `vocabulary`. A part of a tokenizer.json that is not supported is
 * ATTNRT_UNSUPPORTED, and attnrt_last_error() names it. */
attnrt_status attnrt_check_tokenizer(const char *folder, size_t size, const char *description,
                                     int32_t vocabulary);

/* ---- Threads ------------------------------------------------------------------------------------- */

/* Threads that share the work of kernels. May serve many sessions at once; must outlive them. */
typedef struct attnrt_pool attnrt_pool;

/* The cores that the calling thread may run on, each once however many threads it runs at a time, and no more than
 * the processors' time that its control groups grant (a container's limit), rounded up. At least 1. */
int32_t attnrt_core_count(void);

/* `threads` counts the caller's own: 1 makes none, 0 means attnrt_core_count(). */
attnrt_status attnrt_pool_create(int32_t threads, attnrt_pool **out);

/* Uses the threads of the host program instead. `run` must call work(closure, i) once for each i in [0,
 * count), on any threads, and return when all of them have returned, also where it throws an exception; that,
 * and tasks left out, are a failure of the call. Kernels take up to 512 KiB of a thread's stack. */
typedef void (*attnrt_host_work)(void *closure, int32_t index);
typedef void (*attnrt_host_run)(void *user, int32_t count, attnrt_host_work work, void *closure);
attnrt_status attnrt_pool_create_on_host(attnrt_host_run run, void *user, attnrt_pool **out);

/* After the sessions that were given the pool. Null is allowed, as in every destroy function. */
void attnrt_pool_destroy(attnrt_pool *pool);

/* ---- Graphs -------------------------------------------------------------------------------------- */

/* The data part of the mapped weights, aligned to 64 bytes, for code that calls a bundle's entries itself.
 * Lives as long as the model. */
const char *attnrt_model_weights(const attnrt_model *model);

/* What one kernel did in calls of one entry. */
typedef struct attnrt_kernel_profile {
  int64_t calls;
  int64_t operations; /* multiplications and additions of matmuls */
  int64_t bytes;      /* that it had to read and write */
  int64_t nanoseconds;
} attnrt_kernel_profile;

/* Calls an entry of a graph: all sizes in the manifest's order, then arguments and results, whose
 * extents those sizes give, dense unless the manifest says how far apart its rows lie. Ids and lengths are
 * not checked: one out of range reads the nearest element, of at least one. Tensors are fastest at multiples
 * of 64 bytes. The entry's arena is the calling thread's, which keeps up to 16 MiB for its next call. `pool`
 * may be null: one thread. Any thread may call this. */
attnrt_status attnrt_graph_call(const attnrt_model *model, attnrt_pool *pool, const char *entry,
                                size_t size_count, const int64_t *sizes, size_t tensor_count,
                                void *const *tensors);

/* The same, and adds what each kernel did to `kernels`, which no other call writes to meanwhile: as many as the
 * manifest has, in its order. A call that fails adds nothing. Costs memory for a table and a reading of the
 * clock per kernel. */
attnrt_status attnrt_graph_profile(const attnrt_model *model, attnrt_pool *pool, const char *entry,
                                   size_t size_count, const int64_t *sizes, size_t tensor_count,
                                   void *const *tensors, size_t kernel_count, attnrt_kernel_profile *kernels);

/* ---- Sessions ------------------------------------------------------------------------------------ */

/* Of models: graphs have none. The memory to serve one call at a time. A second call at the same moment
 * returns ATTNRT_BUSY; for more at once, open more sessions. */
typedef struct attnrt_session attnrt_session;

typedef enum attnrt_use {
  ATTNRT_USE_DECODE = 1, /* greedy and beam search */
  ATTNRT_USE_SAMPLE =
      2, /* sampling, the rules that look at every token (docs/decoding.md), faster wide beams */
  ATTNRT_USE_SCORE = 4,  /* attnrt_score(), and prefixes */
  ATTNRT_USE_ATTEND = 8, /* attnrt_attend() */
  ATTNRT_USE_ALL = 15
} attnrt_use;

/* What the session has room for. More is ATTNRT_OUT_OF_RANGE, never a reallocation. */
typedef struct attnrt_session_options {
  size_t size;
  int32_t batch;      /* sentences at once */
  int32_t beam;       /* hypotheses, or samples, per sentence */
  int32_t source;     /* tokens of the longest source */
  int32_t target;     /* tokens of the longest target, the end token counted */
  int32_t suppressed; /* tokens that a decode may forbid: suppressed, begin_suppress_tokens and bad_words_ids;
                       * at most 65,536. With ATTNRT_USE_SAMPLE there may be more: all logits are read then */
  uint32_t uses;      /* the attnrt_use flags: what is not used takes no memory */
  int32_t threads;    /* of the session's own pool, as in attnrt_pool_create(); ignored where `pool` is set */
  attnrt_pool *pool;  /* or null */
} attnrt_session_options;

/* Fills in the bundle's decoding defaults: batch 1, its beam and maximum length, one thread. */
void attnrt_session_options_init(const attnrt_model *model, attnrt_session_options *options);

/* On success `*out` is yours: free it with attnrt_session_destroy(). `options` may be null. */
attnrt_status attnrt_session_create(const attnrt_model *model, const attnrt_session_options *options,
                                    attnrt_session **out);
/* While no call on it runs. Results stay valid. */
void attnrt_session_destroy(attnrt_session *session);

/* Counts what each kernel does from here on, from zero. Costs a reading of the clock per kernel. */
attnrt_status attnrt_session_start_profile(attnrt_session *session);

/* Between calls: ATTNRT_BUSY while one runs. `entry` and `kernel` count as in the manifest. */
attnrt_status attnrt_session_profile(const attnrt_session *session, size_t entry, size_t kernel,
                                     attnrt_kernel_profile *out);

/* What the session has reserved, at any time: memory that a call works in, and memory that is kept between
 * the calls of a request. 0 for a null session. */
size_t attnrt_session_arena_bytes(const attnrt_session *session);
size_t attnrt_session_state_bytes(const attnrt_session *session);

/* ---- Decoding ------------------------------------------------------------------------------------ */

/* A request to stop, given from another thread. May be shared by many decodes, before, while and after they
 * run. */
typedef struct attnrt_cancel attnrt_cancel;
attnrt_status attnrt_cancel_create(attnrt_cancel **out);
void attnrt_cancel_trigger(attnrt_cancel *cancel); /* any thread; stays triggered */
void attnrt_cancel_destroy(attnrt_cancel *cancel);

/* When a beam search (of 2 or more) ends: as soon as `beam` hypotheses have ended; when no running one can
 * still beat the worst of them at its present length; or at any length up to the maximum. */
typedef enum attnrt_stopping {
  ATTNRT_STOP_EARLY = 0,
  ATTNRT_STOP_LATER = 1,
  ATTNRT_STOP_NEVER_EARLY = 2
} attnrt_stopping;

/* Returns 0 to go on; anything else ends the decode with ATTNRT_CANCELLED. */
typedef int (*attnrt_token_callback)(void *user, size_t sentence, size_t rank, int32_t id);

typedef struct attnrt_decode_options {
  size_t size;
  int32_t beam;   /* 1 is greedy */
  int32_t n_best; /* hypotheses returned, of a beam at most as many as it finishes: `beam` where `patience` is 1;
                   * when sampling, how many samples */
  float length_penalty;
  int32_t stopping;   /* an attnrt_stopping */
  int32_t min_length; /* tokens before the end token is allowed */
  int32_t max_length; /* tokens, the end token counted; fewer where the model has no more positions */
  int32_t sample;     /* 1 draws tokens instead of searching; `beam` is ignored then */
  float temperature;
  int32_t top_k; /* 0: all */
  float top_p;   /* 1: all */
  uint64_t seed;
  /* Sentence i draws as number first_sentence + i: batching does not change samples. */
  uint64_t first_sentence;
  const attnrt_ids *prefixes; /* one per sentence, which its output begins with; or null */
  size_t suppressed_count; /* of lists of ids, here and below: at most as many as the vocabulary has tokens */
  const int32_t *suppressed; /* tokens that are never chosen */
  attnrt_token_callback on_token;
  void *user;
  const attnrt_cancel *cancel; /* or null */

  /* Rules for tokens, named as in Hugging Face's generation_config.json. Those marked * look at every token's
   * probability, in some steps or all, and need ATTNRT_USE_SAMPLE. docs/decoding.md has the formulas. */
  float repetition_penalty;     /* * 1: none; above 1, tokens that the output has become less probable */
  int32_t no_repeat_ngram_size; /* * 0: none; no run of so many tokens comes twice */
  size_t begin_suppress_count;
  const int32_t *begin_suppress_tokens; /* never chosen as the first token that is not given */
  size_t bad_words_count;               /* at most 1,048,576, each of at most as many tokens */
  const attnrt_ids
      *bad_words_ids; /* sequences that never occur, but for one that begins with all that was read */
  int32_t forced_bos_token_id;         /* the first token, before the prefix; -1: none */
  const int32_t *forced_bos_token_ids; /* instead of it, one per sentence (a language, say); or null */
  int32_t forced_eos_token_id;         /* the token at the maximum length; -1: none */
  size_t shortlist_count;              /* 0, 1 for all sentences, or one per sentence */
  const attnrt_ids *shortlists; /* * the only tokens, besides the end token, that are chosen; empty: all */
  int32_t renormalize_logits;   /* * 1: what rules leave over sums to one again */
  float min_p;                  /* when sampling: tokens this much as probable as the best; 0: all */
  float typical_p; /* when sampling: the most typical tokens that have this probability; 1: all */

  /* Rules for searches. Each needs a beam of 2 or more, but for alternatives and what looks at attention. */
  float patience;              /* 1; the search is for round(patience * beam) finished hypotheses */
  int32_t num_beam_groups;     /* 1; groups of beam / num_beam_groups hypotheses that search side by side */
  float diversity_penalty;     /* what a token loses for each earlier group's hypothesis that takes it at this
                                  step */
  int32_t return_alternatives; /* 1: the n_best most probable first tokens that are not given, each continued
                                * by a search of its own; the session's beam must be n_best * beam or more */
  float min_alternative_probability; /* first tokens less probable than this are left out */
  float coverage_penalty; /* 0: none; how much finished hypotheses lose for source tokens that no target token
                           * looked at; needs ATTNRT_USE_ATTEND */
  int32_t return_attention; /* 1: attnrt_result_attention() can be asked; needs ATTNRT_USE_ATTEND */
  int32_t target_language;  /* of attnrt_find_language(); -1: the bundle's. It takes the place of the start
                             * token where that is a language, else of the forced first token */
  const int32_t *target_languages; /* instead of it, one per sentence; or null */
} attnrt_decode_options;

/* Fills in the bundle's decoding defaults. Pointers lead into the model. */
void attnrt_decode_options_init(const attnrt_model *model, attnrt_decode_options *options);

/* Groups sequences of similar length, for calls in which little padding is computed. Fills `order` with the
 * numbers of all `count` sequences, the shortest first, and `ends` with where in it each batch ends; both
 * have room for `count`, and `*batch_count` is how many batches there are. A batch has at most
 * `max_sequences`, and with padding at most `max_tokens` tokens, but one sequence always; with a `max_tokens`
 * of 0 there is no such limit and the order stays. Decode batches with samples one sentence at a time, or
 * `first_sentence` is not the sentence's own number. */
attnrt_status attnrt_make_batches(size_t count, const size_t *lengths, size_t max_sequences,
                                  size_t max_tokens, size_t *order, size_t *ends, size_t *batch_count);

/* Whether attnrt_decode() of `count` sources takes these options, in a session with room enough: a mistake is
 * then the options', not a source's. The message names the option, what it is and what is allowed. */
attnrt_status attnrt_decode_options_check(const attnrt_model *model, size_t count,
                                          const attnrt_decode_options *options);

/* What a decode found. Immutable; any thread may read it; it outlives its session. */
typedef struct attnrt_result attnrt_result;

typedef struct attnrt_hypothesis {
  attnrt_ids ids;                 /* without the start and the end token; inside the result */
  const float *log_probabilities; /* of each id, then of the end token where `ended`; inside the result */
  float total;                    /* their sum */
  float score;                    /* what is ranked by; see attnrt_decode() */
  int32_t ended;                  /* 0: cut off at the maximum length */
} attnrt_hypothesis;

/* Decodes `count` sources; none give an empty result. Log-probabilities are the model's own, whatever the
 * rules made of them; those of forced tokens are 0. A hypothesis' score is sum / length ^ length_penalty, the
 * end token counted, where the sum is of the log-probabilities as the rules changed them (`total`, if none
 * did), plus the coverage penalty. With `on_token`, greedy search and sampling report each token when it is
 * chosen, beam search reports its n-best lists when a sentence is done, or, with a coverage penalty, when all
 * are. `options` may be null: the model's defaults, with lengths that the session has room for. On success
 * `*out` is yours: free it with attnrt_result_destroy(). Prompts (of decoders alone) are not repeated. */
attnrt_status attnrt_decode(attnrt_session *session, size_t count, const attnrt_ids *sources,
                            const attnrt_decode_options *options, attnrt_result **out);

/* How many hypotheses sentence `sentence` has, best first: n_best, or fewer where there are no more. */
size_t attnrt_result_count(const attnrt_result *result, size_t sentence);
/* What `out` points to belongs to the result. */
attnrt_status attnrt_result_get(const attnrt_result *result, size_t sentence, size_t rank,
                                attnrt_hypothesis *out);

/* The cross-attention (last layer, mean of the heads) of a hypothesis, if `return_attention` was set: `*rows`
 * rows, one for each of its ids and for the end token where `ended`, of `*columns` values, one for each
 * source token. `*values` points into the result. */
attnrt_status attnrt_result_attention(const attnrt_result *result, size_t sentence, size_t rank, size_t *rows,
                                      size_t *columns, const float **values);
void attnrt_result_destroy(attnrt_result *result);

/* ---- Encoders ------------------------------------------------------------------------------------ */

/* Bundles of kind "encoder". Of a session's options `batch`, `source`, `threads` and `pool` count for them.
 */

/* Elements of a hidden state; 0 for other bundles. */
size_t attnrt_model_width(const attnrt_model *model);

/* The last layer's rows of each source's tokens. `types` has one list per source, as long as the source, or
 * is null: all tokens are of type 0. `hidden` takes sources[0].count x width values, then sources[1].count x
 * width, and so on; `pooled` count x width, if the model has a pooler. Either may be null. No sources give
 * nothing. */
attnrt_status attnrt_encode(attnrt_session *session, size_t count, const attnrt_ids *sources,
                            const attnrt_ids *types, float *hidden, float *pooled);

typedef struct attnrt_place {
  size_t sentence, position;
} attnrt_place;

typedef struct attnrt_places {
  size_t count;
  const attnrt_place *places;
} attnrt_places;

/* What the masked-token head says of the tokens at `places`: the `candidates` best ids of each, best first,
 * with their log-probabilities (count x candidates of each); where `ids` is null, the log-probabilities of
 * the whole vocabulary (count x vocabulary), and `candidates` is ignored. No places give nothing; there may be
 * as many as the session has room for tokens, where that are no more than 2^31 - 1 log-probabilities. */
attnrt_status attnrt_predict(attnrt_session *session, size_t count, const attnrt_ids *sources,
                             const attnrt_ids *types, const attnrt_places *places, int32_t candidates,
                             int32_t *ids, float *log_probabilities);

/* ---- Scoring and attention ----------------------------------------------------------------------- */

/* The log-probability of each token of given targets (after prompts, likewise), then of the end token.
 * `log_probabilities` takes targets[0].count + 1 values, then targets[1].count + 1, and so on. No sources
 * give nothing. */
attnrt_status attnrt_score(attnrt_session *session, size_t count, const attnrt_ids *sources,
                           const attnrt_ids *targets, float *log_probabilities);

/* The cross-attention (last layer, mean of the heads) with which each token of `target`, then the end token,
 * is predicted: (target.count + 1) x source.count values. */
attnrt_status attnrt_attend(attnrt_session *session, attnrt_ids source, attnrt_ids target, float *attention);

#ifdef __cplusplus
}
#endif
#endif /* ATTNRT_ATTNRT_H */
