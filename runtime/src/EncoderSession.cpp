//===- EncoderSession.cpp - sessions of encoders that stand alone ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "EncoderSession.h"
#include "Failure.h"
#include "attnrt/ranges.hpp"

#include <algorithm>
#include <limits>
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
  const int64_t mostPlaces =
      std::min<int64_t>(tokens, std::numeric_limits<int32_t>::max() / std::max(encoder.vocabulary, 1));
  const auto arenaFor = [&](int64_t together, int64_t longest, int64_t &mostRows) {
    return arenaForParts("encode", together, room.batch, longest, [&](int64_t count, int64_t length) {
      setSize(whole, "batch", count);
      setSize(whole, "source", length);
      mostRows = std::max(mostRows, count * length + count); // of tokens and of sentences
    });
  };
  int64_t mostRows = 0;
  const int64_t together = arenaFor(tokensTogether(), room.source, mostRows);
  const int64_t ofLane =
      arenaFor(tokensOfThread(), std::min<int64_t>(room.source, tokensOfLane()), rowsOfLane);
  setSize(whole, "batch", room.batch);
  setSize(whole, "source", room.source);
  setSize(whole, "row", mostPlaces);
  setSize(whole, "candidate", encoder.vocabulary);
  allocateArena(std::max({together, EntryCaller::arenaFor("predict"), EntryCaller::arenaFor("logits")}),
                ofLane, room.batch);
  state = Memory(owner->stateBytes(whole.sizes));
  mostRows = std::max(mostRows, rowsOfLane * static_cast<int64_t>(lanes.size()));
  results = Memory(mostRows * encoder.width * int64_t(sizeof(float)));
  ids.resize(tokens);
  types.resize(tokens);
  lengths.resize(room.batch);
  rows.resize(mostPlaces);
  logSums.resize(mostPlaces);
}

/// Sizes that no entry of the bundle needs are not there.
void EncoderSession::setSize(Lane &lane, const char *name, int64_t value) const {
  const int index = owner->manifest().findSize(name);
  if (index >= 0)
    lane.sizes[index] = value;
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

std::vector<void *> EncoderSession::place(const EncoderInput &input, const Part &part, Lane &lane) {
  const auto [numbers, longest, first, firstToken] = part;
  const bool hasTypes = owner->encoder().tokenTypes > 0;
  int32_t *partIds = ids.data() + firstToken, *partTypes = types.data() + firstToken;
  std::fill_n(partIds, numbers.size() * longest, owner->encoder().tokens.pad.value_or(0));
  std::fill_n(partTypes, hasTypes ? numbers.size() * longest : 0, 0);
  for (size_t row = 0; row < numbers.size(); ++row) {
    const attnrt_ids &source = input.sources[numbers[row]];
    std::copy_n(source.ids, source.count, partIds + row * longest);
    lengths[first + row] = static_cast<int32_t>(source.count);
    if (input.types)
      std::copy_n(input.types[numbers[row]].ids, source.count, partTypes + row * longest);
  }
  setSize(lane, "batch", static_cast<int64_t>(numbers.size()));
  setSize(lane, "source", static_cast<int64_t>(longest));
  std::vector<void *> tensors = {partIds, lengths.data() + first};
  if (hasTypes)
    tensors.push_back(partTypes);
  return tensors;
}

/// Rows of a buffer with `width` numbers each are copied once they are known to be numbers.
static void copyComputed(const float *rows, size_t count, float *to, const char *what) {
  checkComputed(std::span<const float>(rows, count), what);
  std::copy_n(rows, count, to);
}

static std::vector<size_t> sumsBefore(std::span<const size_t> numbers) {
  std::vector<size_t> before(numbers.size());
  std::exclusive_scan(numbers.begin(), numbers.end(), before.begin(), size_t{0});
  return before;
}

void EncoderSession::encodePart(const EncoderInput &input, const Part &part, Lane &lane,
                                const Outputs &outputs) {
  const EncoderInfo &encoder = owner->encoder();
  const size_t width = encoder.width;
  std::vector<void *> tensors = place(input, part, lane);
  float *padded = results.as<float>() + lane.number * rowsOfLane * width;
  float *firsts = padded + part.numbers.size() * part.longest * width;
  tensors.push_back(padded);
  if (encoder.hasPooler)
    tensors.push_back(firsts);
  callIn(lane, "encode", tensors);
  for (size_t row = 0; row < part.numbers.size(); ++row) {
    const size_t s = part.numbers[row];
    if (outputs.hidden)
      copyComputed(padded + row * part.longest * width, input.sources[s].count * width,
                   outputs.hidden + outputs.firstRow[s] * width, "hidden states");
    if (outputs.pooled)
      copyComputed(firsts + row * width, width, outputs.pooled + s * width, "pooled states");
  }
}

void EncoderSession::encode(const EncoderInput &input, float *hidden, float *pooled) {
  check(owner->encoder().hasPooler || !pooled, ATTNRT_UNSUPPORTED, "the model has no pooler");
  if (input.sources.empty())
    return;
  checkInput(input);
  std::vector<size_t> tokens, order(input.sources.size());
  for (const attnrt_ids &source : input.sources)
    tokens.push_back(source.count);
  const Outputs outputs{hidden, pooled, sumsBefore(tokens)};
  setSize(whole, "row", 1);
  setSize(whole, "candidate", 1);
  encodeByParts(tokens, order, [&](const Part &part, Lane &lane) { encodePart(input, part, lane, outputs); });
}

void EncoderSession::checkPlaces(const EncoderInput &input, std::span<const attnrt_place> places) const {
  check(places.size() <= rows.size(), ATTNRT_OUT_OF_RANGE, places.size(),
        " places are more than the session has room for (", rows.size(), ")");
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
  size_t longest = 0;
  for (const attnrt_ids &source : input.sources)
    longest = std::max(longest, source.count);
  std::vector<void *> tensors = place(input, {numbers, longest, 0, 0}, whole);
  for (size_t i = 0; i < places.size(); ++i)
    rows[i] = static_cast<int32_t>(places[i].sentence * longest + places[i].position);
  setSize(whole, "row", static_cast<int64_t>(places.size()));
  setSize(whole, "candidate", best ? count : 1);
  tensors.push_back(rows.data());
  tensors.push_back(logProbabilities);
  if (best) {
    tensors.push_back(best);
    call("predict", tensors);
    checkComputed(std::span<const float>(logProbabilities, places.size() * count), "probabilities");
    check(std::find_if(best, best + places.size() * count, [](int32_t id) { return id < 0; }) ==
              best + places.size() * count,
          ATTNRT_KERNEL_FAILED, "the model computed no best tokens: are its weights damaged?");
    return;
  }
  tensors.push_back(logSums.data());
  call("logits", tensors);
  checkComputed(std::span<const float>(logSums.data(), places.size()), "probabilities");
  for (size_t i = 0; i < places.size(); ++i, logProbabilities += encoder.vocabulary)
    for (int32_t token = 0; token < encoder.vocabulary; ++token)
      logProbabilities[token] -= logSums[i];
}

} // namespace attnrt
