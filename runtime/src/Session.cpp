//===- Session.cpp - one model's entries and the memory they work in ---------===//
// SPDX-License-Identifier: Apache-2.0

#include "Session.h"
#include "Failure.h"
#include "attnrt/ranges.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

namespace attnrt {

Session::Session(std::shared_ptr<const Model> model, const attnrt_session_options &options,
                 Executor *executor)
    : EntryCaller(std::move(model), options, executor) {
  const DecoderInfo &decoder = owner->decoder();
  requireRoom("batch", room.batch, static_cast<int64_t>(ranges::batch.high));
  constexpr auto longest = static_cast<int64_t>(ranges::sessionLength.high);
  requireRoom("beam", room.beam, static_cast<int64_t>(ranges::beam.high));
  requireRoom("source length", room.source, decoder.sourceLimit.value_or(longest));
  requireRoom("target length", room.target, decoder.targetLimit.value_or(longest));
  check(ranges::suppressed.holds(room.suppressed), ATTNRT_OUT_OF_RANGE,
        "a session's 'suppressed' must be from 0 to ", ranges::suppressed.high, ", but is ", room.suppressed);
  check((room.uses & ~static_cast<uint32_t>(ATTNRT_USE_ALL)) == 0, ATTNRT_INVALID_ARGUMENT, "unknown uses ",
        room.uses);
  check(room.uses != 0, ATTNRT_INVALID_ARGUMENT, "'uses' is 0: the session could do nothing");
  allocate();
}

void Session::resolve() {
  for (const char *name : {"batch", "candidate", "capacity", "history", "row", "slot", "target"})
    places.push_back(owner->manifest().findSize(name));
  sourcePlace = owner->manifest().findSize("source");
  partPlace = owner->manifest().findSize("part");
  firstPlace = owner->manifest().findSize("first");
  lengthPlace = owner->manifest().findSize("length");
}

int64_t Session::arenaFor(uint32_t use, const char *entry) const {
  return room.uses & use ? EntryCaller::arenaFor(entry) : 0;
}

int64_t Session::arenaForEncoding(int64_t tokens, int64_t longest) {
  const auto setSizes = [&](int64_t part, int64_t length) {
    whole.sizes[partPlace] = part;
    whole.sizes[lengthPlace] = length;
  };
  return arenaForParts(hasPrompts() ? "prefill" : "encode", tokens, room.batch, longest, setSizes);
}

void Session::allocate() {
  resolve();
  const int64_t slots = int64_t(room.batch) * room.beam;
  const int64_t vocabulary = owner->decoder().targetVocabulary;
  size(Batch) = room.batch;
  setSource(room.source);
  size(Slot) = size(Row) = slots;
  size(Capacity) = size(History) = size(Target) = mostPositions();
  size(Candidate) = mostCandidates();

  const bool hasParts = partPlace >= 0;
  const int64_t encoding =
      hasParts ? arenaForEncoding(tokensTogether(), room.source) : EntryCaller::arenaFor("encode");
  allocateArena(
      std::max({encoding, arenaFor(ATTNRT_USE_DECODE, "step"), arenaFor(ATTNRT_USE_SAMPLE, "logits"),
                arenaFor(ATTNRT_USE_SCORE, "score"), arenaFor(ATTNRT_USE_ATTEND, "attend")}),
      hasParts ? arenaForEncoding(tokensOfThread(), std::min<int64_t>(room.source, tokensOfLane())) : 0,
      room.batch);
  state = Memory(owner->stateBytes(whole.sizes));
  int64_t resultCount = std::max(slots * size(Candidate), int64_t(room.batch) * mostPositions());
  if (room.uses & ATTNRT_USE_SAMPLE)
    resultCount = std::max(resultCount, slots * vocabulary);
  results = Memory(resultCount * int64_t(sizeof(float)));

  sourceIds.resize(size_t(room.batch) * room.source);
  promptStarts.resize(hasPrompts() ? room.batch : 0);
  sourceLengths.resize(room.batch);
  stateRows.resize(room.batch);
  ids.resize(slots);
  positions.resize(slots);
  nextPositions.resize(slots);
  sentences.resize(slots);
  ancestors = Memory(slots * mostPositions() * int64_t(sizeof(int32_t)));
  nextAncestors = Memory(slots * mostPositions() * int64_t(sizeof(int32_t)));
  candidateIds = Memory(slots * size(Candidate) * int64_t(sizeof(int32_t)));
  logSums.resize(slots);
  promptSlots.reserve(slots);
  request.reserve(room.batch);
  targetIds.resize(room.batch * mostPositions());
  labels.resize(room.batch * mostPositions());
}

void Session::requireUse(uint32_t use, const char *entry) const {
  const char *name = use == ATTNRT_USE_DECODE   ? "ATTNRT_USE_DECODE"
                     : use == ATTNRT_USE_SAMPLE ? "ATTNRT_USE_SAMPLE"
                     : use == ATTNRT_USE_SCORE  ? "ATTNRT_USE_SCORE"
                                                : "ATTNRT_USE_ATTEND";
  check((room.uses & use) != 0, ATTNRT_INVALID_ARGUMENT, "the session was created without ", name);
  findEntry(entry);
}

void Session::callFor(uint32_t use, const char *entry, const std::vector<void *> &tensors) {
  requireUse(use, entry);
  call(entry, tensors);
}

/// The caller's tokens, with padding behind them: all of a source, but the last one of a prompt, which the
/// first step reads.
void Session::placePart(const Part &part) {
  const DecoderInfo &decoder = owner->decoder();
  const int32_t wanted = decoder.tokens.pad.value_or(0);
  const int32_t pad = wanted < decoder.sourceVocabulary ? wanted : 0;
  for (size_t number = 0; number < part.numbers.size(); ++number) {
    const size_t sentence = part.numbers[number], count = encodedTokens(request[sentence]);
    int32_t *row = sourceIds.data() + part.firstToken + number * part.longest;
    std::copy_n(request[sentence].ids, count, row);
    std::fill(row + count, row + part.longest, pad);
    sourceLengths[part.first + number] = static_cast<int32_t>(request[sentence].count);
    stateRows[sentence] = static_cast<int32_t>(part.first + number);
  }
}

void Session::encode(std::span<const attnrt_ids> sources, int slots, int lastPosition) {
  checkSources(sources, owner->decoder().sourceVocabulary);
  request.assign(sources.begin(), sources.end());
  size_t longest = 0;
  for (const attnrt_ids &source : sources)
    longest = std::max(longest, source.count);
  size(Batch) = static_cast<int64_t>(sources.size());
  setSource(static_cast<int64_t>(longest));
  starts.assign(sources.size(), owner->decoder().tokens.start);
  size(Slot) = size(Row) = slots;
  size(Capacity) = hasPrompts() ? positionsOf(static_cast<int64_t>(longest) - 1 + lastPosition)
                                : lastPosition; // the last token's successor is not read again
  size(History) = size(Target) = size(Candidate) = 1;
  std::iota(stateRows.begin(), stateRows.begin() + sources.size(), 0);
  if (hasPrompts())
    return; // they are read when decoding begins
  if (partPlace >= 0)
    return encodeParts();
  std::vector<size_t> all(sources.size());
  std::iota(all.begin(), all.end(), size_t{0});
  placePart({all, longest, 0, 0});
  call("encode", {sourceIds.data(), sourceLengths.data()});
}

/// Sentences of similar length together; states have room for the longest.
void Session::encodeParts() {
  std::vector<size_t> lengths, order(request.size());
  for (const attnrt_ids &source : request)
    lengths.push_back(encodedTokens(source));
  encodeByParts(lengths, order, [&](const Part &part, Lane &lane) {
    placePart(part);
    lane.sizes[firstPlace] = static_cast<int64_t>(part.first);
    lane.sizes[partPlace] = static_cast<int64_t>(part.numbers.size());
    lane.sizes[lengthPlace] = static_cast<int64_t>(part.longest);
    int32_t *ids = sourceIds.data() + part.firstToken;
    if (!hasPrompts())
      callIn(lane, "encode", {ids, sourceLengths.data() + part.first});
    else if (part.longest > 0)
      callIn(lane, "prefill", {ids, promptStarts.data()});
  });
}

void Session::startRows() {
  const int count = static_cast<int>(size(Batch));
  liveSlots.resize(count);
  stepRows = count;
  size(History) = 1;
  if (hasPrompts()) {
    encodeParts();
    promptSlots.begin(stateRows, count, static_cast<int>(size(Slot)) / count);
  }
  for (int row = 0; row < count; ++row) {
    const int slot = hasPrompts() ? promptSlots.of(row, 0) : row;
    const int length = hasPrompts() ? static_cast<int>(request[row].count) : 1;
    liveSlots[row] = slot;
    ids[slot] = hasPrompts() ? request[row].ids[length - 1] : starts[row];
    positions[slot] = length - 1;
    sentences[slot] = stateRows[row];
    std::fill_n(ancestors.as<int32_t>() + slot * size(Capacity), size(Capacity), slot);
    size(History) = std::max<int64_t>(size(History), length);
  }
}

/// Those that have no row any more.
void Session::endSentences(const std::vector<StepRow> &next) {
  for (int sentence = 0; sentence < size(Batch); ++sentence)
    if (promptSlots.isLive(sentence) &&
        !std::ranges::binary_search(next, sentence, std::less(), &StepRow::sentence))
      promptSlots.end(sentence);
}

/// With a source all rows are at one position, so live rows stand side by side. Slots of prompts whose
/// sentence needs fewer now are rows whose results nobody reads, at position 0, where only prompts' slots
/// are read.
void Session::placeRows(const std::vector<StepRow> &next) {
  liveSlots.resize(next.size());
  stepRows = 0;
  if (hasPrompts())
    endSentences(next);
  int rank = 0; // among the sentence's rows
  for (size_t row = 0; row < next.size(); ++row) {
    rank = row > 0 && next[row - 1].sentence == next[row].sentence ? rank + 1 : 0;
    liveSlots[row] = hasPrompts() ? promptSlots.of(next[row].sentence, rank) : static_cast<int>(row);
    stepRows = std::max(stepRows, liveSlots[row] + 1);
  }
}

void Session::moveRows(const std::vector<StepRow> &next) {
  const int64_t capacity = size(Capacity);
  parentSlots.swap(liveSlots);
  placeRows(next);
  std::fill_n(ids.begin(), stepRows, 0);
  std::fill_n(sentences.begin(), stepRows, 0);
  std::fill_n(nextPositions.begin(), stepRows, 0);
  size(History) = 1;
  for (const StepRow &row : next)
    size(History) = std::max<int64_t>(size(History), positions[parentSlots[row.parent]] + 2);
  for (int64_t slot = 0; slot < stepRows; ++slot) // no more are read
    std::fill_n(nextAncestors.as<int32_t>() + slot * capacity, size(History), static_cast<int32_t>(slot));
  for (size_t row = 0; row < next.size(); ++row) {
    const int slot = liveSlots[row], parent = parentSlots[next[row].parent];
    const int32_t position = positions[parent] + 1;
    std::copy_n(ancestors.as<int32_t>() + parent * capacity, position,
                nextAncestors.as<int32_t>() + slot * capacity);
    ids[slot] = next[row].id;
    sentences[slot] = stateRows[next[row].sentence];
    nextPositions[slot] = position;
  }
  std::swap(ancestors, nextAncestors);
  positions.swap(nextPositions);
}

void Session::placeStepArguments() {
  size(Row) = stepRows;
  if (hasPrompts())
    stepTensors = {ids.data(), positions.data(), ancestors.data()};
  else
    stepTensors = {ids.data(), positions.data(), sentences.data(), ancestors.data(), sourceLengths.data()};
}

int64_t Session::positionsOf(int64_t wanted) const {
  return std::min(wanted, owner->decoder().targetLimit.value_or(wanted));
}

int64_t Session::mostPositions() const {
  return positionsOf(int64_t(room.target) + (hasPrompts() ? room.source : 0));
}

void Session::setSource(int64_t longest) {
  if (sourcePlace >= 0)
    whole.sizes[sourcePlace] = longest;
}

/// As many as the beam has hypotheses, the end tokens, and those that may turn out to be forbidden (the end
/// tokens among them).
int Session::mostCandidates() const {
  const int64_t ends = owner->decoder().tokens.ends.size();
  const int64_t wanted = room.beam + ends + room.suppressed + ends;
  return static_cast<int>(std::min<int64_t>(owner->decoder().targetVocabulary, wanted));
}

void Session::step(int count) {
  placeStepArguments();
  size(Candidate) = count;
  stepTensors.push_back(results.data());
  stepTensors.push_back(candidateIds.data());
  callFor(ATTNRT_USE_DECODE, "step", stepTensors);
}

void Session::logits() {
  placeStepArguments();
  stepTensors.push_back(results.data());
  stepTensors.push_back(logSums.data());
  callFor(ATTNRT_USE_SAMPLE, "logits", stepTensors);
}

/// The position whose token the target's first one follows: the prompt's last one, or the start token.
size_t Session::firstLabel(size_t sentence) const { return hasPrompts() ? request[sentence].count - 1 : 0; }

int Session::placeTargets(std::span<const attnrt_ids> targets, size_t ends) {
  check(targets.size() == static_cast<size_t>(size(Batch)), ATTNRT_INTERNAL,
        "targets and sources differ in number");
  const DecoderInfo &decoder = owner->decoder();
  size_t longest = 0;
  for (size_t t = 0; t < targets.size(); ++t) {
    // Before any is read, and with no sum that a count of SIZE_MAX would overflow.
    check(targets[t].count <= room.target - ends, ATTNRT_OUT_OF_RANGE, "target ", t, " has ",
          targets[t].count, " tokens", ends ? " and the end token" : "", ", the session has room for ",
          room.target);
    longest = std::max(longest, firstLabel(t) + std::max<size_t>(targets[t].count + ends, 1));
    for (size_t i = 0; i < targets[t].count; ++i)
      check(targets[t].ids[i] >= 0 && targets[t].ids[i] < decoder.targetVocabulary, ATTNRT_INVALID_ARGUMENT,
            "token ", i, " of target ", t, " is ", targets[t].ids[i], ", but the vocabulary's ids are 0 to ",
            decoder.targetVocabulary - 1);
  }
  check(longest <= static_cast<size_t>(mostPositions()), ATTNRT_OUT_OF_RANGE,
        "a prompt and what follows it have ", longest, " tokens, the model has positions for ",
        mostPositions());
  const int32_t pad = decoder.tokens.pad.value_or(decoder.tokens.ends.front());
  for (size_t t = 0; t < targets.size(); ++t) {
    int32_t *input = targetIds.data() + stateRows[t] * longest,
            *label = labels.data() + stateRows[t] * longest;
    std::fill_n(input, longest, pad);
    std::fill_n(label, longest, pad);
    if (hasPrompts())
      std::copy_n(request[t].ids, request[t].count, input);
    else
      input[0] = starts[t];
    const size_t first = firstLabel(t), count = targets[t].count;
    std::copy_n(targets[t].ids, std::min(count, longest - first - 1), input + first + 1);
    std::copy_n(targets[t].ids, count, label + first);
    std::fill_n(label + first + count, ends, decoder.tokens.ends.front());
  }
  return static_cast<int>(longest);
}

std::vector<std::vector<float>> Session::score(std::span<const attnrt_ids> targets, bool withEnd) {
  const size_t ends = withEnd ? 1 : 0;
  const int longest = placeTargets(targets, ends);
  size(Target) = longest;
  std::vector<void *> tensors = {targetIds.data(), labels.data()};
  if (!hasPrompts())
    tensors.push_back(sourceLengths.data());
  tensors.push_back(results.data());
  callFor(ATTNRT_USE_SCORE, "score", tensors);
  std::vector<std::vector<float>> all;
  for (size_t t = 0; t < targets.size(); ++t) {
    const float *first = results.as<float>() + stateRows[t] * longest + firstLabel(t);
    all.emplace_back(first, first + targets[t].count + ends);
    checkComputed(all.back(), "probabilities");
  }
  return all;
}

std::vector<std::vector<float>> Session::attend(std::span<const attnrt_ids> targets,
                                                std::span<const attnrt_ids> sources) {
  requireUse(ATTNRT_USE_ATTEND, "attend"); // only models with a source have it
  const size_t longest = placeTargets(targets, 1), padded = whole.sizes[sourcePlace];
  size(Target) = static_cast<int64_t>(longest);
  std::vector<float> all(targets.size() * longest * padded); // batch x target x source
  callFor(ATTNRT_USE_ATTEND, "attend", {targetIds.data(), sourceLengths.data(), all.data()});
  std::vector<std::vector<float>> lists(targets.size());
  for (size_t s = 0; s < targets.size(); ++s)
    for (size_t t = 0; t <= targets[s].count; ++t) {
      const float *row = all.data() + (stateRows[s] * longest + t) * padded;
      lists[s].insert(lists[s].end(), row, row + sources[s].count);
    }
  return lists;
}

} // namespace attnrt
