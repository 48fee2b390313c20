//===- Golden.cpp - decodings recorded in a bundle, to be repeated anywhere ---===//
// SPDX-License-Identifier: Apache-2.0

#include "Golden.h"
#include "Decode.h"
#include "EncoderSession.h"
#include "Failure.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace attnrt {
namespace {

constexpr int caseCount = 3;
constexpr int32_t longestSource = 9, longestTarget = 12;

/// Room for every recorded case, whatever the manifest says: a case that does not fit is a failure of its
/// own.
attnrt_session_options makeCapacity(const Model &model) {
  attnrt_session_options options{};
  options.batch = caseCount;
  options.beam = 1;
  const DecoderInfo &decoder = model.decoder();
  int64_t sourceLimit = decoder.sourceLimit.value_or(longestSource);
  int64_t targetLimit = decoder.targetLimit.value_or(longestSource + longestTarget);
  if (!decoder.hasSource) { // prompt and output share the positions
    sourceLimit = (std::min(sourceLimit, targetLimit) + 1) / 2;
    targetLimit -= std::min<int64_t>(longestSource, sourceLimit) - 1;
  }
  options.source = static_cast<int32_t>(std::min<int64_t>(longestSource, sourceLimit));
  options.target = static_cast<int32_t>(std::min<int64_t>(longestTarget, targetLimit));
  options.uses = ATTNRT_USE_DECODE | ATTNRT_USE_SCORE;
  options.threads = 1;
  return options;
}

std::vector<attnrt_ids> view(const std::vector<std::vector<int32_t>> &lists) {
  std::vector<attnrt_ids> views;
  for (const auto &list : lists)
    views.push_back({list.size(), list.data()});
  return views;
}

/// Sources of different lengths whose ids are spread over the vocabulary.
std::vector<std::vector<int32_t>> makeSources(int32_t vocabulary, int32_t longest) {
  std::vector<std::vector<int32_t>> sources;
  for (int32_t i = 0; i < caseCount; ++i) {
    std::vector<int32_t> ids;
    for (int32_t k = 0; k < std::min(longest, 3 + 3 * i); ++k)
      ids.push_back(static_cast<int32_t>((int64_t(k + 1) * 7919 + int64_t(i) * 104729) % vocabulary));
    sources.push_back(std::move(ids));
  }
  return sources;
}

/// Greedy decodings of `sources`, with the log-probabilities that the entry `score` gives to them.
std::vector<GoldenCase> decodeCases(const std::shared_ptr<const Model> &model,
                                    const std::vector<std::vector<int32_t>> &sources) {
  Session session(model, makeCapacity(*model), nullptr);
  attnrt_decode_options options = plainDecodeOptions(*model);
  const int32_t longestScored = session.capacity().target - 1; // scoring adds the end token
  options.max_length = std::max(1, longestScored);
  std::vector<GoldenCase> cases;
  std::vector<std::vector<int32_t>> targets;
  for (const auto &lists : decode(session, view(sources), options, nullptr)) {
    const Hypothesis best = lists.empty() ? Hypothesis{} : lists.front();
    std::vector<int32_t> target(best.ids.begin(), best.ids.end() - (best.ended ? 1 : 0));
    target.resize(std::min(target.size(), static_cast<size_t>(longestScored)));
    targets.push_back(std::move(target));
    cases.push_back({sources[cases.size()], targets.back(), {}, best.ended, {}});
  }
  session.encode(view(sources), static_cast<int>(sources.size()), options.max_length);
  const auto scores = session.score(view(targets));
  for (size_t i = 0; i < cases.size(); ++i)
    cases[i].logProbabilities = scores[i];
  return cases;
}

constexpr int32_t recordedElements = 16, recordedCandidates = 4;

/// What the model gives for each source's last token: its hidden state's first elements, the best
/// predictions.
std::vector<GoldenCase> encodeCases(const std::shared_ptr<const Model> &model,
                                    const std::vector<std::vector<int32_t>> &sources) {
  attnrt_session_options room{};
  room.batch = static_cast<int32_t>(sources.size());
  room.source = 1;
  for (const auto &source : sources)
    room.source = std::max(room.source, static_cast<int32_t>(source.size()));
  room.threads = 1;
  EncoderSession session(model, room, nullptr);
  const std::vector<attnrt_ids> views = view(sources);
  const int64_t width = model->encoder().width;
  std::vector<float> hidden(sources.size() * room.source * width);
  session.encode({views, nullptr}, hidden.data(), nullptr);
  std::vector<GoldenCase> cases;
  int64_t end = 0;
  for (const auto &source : sources) {
    end += static_cast<int64_t>(source.size()) * width;
    const float *last = hidden.data() + end - width;
    cases.push_back({source, {}, {}, false, {last, last + std::min<int64_t>(width, recordedElements)}});
  }
  if (model->manifest().findEntry("predict") < 0)
    return cases;
  const int32_t count = std::min(recordedCandidates, model->encoder().vocabulary);
  for (size_t s = 0; s < cases.size(); ++s) {
    cases[s].target.resize(count);
    cases[s].logProbabilities.resize(count);
    const attnrt_place place{s, sources[s].size() - 1};
    session.predict({views, nullptr}, {&place, 1}, count, cases[s].target.data(),
                    cases[s].logProbabilities.data());
  }
  return cases;
}

std::vector<GoldenCase> computeCases(const std::shared_ptr<const Model> &model,
                                     const std::vector<std::vector<int32_t>> &sources) {
  return model->manifest().encoder ? encodeCases(model, sources) : decodeCases(model, sources);
}

/// How far answers may be from those that were recorded. Variants sum in different orders: some 1e-6 of the
/// logits' size. Damage is far larger.
struct Allowance {
  float absolute = 1e-3f, relative = 1e-4f;
  bool otherTokens = false;

