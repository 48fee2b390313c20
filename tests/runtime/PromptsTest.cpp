//===- PromptsTest.cpp - models without a source continue prompts -------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ToyBundle.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

namespace {

using toy::Ids;

/// Prompts of different lengths; the first step reads the last token of each.
const std::vector<Ids> prompts{{3, 4, 5, 3}, {6}, {5, 5}, {4, 3, 6, 6, 5, 4, 3}};

class Prompts : public testing::Test {
protected:
  Prompts() {
    toy::resetTrace();
    const std::string text = toy::sealed(toy::promptManifest().dump(1));
    folder.write("manifest.json", text);
    attnrt::api::check(attnrt_manifest_hash(text.size(), text.data(), hash));
    descriptor = toy::promptDescriptor(hash);
    model.emplace(&descriptor, folder.path());
  }

  attnrt::api::Session session(int threads = 1) const {
    attnrt_session_options options = model->sessionOptions();
    options.batch = 4;
    options.source = 8;
    options.target = 6;
    options.threads = threads;
    return {*model, options};
  }

  char hash[33];
  attnrt_descriptor descriptor;
  toy::Folder folder;
  std::optional<attnrt::api::Model> model;
};

/// The most probable tokens one after the other, up to the end token.
Ids continued(Ids history, size_t most) {
  const size_t first = history.size();
  while (history.size() < first + most && (history.size() == first || history.back() != toy::end)) {
    const std::vector<float> next = toy::nextLogProbabilities(history);
    history.push_back(static_cast<int32_t>(std::max_element(next.begin(), next.end()) - next.begin()));
  }
  if (history.back() == toy::end)
    history.pop_back();
  return Ids(history.begin() + static_cast<ptrdiff_t>(first), history.end());
}

TEST_F(Prompts, AreContinuedByTheMostProbableTokens) {
  for (int threads : {1, 3}) {
    attnrt_decode_options options = model->decodeOptions();
    options.max_length = 6;
    const auto results = session(threads).decode(prompts, options);
    ASSERT_EQ(prompts.size(), results.size());
    for (size_t s = 0; s < prompts.size(); ++s)
      EXPECT_EQ(continued(prompts[s], 6), results[s][0].ids)
          << "prompt " << s << ", " << threads << " threads";
  }
}

TEST_F(Prompts, ScoresFollowThePrompt) {
  const std::vector<Ids> targets{{3, 5}, {4}, {}, {6, 6, 3}};
  const auto scores = session().score(prompts, targets);
  for (size_t s = 0; s < prompts.size(); ++s) {
    Ids history = prompts[s];
    for (size_t t = 0; t <= targets[s].size(); ++t) {
      const int32_t label = t < targets[s].size() ? targets[s][t] : toy::end;
      EXPECT_FLOAT_EQ(toy::nextLogProbabilities(history)[label], scores[s][t]) << s << " " << t;
      history.push_back(label);
    }
  }
}

/// There is no source to look at.
TEST_F(Prompts, HaveNoAttention) {
  try {
    session().attend({3, 4}, {3});
    FAIL() << "attention of a model without a source";
  } catch (const attnrt::api::Error &error) {
    EXPECT_EQ(ATTNRT_UNSUPPORTED, error.status);
    EXPECT_STREQ("the bundle has no entry 'attend'", error.what());
  }
}

} // namespace
