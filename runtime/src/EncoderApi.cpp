//===- EncoderApi.cpp - the C interface: encoders that stand alone -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "Handles.h"

using namespace attnrt;

static EncoderInput readInput(const EncoderSession &encoder, size_t count, const attnrt_ids *sources,
                              const attnrt_ids *types) {
  const auto views = viewBatch(encoder, count, sources, "sources");
  if (types)
    viewIds(count, types, "types");
  return {views, types};
}

extern "C" {

size_t attnrt_model_width(const attnrt_model *model) {
  return model && model->model->manifest().encoder ? model->model->encoder().width : 0;
}

attnrt_status attnrt_encode(attnrt_session *session, size_t count, const attnrt_ids *sources,
                            const attnrt_ids *types, float *hidden, float *pooled) {
  return guard([&] {
    EncoderSession &encoder = encoderOf(session);
    const EncoderSession::Guard busy(encoder);
    encoder.encode(readInput(encoder, count, sources, types), hidden, pooled);
  });
}

attnrt_status attnrt_predict(attnrt_session *session, size_t count, const attnrt_ids *sources,
                             const attnrt_ids *types, const attnrt_places *places, int32_t candidates,
                             int32_t *ids, float *log_probabilities) {
  return guard([&] {
    EncoderSession &encoder = encoderOf(session);
    requirePointer(places, "places");
    if (places->count > 0) {
      requirePointer(places->places, "places->places");
      requirePointer(log_probabilities, "log_probabilities");
    }
    const EncoderSession::Guard busy(encoder);
    encoder.predict(readInput(encoder, count, sources, types), {places->places, places->count}, candidates,
                    ids, log_probabilities);
  });
}

} // extern "C"