  bool isClose(float wanted, float got) const {
    return std::fabs(wanted - got) <= absolute + relative * std::fabs(wanted);
  }
};

/// With small weights rows are rounded, and without them what attention multiplies may be: what is different
/// by 1e-6 can become different by a whole step, and a token that was as good as another takes its place.
Allowance allowanceOf(const Model &model) {
  const Manifest &manifest = model.manifest();
  const auto isSmall = [](const WeightInfo &weight) { return weight.elementBytes < int64_t(sizeof(float)); };
  const std::vector<WeightInfo> &weights = manifest.weights.tensors;
  const bool isRounded = manifest.mayRound || std::any_of(weights.begin(), weights.end(), isSmall);
  if (model.variant().name == manifest.golden.variant || !isRounded)
    return {};
  return {0.2f, 2e-2f, true};
}

/// Log-probabilities that answer the same question: up to the first token that differs, where both took the
/// best.
size_t countComparable(const GoldenCase &wanted, const GoldenCase &got) {
  const auto differs =
      std::mismatch(wanted.target.begin(), wanted.target.end(), got.target.begin(), got.target.end());
  const size_t same = static_cast<size_t>(differs.first - wanted.target.begin());
  return std::min({same + 1, wanted.logProbabilities.size(), got.logProbabilities.size()});
}

void compare(const GoldenCase &wanted, const GoldenCase &got, size_t number, const Allowance &allowed) {
  check(allowed.otherTokens || (wanted.target == got.target && wanted.ended == got.ended), ATTNRT_BAD_BUNDLE,
        "golden case ", number, " decodes to other tokens than recorded");
  for (size_t i = 0; i < countComparable(wanted, got); ++i)
    check(allowed.isClose(wanted.logProbabilities[i], got.logProbabilities[i]), ATTNRT_BAD_BUNDLE,
          "golden case ", number, ": the log-probability of token ", i, " is ", got.logProbabilities[i],
          ", recorded was ", wanted.logProbabilities[i]);
  check(wanted.hidden.size() == got.hidden.size(), ATTNRT_BAD_BUNDLE, "golden case ", number, " has ",
        wanted.hidden.size(), " elements of a hidden state, not ", got.hidden.size());
  for (size_t i = 0; i < wanted.hidden.size(); ++i)
    check(allowed.isClose(wanted.hidden[i], got.hidden[i]), ATTNRT_BAD_BUNDLE, "golden case ", number,
          ": element ", i, " of the last token is ", got.hidden[i], ", recorded was ", wanted.hidden[i]);
}

} // namespace

std::string recordGolden(const std::shared_ptr<const Model> &model) {
  nlohmann::ordered_json golden;
  golden["variant"] = model->variant().name;
  golden["cases"] = nlohmann::ordered_json::array();
  const std::optional<EncoderInfo> &encoder = model->manifest().encoder;
  const int32_t vocabulary = encoder ? encoder->vocabulary : model->decoder().sourceVocabulary;
  const auto longest = encoder ? static_cast<int32_t>(std::min<int64_t>(
                                     longestSource, encoder->sourceLimit.value_or(longestSource)))
                               : makeCapacity(*model).source;
  for (const GoldenCase &one : computeCases(model, makeSources(vocabulary, longest))) {
    nlohmann::ordered_json json = {{"source", one.source}};
    json[encoder ? "predicted" : "target"] = one.target;
    if (!encoder)
      json["ended"] = one.ended;
    json["log_probabilities"] = one.logProbabilities;
    if (encoder)
      json["hidden"] = one.hidden;
    golden["cases"].push_back(std::move(json));
  }
  return golden.dump();
}

void selfCheck(const std::shared_ptr<const Model> &model) {
  model->verify();
  const std::vector<GoldenCase> &recorded = model->manifest().golden.cases;
  if (recorded.empty())
    return;
  check(recorded.size() <= caseCount, ATTNRT_BAD_BUNDLE, "manifest.json: golden has more than ", caseCount,
        " cases");
  std::vector<std::vector<int32_t>> sources;
  for (const GoldenCase &one : recorded)
    sources.push_back(one.source);
  const std::vector<GoldenCase> got = computeCases(model, sources);
  for (size_t i = 0; i < recorded.size(); ++i)
    compare(recorded[i], got[i], i, allowanceOf(*model));
}

} // namespace attnrt
