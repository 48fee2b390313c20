//===- Golden.cpp - decodings recorded in a bundle, to be repeated anywhere ---===//
// SPDX-License-Identifier: Apache-2.0

#include "Golden.h"
#include "Decode.h"
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
  options.source = static_cast<int32_t>(
      std::min<int64_t>(longestSource, model.decoder().sourceLimit.value_or(longestSource)));
  options.target = static_cast<int32_t>(
      std::min<int64_t>(longestTarget, model.decoder().targetLimit.value_or(longestTarget)));
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
std::vector<std::vector<int32_t>> makeSources(const DecoderInfo &decoder, int32_t longest) {
  std::vector<std::vector<int32_t>> sources;
  for (int32_t i = 0; i < caseCount; ++i) {
    std::vector<int32_t> ids;
    for (int32_t k = 0; k < std::min(longest, 3 + 3 * i); ++k)
      ids.push_back(static_cast<int32_t>((int64_t(k + 1) * 7919 + i * 104729) % decoder.sourceVocabulary));
    sources.push_back(std::move(ids));
  }
  return sources;
}

/// Greedy decodings of `sources`, with the log-probabilities that the entry `score` gives to them.
std::vector<GoldenCase> decodeCases(const std::shared_ptr<const Model> &model,
                                    const std::vector<std::vector<int32_t>> &sources) {
  Session session(model, makeCapacity(*model), nullptr);
  attnrt_decode_options options = plainDecodeOptions(*model);
  options.max_length = session.capacity().target - 1; // scoring adds the end token
  check(options.max_length >= 1, ATTNRT_UNSUPPORTED, "the model's targets are too short to be checked");
  std::vector<GoldenCase> cases;
  std::vector<std::vector<int32_t>> targets;
  for (const auto &lists : decode(session, view(sources), options, nullptr)) {
    const Hypothesis best = lists.empty() ? Hypothesis{} : lists.front();
    targets.emplace_back(best.ids.begin(), best.ids.end() - (best.ended ? 1 : 0));
    cases.push_back({sources[cases.size()], targets.back(), {}, best.ended});
  }
  session.encode(view(sources), static_cast<int>(sources.size()), options.max_length);
  const auto scores = session.score(view(targets));
  for (size_t i = 0; i < cases.size(); ++i)
    cases[i].logProbabilities = scores[i];
  return cases;
}

void compare(const GoldenCase &wanted, const GoldenCase &got, size_t number) {
  check(wanted.target == got.target && wanted.ended == got.ended, ATTNRT_BAD_BUNDLE, "golden case ", number,
        " decodes to other tokens than recorded");
  for (size_t i = 0; i < wanted.logProbabilities.size(); ++i) {
    // Variants sum in different orders: some 1e-6 of the logits' size. Damage is far larger.
    const float tolerance = 1e-3f + 1e-4f * std::fabs(wanted.logProbabilities[i]);
    check(std::fabs(wanted.logProbabilities[i] - got.logProbabilities[i]) <= tolerance, ATTNRT_BAD_BUNDLE,
          "golden case ", number, ": the log-probability of token ", i, " is ", got.logProbabilities[i],
          ", recorded was ", wanted.logProbabilities[i]);
  }
}

} // namespace

std::string recordGolden(std::shared_ptr<const Model> model) {
  const int32_t longest = makeCapacity(*model).source;
  nlohmann::ordered_json golden;
  golden["variant"] = model->variant().name;
  golden["cases"] = nlohmann::ordered_json::array();
  for (const GoldenCase &one : decodeCases(model, makeSources(model->decoder(), longest)))
    golden["cases"].push_back({{"source", one.source},
                               {"target", one.target},
                               {"ended", one.ended},
                               {"log_probabilities", one.logProbabilities}});
  return golden.dump();
}

void selfCheck(std::shared_ptr<const Model> model) {
  model->weights().verify();
  const std::vector<GoldenCase> &recorded = model->manifest().golden.cases;
  if (recorded.empty())
    return;
  check(recorded.size() <= caseCount, ATTNRT_BAD_BUNDLE, "manifest.json: golden has more than ", caseCount,
        " cases");
  std::vector<std::vector<int32_t>> sources;
  for (const GoldenCase &one : recorded)
    sources.push_back(one.source);
  const std::vector<GoldenCase> got = decodeCases(model, sources);
  for (size_t i = 0; i < recorded.size(); ++i)
    compare(recorded[i], got[i], i);
}

} // namespace attnrt
