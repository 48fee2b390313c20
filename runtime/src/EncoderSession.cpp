//===- EncoderSession.cpp - sessions of encoders that stand alone ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "EncoderSession.h"
#include "Failure.h"
#include "attnrt/ranges.hpp"

#include <algorithm>

namespace attnrt {

EncoderSession::EncoderSession(std::shared_ptr<const Model> model, const attnrt_session_options &options,
                               Executor *executor)
    : EntryCaller(std::move(model), options, executor) {
  const EncoderInfo &encoder = owner->encoder();
  requireRoom("batch", room.batch, static_cast<int64_t>(ranges::batch.high));
  requireRoom("source length", room.source,
              encoder.sourceLimit.value_or(static_cast<int64_t>(ranges::sessionLength.high)));
  const int64_t tokens = int64_t(room.batch) * room.source;
  setSize("batch", room.batch);
  setSize("source", room.source);
  setSize("row", tokens);
  setSize("candidate", encoder.vocabulary);
  arena = Memory(std::max({arenaFor("encode"), arenaFor("predict"), arenaFor("logits")}));
  state = Memory(owner->stateBytes(sizes));
  results = Memory((tokens + room.batch) * encoder.width * int64_t(sizeof(float)));
  ids.resize(tokens);
  types.resize(tokens);
  lengths.resize(room.batch);
  rows.resize(tokens);
  logSums.resize(tokens);
}

/// Sizes that no entry of the bundle needs are not there.
void EncoderSession::setSize(const char *name, int64_t value) {
  const int index = owner->manifest().findSize(name);
  if (index >= 0)
    sizes[index] = value;
}

int64_t EncoderSession::paddedLength(const EncoderInput &input) const {
  size_t longest = 0;
  for (const attnrt_ids &source : input.sources)
    longest = std::max(longest, source.count);
  return static_cast<int64_t>(longest);
}

void EncoderSession::placeTypes(const EncoderInput &input, size_t longest) {
  const int32_t count = owner->encoder().tokenTypes;
  check(count > 0 || !input.types, ATTNRT_UNSUPPORTED, "the model has no token types");
  std::fill_n(types.begin(), input.sources.size() * longest, 0);
  for (size_t s = 0; input.types && s < input.sources.size(); ++s) {
    const attnrt_ids &given = input.types[s];
    check(given.count == input.sources[s].count, ATTNRT_INVALID_ARGUMENT, "source ", s, " has ",
          input.sources[s].count, " tokens, but ", given.count, " token types");
    for (size_t i = 0; i < given.count; ++i)
      check(given.ids[i] >= 0 && given.ids[i] < count, ATTNRT_INVALID_ARGUMENT, "type ", i, " of source ", s,
            " is ", given.ids[i], ", but the model has ", count, " types");
    std::copy_n(given.ids, given.count, types.begin() + s * longest);
  }
}

std::vector<void *> EncoderSession::place(const EncoderInput &input) {
  checkSources(input.sources, owner->encoder().vocabulary);
  const size_t longest = paddedLength(input);
  std::fill_n(ids.begin(), input.sources.size() * longest, owner->encoder().tokens.pad.value_or(0));
  for (size_t s = 0; s < input.sources.size(); ++s) {
    std::copy_n(input.sources[s].ids, input.sources[s].count, ids.begin() + s * longest);
    lengths[s] = static_cast<int32_t>(input.sources[s].count);
  }
  placeTypes(input, longest);
  setSize("batch", static_cast<int64_t>(input.sources.size()));
  setSize("source", static_cast<int64_t>(longest));
  std::vector<void *> tensors = {ids.data(), lengths.data()};
  if (owner->encoder().tokenTypes > 0)
    tensors.push_back(types.data());
  return tensors;
}

void EncoderSession::encode(const EncoderInput &input, float *hidden, float *pooled) {
  const EncoderInfo &encoder = owner->encoder();
  check(encoder.hasPooler || !pooled, ATTNRT_UNSUPPORTED, "the model has no pooler");
  if (input.sources.empty())
    return;
  std::vector<void *> tensors = place(input);
  const int64_t longest = paddedLength(input), batch = static_cast<int64_t>(input.sources.size());
  setSize("row", 1);
  setSize("candidate", 1);
  float *padded = results.as<float>(), *firsts = padded + batch * longest * encoder.width;
  tensors.push_back(padded);
  if (encoder.hasPooler)
    tensors.push_back(firsts);
  call("encode", std::move(tensors));
  for (int64_t s = 0; hidden && s < batch; ++s) {
    const std::span<const float> states(padded + s * longest * encoder.width,
                                        size_t(lengths[s]) * encoder.width);
    checkComputed(states, "hidden states");
    hidden = std::copy(states.begin(), states.end(), hidden);
  }
  if (pooled) {
    checkComputed(std::span<const float>(firsts, batch * encoder.width), "pooled states");
    std::copy_n(firsts, batch * encoder.width, pooled);
  }
}

void EncoderSession::checkPlaces(const EncoderInput &input, std::span<const attnrt_place> places) const {
  check(places.size() <= rows.size(), ATTNRT_OUT_OF_RANGE, places.size(),
        " places are more than the session has room for tokens (", rows.size(), ")");
  for (size_t i = 0; i < places.size(); ++i)
    check(places[i].sentence < input.sources.size() &&
              places[i].position < input.sources[places[i].sentence].count,
          ATTNRT_OUT_OF_RANGE, "place ", i, " (sentence ", places[i].sentence, ", position ",
          places[i].position, ") is past the sources");
}

void EncoderSession::predict(const EncoderInput &input, std::span<const attnrt_place> places, int count,
                             int32_t *best, float *logProbabilities) {
  const EncoderInfo &encoder = owner->encoder();
  check(owner->manifest().findEntry("predict") >= 0, ATTNRT_UNSUPPORTED,
        "the model has no masked-token head");
  check(!best || (count >= 1 && count <= encoder.vocabulary), ATTNRT_OUT_OF_RANGE,
        "the candidates of a place must be from 1 to ", encoder.vocabulary, ", but are ", count);
  checkPlaces(input, places);
  if (places.empty())
    return;
  std::vector<void *> tensors = place(input);
  const int64_t longest = paddedLength(input);
  for (size_t i = 0; i < places.size(); ++i)
    rows[i] = static_cast<int32_t>(places[i].sentence * longest + places[i].position);
  setSize("row", static_cast<int64_t>(places.size()));
  setSize("candidate", best ? count : 1);
  tensors.push_back(rows.data());
  tensors.push_back(logProbabilities);
  if (best) {
    tensors.push_back(best);
    call("predict", std::move(tensors));
    checkComputed(std::span<const float>(logProbabilities, places.size() * count), "probabilities");
    check(std::find_if(best, best + places.size() * count, [](int32_t id) { return id < 0; }) ==
              best + places.size() * count,
          ATTNRT_KERNEL_FAILED, "the model computed no best tokens: are its weights damaged?");
    return;
  }
  tensors.push_back(logSums.data());
  call("logits", std::move(tensors));
  checkComputed(std::span<const float>(logSums.data(), places.size()), "probabilities");
  for (size_t i = 0; i < places.size(); ++i, logProbabilities += encoder.vocabulary)
    for (int32_t token = 0; token < encoder.vocabulary; ++token)
      logProbabilities[token] -= logSums[i];
}

} // namespace attnrt
