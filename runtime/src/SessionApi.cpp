//===- SessionApi.cpp - the C interface: pools, sessions, decoding -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "Batches.h"
#include "Cores.h"
#include "Handles.h"
#include "attnrt/ranges.hpp"

#include <algorithm>

namespace attnrt {
namespace {

attnrt_session_options defaultDecoderOptions(const Model &model) {
  const attnrt_decode_options decoding = defaultDecodeOptions(model);
  attnrt_session_options options{};
  options.size = sizeof options;
  options.batch = 1;
  options.beam = hypothesesOf(decoding);
  options.source = static_cast<int32_t>(std::min<int64_t>(512, model.decoder().sourceLimit.value_or(512)));
  options.target = decoding.max_length;
  options.suppressed =
      std::max(16, static_cast<int32_t>(decoding.suppressed_count + decoding.begin_suppress_count +
                                        decoding.bad_words_count));
  options.uses = ATTNRT_USE_ALL;
  options.threads = 1;
  return options;
}

attnrt_session_options defaultEncoderOptions(const Model &model) {
  attnrt_session_options options{};
  options.size = sizeof options;
  options.batch = 1;
  options.source = static_cast<int32_t>(std::min<int64_t>(512, model.encoder().sourceLimit.value_or(512)));
  options.threads = 1;
  return options;
}

/// What a null stands for: the model's defaults, cut to what the session has room for.
attnrt_decode_options defaultOptionsOf(const Session &session) {
  attnrt_decode_options options = defaultDecodeOptions(session.model());
  options.max_length = std::min(options.max_length, session.capacity().target);
  options.min_length = std::min(options.min_length, options.max_length);
  return options;
}

attnrt_session_options defaultSessionOptions(const Model &model) {
  return model.manifest().encoder ? defaultEncoderOptions(model) : defaultDecoderOptions(model);
}

} // namespace
} // namespace attnrt

using namespace attnrt;

