//===- EncoderSession.cpp - sessions of encoders that stand alone ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "EncoderSession.h"
#include "Batches.h"
#include "Failure.h"
#include "attnrt/ranges.hpp"

#include <algorithm>
#include <numeric>

namespace attnrt {

EncoderSession::EncoderSession(std::shared_ptr<const Model> model, const attnrt_session_options &options,
                               Executor *executor)
    : EntryCaller(std::move(model), options, executor) {
  const EncoderInfo &encoder = owner->encoder();
  requireRoom("batch", room.batch, static_cast<int64_t>(ranges::batch.high));
  requireRoom("source length", room.source,
              encoder.sourceLimit.value_or(static_cast<int64_t>(ranges::sessionLength.high)));
  const int64_t tokens = int64_t(room.batch) * room.source;
  int64_t mostRows = 0; // that are encoded together: of tokens and of sentences
  const int64_t together =
      arenaForParts("encode", room.batch, room.source, [&](int64_t count, int64_t length) {
        setSize("batch", count);
        setSize("source", length);
        mostRows = std::max(mostRows, count * length + count);
      });
  setSize("batch", room.batch);
  setSize("source", room.source);
  setSize("row", tokens);
  setSize("candidate", encoder.vocabulary);
  arena = Memory(std::max({together, arenaFor("predict"), arenaFor("logits")}));
  state = Memory(owner->stateBytes(sizes));
  results = Memory(mostRows * encoder.width * int64_t(sizeof(float)));
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

void EncoderSession::checkTypes(const EncoderInput &input) const {
  const int32_t count = owner->encoder().tokenTypes;
  check(count > 0 || !input.types, ATTNRT_UNSUPPORTED, "the model has no token types");
  for (size_t s = 0; input.types && s < input.sources.size(); ++s) {
    const attnrt_ids &given = input.types[s];
    check(given.count == input.sources[s].count, ATTNRT_INVALID_ARGUMENT, "source ", s, " has ",
          input.sources[s].count, " tokens, but ", given.count, " token types");
    for (size_t i = 0; i < given.count; ++i)
      check(given.ids[i] >= 0 && given.ids[i] < count, ATTNRT_INVALID_ARGUMENT, "type ", i, " of source ", s,
            " is ", given.ids[i], ", but the model has ", count, " types");
  }
}

void EncoderSession::checkInput(const EncoderInput &input) const {
  checkSources(input.sources, owner->encoder().vocabulary);
  checkTypes(input);
}

std::vector<void *> EncoderSession::place(const EncoderInput &input, std::span<const size_t> numbers) {
  const bool hasTypes = owner->encoder().tokenTypes > 0;
  size_t longest = 0;
  for (const size_t number : numbers)
    longest = std::max(longest, input.sources[number].count);
  std::fill_n(ids.begin(), numbers.size() * longest, owner->encoder().tokens.pad.value_or(0));
  std::fill_n(types.begin(), hasTypes ? numbers.size() * longest : 0, 0);
  for (size_t row = 0; row < numbers.size(); ++row) {
    const attnrt_ids &source = input.sources[numbers[row]];
    std::copy_n(source.ids, source.count, ids.begin() + row * longest);
    lengths[row] = static_cast<int32_t>(source.count);
    if (input.types)
      std::copy_n(input.types[numbers[row]].ids, source.count, types.begin() + row * longest);
  }
  setSize("batch", static_cast<int64_t>(numbers.size()));
  setSize("source", static_cast<int64_t>(longest));
  std::vector<void *> tensors = {ids.data(), lengths.data()};
  if (hasTypes)
    tensors.push_back(types.data());
  return tensors;
}

/// Rows of a buffer with `width` numbers each are copied once they are known to be numbers.
static void copyComputed(const float *rows, size_t count, float *to, const char *what) {
  checkComputed(std::span<const float>(rows, count), what);
  std::copy_n(rows, count, to);
}

void EncoderSession::encode(const EncoderInput &input, float *hidden, float *pooled) {
  const EncoderInfo &encoder = owner->encoder();
  check(encoder.hasPooler || !pooled, ATTNRT_UNSUPPORTED, "the model has no pooler");
  if (input.sources.empty())
    return;
  checkInput(input);
  const size_t count = input.sources.size(), width = encoder.width;
  std::vector<size_t> tokens(count), before(count), order(count), ends(count);
  for (size_t s = 0; s < count; ++s)
    tokens[s] = input.sources[s].count;
  std::exclusive_scan(tokens.begin(), tokens.end(), before.begin(), size_t{0});
  const size_t parts = makeBatches(tokens, room.batch, tokensTogether(), order.data(), ends.data());
  setSize("row", 1);
  setSize("candidate", 1);
  for (size_t part = 0, begin = 0; part < parts; begin = ends[part++]) {
    const std::span<const size_t> numbers(order.data() + begin, ends[part] - begin);
    std::vector<void *> tensors = place(input, numbers);
    const size_t longest = tokens[numbers.back()];
    float *padded = results.as<float>(), *firsts = padded + numbers.size() * longest * width;
    tensors.push_back(padded);
    if (encoder.hasPooler)
      tensors.push_back(firsts);
    call("encode", std::move(tensors));
    for (size_t row = 0; row < numbers.size(); ++row) {
      const size_t s = numbers[row];
      if (hidden)
        copyComputed(padded + row * longest * width, tokens[s] * width, hidden + before[s] * width,
                     "hidden states");
      if (pooled)
        copyComputed(firsts + row * width, width, pooled + s * width, "pooled states");
    }
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
  checkInput(input);
  checkPlaces(input, places);
  if (places.empty())
    return;
  std::vector<size_t> numbers(input.sources.size());
  std::iota(numbers.begin(), numbers.end(), size_t{0});
  std::vector<void *> tensors = place(input, numbers);
  size_t longest = 0;
  for (const attnrt_ids &source : input.sources)
    longest = std::max(longest, source.count);
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
