//===- Workload.cpp - requests to measure -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/driver/Workload.h"

#include <CLI/CLI.hpp>

#include <random>

namespace attnc {

static int noteTime(void *user, size_t sentence, size_t, int32_t) {
  auto &tokens = *static_cast<TokenTimes *>(user);
  if (sentence == 0)
    tokens.times.push_back(millisecondsSince(tokens.start));
  return 0;
}

Workload::Workload(const Model &model, const WorkloadSizes &sizes)
    : model(model), sizes(sizes), description(nlohmann::json::parse(model.manifest())),
      current(makeSession()), sources(makeSources()),
      hidden(size_t(sizes.batch) * sizes.sourceLength * model.width()) {}

std::vector<Ids> Workload::makeSources() const {
  const int32_t vocabulary = description["vocabulary"]["source"];
  std::mt19937 random(1);
  std::uniform_int_distribution<int32_t> anyId(0, vocabulary - 1);
  std::vector<Ids> all(sizes.batch, Ids(sizes.sourceLength));
  for (Ids &ids : all)
    for (int32_t &id : ids)
      id = anyId(random);
  return all;
}

Session Workload::makeSession() const {
  attnrt_session_options capacity = model.sessionOptions();
  capacity.batch = sizes.batch;
  capacity.beam = sizes.beam;
  capacity.source = sizes.sourceLength;
  capacity.target = sizes.targetLength;
  capacity.uses = ATTNRT_USE_DECODE | ATTNRT_USE_SAMPLE | ATTNRT_USE_ATTEND; // what the bundle's rules need
  capacity.threads = sizes.threads;
  try {
    return Session(model, capacity);
  } catch (const attnrt::api::Error &error) {
    if (error.status != ATTNRT_OUT_OF_RANGE)
      throw;
    throw CLI::ValidationError(error.what());
  }
}

void Workload::request(int length, TokenTimes *tokens) {
  if (isEncoder())
    encode();
  else
    decode(length, tokens);
}

void Workload::decode(int length, TokenTimes *tokens) {
  attnrt_decode_options decoding = model.decodeOptions();
  decoding.beam = sizes.beam;
  decoding.n_best = decoding.num_beam_groups = 1;
  decoding.sample = decoding.return_alternatives = 0;
  decoding.diversity_penalty = 0;
  decoding.forced_eos_token_id = -1; // or the last token would be the end token
  decoding.min_length = decoding.max_length = length;
  decoding.on_token = tokens ? noteTime : nullptr;
  decoding.user = tokens;
  hypotheses = current.decode(sources, decoding);
  for (const auto &nBest : hypotheses)
    if (nBest.empty() || nBest.front().ids.size() != static_cast<size_t>(length))
      throw CLI::ValidationError(
          "--target-length", "an output is shorter: the model gives no other tokens, or has no positions for "
                             "a prompt of --source-length tokens and what follows it");
}

void Workload::encode() {
  const std::vector<attnrt_ids> views = attnrt::api::view(sources);
  attnrt::api::check(
      attnrt_encode(current.handle(), views.size(), views.data(), nullptr, hidden.data(), nullptr));
}

std::vector<float> Workload::outputs() const {
  if (isEncoder())
    return hidden;
  std::vector<float> all;
  for (const auto &nBest : hypotheses)
    for (const attnrt::api::Hypothesis &hypothesis : nBest) {
      all.insert(all.end(), hypothesis.ids.begin(), hypothesis.ids.end()); // below 2^24: a float has them
      all.insert(all.end(), hypothesis.logProbabilities.begin(), hypothesis.logProbabilities.end());
    }
  return all;
}

} // namespace attnc