extern "C" {

int32_t attnrt_core_count(void) {
  int32_t cores = 1;
  guard([&] { cores = countCores(); });
  return cores;
}

attnrt_status attnrt_pool_create(int32_t threads, attnrt_pool **out) {
  return guard([&] {
    requirePointer(out, "out");
    *out = nullptr;
    *out = new attnrt_pool{makeThreadPool(threads)};
  });
}

attnrt_status attnrt_pool_create_on_host(attnrt_host_run run, void *user, attnrt_pool **out) {
  return guard([&] {
    requirePointer(out, "out");
    *out = nullptr;
    check(run != nullptr, ATTNRT_INVALID_ARGUMENT, "'run' is null");
    *out = new attnrt_pool{std::make_unique<HostExecutor>(run, user)};
  });
}

void attnrt_pool_destroy(attnrt_pool *pool) { delete pool; }

void attnrt_session_options_init(const attnrt_model *model, attnrt_session_options *options) {
  if (options)
    *options = {};
  if (options && model && (model->model->manifest().decoder || model->model->manifest().encoder))
    *options = defaultSessionOptions(*model->model);
}

attnrt_status attnrt_session_create(const attnrt_model *model, const attnrt_session_options *options,
                                    attnrt_session **out) {
  return guard([&] {
    requirePointer(out, "out");
    *out = nullptr;
    requirePointer(model, "model");
    attnrt_session_options chosen = readOptions(options, defaultSessionOptions(*model->model));
    Executor *executor = chosen.pool ? chosen.pool->executor.get() : nullptr;
    auto session = std::make_unique<attnrt_session>();
    if (model->model->manifest().encoder)
      session->encoder = std::make_unique<EncoderSession>(model->model, chosen, executor);
    else
      session->decoder = std::make_unique<Session>(model->model, chosen, executor);
    *out = session.release();
  });
}

void attnrt_session_destroy(attnrt_session *session) { delete session; }

attnrt_status attnrt_session_start_profile(attnrt_session *session) {
  return guard([&] {
    requirePointer(session, "session");
    const EntryCaller::Guard busy(session->caller());
    session->caller().kernelContext().startProfile(session->caller().model());
  });
}

attnrt_status attnrt_session_profile(const attnrt_session *session, size_t entry, size_t kernel,
                                     attnrt_kernel_profile *out) {
  return guard([&] {
    requirePointer(session, "session");
    requirePointer(out, "out");
    const EntryCaller::Guard busy(session->caller());
    const Manifest &manifest = session->caller().model().manifest();
    const KernelContext &context = session->caller().kernelContext();
    check(context.isProfiled(), ATTNRT_INVALID_ARGUMENT, "no profile was started");
    check(entry < manifest.entries.size() && kernel < manifest.kernelCount, ATTNRT_OUT_OF_RANGE,
          "the bundle has ", manifest.entries.size(), " entries and ", manifest.kernelCount, " kernels");
    *out = context.profile(entry, kernel);
  });
}

size_t attnrt_session_arena_bytes(const attnrt_session *session) {
  return session ? session->caller().arenaBytes() : 0;
}

size_t attnrt_session_state_bytes(const attnrt_session *session) {
  return session ? session->caller().stateBytes() : 0;
}

attnrt_status attnrt_cancel_create(attnrt_cancel **out) {
  return guard([&] {
    requirePointer(out, "out");
    *out = nullptr;
    *out = new attnrt_cancel{};
  });
}

void attnrt_cancel_trigger(attnrt_cancel *cancel) {
  if (cancel)
    cancel->flag.isSet = true;
}

void attnrt_cancel_destroy(attnrt_cancel *cancel) { delete cancel; }

void attnrt_decode_options_init(const attnrt_model *model, attnrt_decode_options *options) {
  if (options)
    *options = {};
  if (options && model && model->model->manifest().decoder)
    *options = defaultDecodeOptions(*model->model);
}

attnrt_status attnrt_make_batches(size_t count, const size_t *lengths, size_t max_sequences,
                                  size_t max_tokens, size_t *order, size_t *ends, size_t *batch_count) {
  return guard([&] {
    requirePointer(batch_count, "batch_count");
    *batch_count = 0;
    if (count == 0)
      return;
    requirePointer(lengths, "lengths");
    requirePointer(order, "order");
    requirePointer(ends, "ends");
    check(max_sequences > 0, ATTNRT_INVALID_ARGUMENT, "'max_sequences' is 0; a batch has 1 or more");
    *batch_count = makeBatches({lengths, count}, max_sequences, max_tokens, order, ends);
  });
}

attnrt_status attnrt_decode_options_check(const attnrt_model *model, size_t count,
                                          const attnrt_decode_options *options) {
  return guard([&] {
    requirePointer(model, "model");
    const auto chosen = readOptions(options, defaultDecodeOptions(*model->model));
    constexpr auto most = static_cast<size_t>(ranges::batch.high);
    check(count <= most, ATTNRT_OUT_OF_RANGE, "there are ", count, " sources, a session has room for ", most,
          " at most");
    if (chosen.prefixes)
      viewIds(count, chosen.prefixes, "prefixes");
    makeDecodeRules(*model->model, count, chosen);
  });
}

attnrt_status attnrt_decode(attnrt_session *session, size_t count, const attnrt_ids *sources,
                            const attnrt_decode_options *options, attnrt_result **out) {
  return guard([&] {
    requirePointer(out, "out");
    *out = nullptr;
    Session &decoder = decoderOf(session);
    const Session::Guard busy(decoder);
    const auto chosen = readOptions(options, defaultOptionsOf(decoder));
    const auto views = viewBatch(decoder, count, sources, "sources");
    if (chosen.prefixes)
      viewIds(count, chosen.prefixes, "prefixes");
    const CancelFlag *flag = chosen.cancel ? &chosen.cancel->flag : nullptr;
    *out = new attnrt_result{decode(decoder, views, chosen, flag)};
  });
}

size_t attnrt_result_count(const attnrt_result *result, size_t sentence) {
  return result && sentence < result->sentences.size() ? result->sentences[sentence].size() : 0;
}

attnrt_status attnrt_result_get(const attnrt_result *result, size_t sentence, size_t rank,
                                attnrt_hypothesis *out) {
  return guard([&] {
    requirePointer(result, "result");
    requirePointer(out, "out");
    check(rank < attnrt_result_count(result, sentence), ATTNRT_OUT_OF_RANGE, "there is no hypothesis ", rank,
          " of sentence ", sentence);
    const Hypothesis &hypothesis = result->sentences[sentence][rank];
    out->ids = {hypothesis.ids.size() - (hypothesis.ended ? 1 : 0), hypothesis.ids.data()};
    out->log_probabilities = hypothesis.logProbabilities.data();
    out->total = static_cast<float>(hypothesis.total);
    out->score = hypothesis.score;
    out->ended = hypothesis.ended;
  });
}

attnrt_status attnrt_result_attention(const attnrt_result *result, size_t sentence, size_t rank, size_t *rows,
                                      size_t *columns, const float **values) {
  return guard([&] {
    requirePointer(result, "result");
    requirePointer(rows, "rows");
    requirePointer(columns, "columns");
    requirePointer(values, "values");
    check(rank < attnrt_result_count(result, sentence), ATTNRT_OUT_OF_RANGE, "there is no hypothesis ", rank,
          " of sentence ", sentence);
    const Hypothesis &hypothesis = result->sentences[sentence][rank];
    check(!hypothesis.attention.empty() || hypothesis.ids.empty(), ATTNRT_INVALID_ARGUMENT,
          "'return_attention' was not set in the decode's options");
    *rows = hypothesis.ids.size();
    *columns = *rows > 0 ? hypothesis.attention.size() / *rows : 0;
    *values = hypothesis.attention.data();
  });
}

void attnrt_result_destroy(attnrt_result *result) { delete result; }

attnrt_status attnrt_score(attnrt_session *session, size_t count, const attnrt_ids *sources,
                           const attnrt_ids *targets, float *log_probabilities) {
  return guard([&] {
    Session &decoder = decoderOf(session);
    if (count > 0)
      requirePointer(log_probabilities, "log_probabilities");
    const Session::Guard busy(decoder);
    const auto sourceViews = viewBatch(decoder, count, sources, "sources");
    const auto targetViews = viewBatch(decoder, count, targets, "targets");
    if (count == 0)
      return;
    decoder.encode(sourceViews, 1, 1);
    for (const std::vector<float> &values : decoder.score(targetViews))
      log_probabilities = std::copy(values.begin(), values.end(), log_probabilities);
  });
}

attnrt_status attnrt_attend(attnrt_session *session, attnrt_ids source, attnrt_ids target, float *attention) {
  return guard([&] {
    Session &decoder = decoderOf(session);
    requirePointer(attention, "attention");
    const Session::Guard busy(decoder);
    const auto sources = viewIds(1, &source, "source"), targets = viewIds(1, &target, "target");
    decoder.encode(sources, 1, 1);
    const std::vector<float> values = decoder.attend(targets, sources)[0];
    std::copy(values.begin(), values.end(), attention);
  });
}

} // extern "C"
