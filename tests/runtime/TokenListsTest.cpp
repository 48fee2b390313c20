//===- TokenListsTest.cpp - several end tokens, and languages ------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The toy bundle with other tokens in its manifest: its answers follow from the model's probabilities alone.

#include "ToyFixture.h"

#include <algorithm>
#include <functional>

namespace {

using toy::Ids;
using toy::testSources;

/// The toy's folder with a changed manifest, trusted by the descriptor.
class TokenLists : public toy::Fixture {
protected:
  attnrt::api::Model load(const std::function<void(nlohmann::ordered_json &)> &change) {
    nlohmann::ordered_json manifest = toy::manifest();
    change(manifest["tokens"]);
    const std::string text = toy::sealed(manifest.dump(1));
    folder.write("manifest.json", text);
    EXPECT_EQ(ATTNRT_OK, attnrt_manifest_hash(text.size(), text.data(), hash));
    trusting = toy::withHash(hash);
    return {&trusting, folder.path()};
  }

  static std::vector<std::vector<attnrt::api::Hypothesis>> decode(const attnrt::api::Model &model,
                                                                  const attnrt_decode_options &options) {
    attnrt_session_options room = model.sessionOptions();
    room.batch = static_cast<int32_t>(testSources().size());
    room.beam = options.beam;
    room.source = 16;
    room.target = 12;
    return attnrt::api::Session(model, room).decode(testSources(), options);
  }

  /// Follows the best token from `history` on until one of `ends`.
  static Ids greedy(const Ids &source, Ids history, const Ids &ends, size_t length) {
    const size_t given = history.size();
    while (history.size() < given + length) {
      const std::vector<float> next = toy::nextLogProbabilities(source, history);
      const auto best = static_cast<int32_t>(std::max_element(next.begin(), next.end()) - next.begin());
      if (std::find(ends.begin(), ends.end(), best) != ends.end())
        break;
      history.push_back(best);
    }
    return {history.begin() + static_cast<std::ptrdiff_t>(given), history.end()};
  }

  char hash[33] = "";
  attnrt_descriptor trusting{};
};

const auto threeLanguages = [](nlohmann::ordered_json &tokens) {
  tokens["languages"] = {{"aa", 3}, {"bb", 4}, {"cc", 5}};
  tokens["source_start"] = {3};
  tokens["source_end"] = {2, 6};
};

TEST_F(TokenLists, EachEndTokenEndsAnOutput) {
  const auto model = load([](auto &tokens) { tokens["end"] = {2, 5, 6}; });
  const auto lists = decode(model, model.decodeOptions());
  size_t ended = 0;
  for (size_t s = 0; s < lists.size(); ++s) {
    EXPECT_EQ(greedy(testSources()[s], {toy::start}, {2, 5, 6}, 12), lists[s][0].ids);
    EXPECT_EQ(lists[s][0].ids.size() + lists[s][0].ended, lists[s][0].logProbabilities.size());
    ended += lists[s][0].ended;
  }
  EXPECT_GT(ended, 0u);
}

TEST_F(TokenLists, NoEndTokenComesBeforeTheMinimumLength) {
  const auto model = load([](auto &tokens) { tokens["end"] = {2, 5, 6}; });
  attnrt_decode_options options = model.decodeOptions();
  options.beam = options.n_best = 3;
  options.min_length = 4;
  for (const auto &list : decode(model, options))
    for (const auto &hypothesis : list) {
      EXPECT_GE(hypothesis.ids.size(), 4u);
      for (const int32_t id : hypothesis.ids)
        EXPECT_FALSE(id == 2 || id == 5 || id == 6);
    }
}

/// Of `2 beam` continuations all might end.
TEST_F(TokenLists, ABeamStaysFullWhereSeveralTokensEnd) {
  const auto model = load([](auto &tokens) { tokens["end"] = {2, 3, 4, 5, 6}; });
  attnrt_decode_options options = model.decodeOptions();
  options.beam = options.n_best = 2;
  options.stopping = ATTNRT_STOP_NEVER_EARLY;
  options.length_penalty = 1;
  for (const auto &list : decode(model, options))
    EXPECT_EQ(2u, list.size());
}

TEST_F(TokenLists, ADecoderWithoutAnEndTokenIsRefused) {
  EXPECT_THROW(load([](auto &tokens) { tokens["end"] = nlohmann::json::array(); }), attnrt::api::Error);
}

TEST_F(TokenLists, ASourceIsPutBetweenTheTokensOfItsLanguage) {
  const auto model = load(threeLanguages);
  EXPECT_EQ((Ids{3, 2, 6}), model.tokenize(ATTNRT_SOURCE, ""));
  EXPECT_EQ((Ids{4, 2, 6}), model.tokenizeIn(model.findLanguage("bb"), ""));
  EXPECT_EQ(ATTNRT_INVALID_ARGUMENT, statusOf([&] { model.findLanguage("dd"); }));
  EXPECT_STREQ("'dd' is none of the bundle's languages, which are aa, bb, cc", attnrt_last_error());
  EXPECT_EQ(ATTNRT_INVALID_ARGUMENT, statusOf([&] { model.tokenizeIn(6, ""); }));
  const char *code = nullptr;
  int32_t id = 0;
  EXPECT_EQ(3u, attnrt_model_language_count(model.handle()));
  EXPECT_EQ(ATTNRT_OK, attnrt_model_language(model.handle(), 1, &code, &id));
  EXPECT_STREQ("bb", code);
  EXPECT_EQ(4, id);
  EXPECT_EQ(ATTNRT_OUT_OF_RANGE, attnrt_model_language(model.handle(), 3, &code, &id));
}

TEST_F(TokenLists, ALanguageThatSourcesDoNotTellIsRefused) {
  const auto model = load([](auto &tokens) { tokens["languages"] = {{"aa", 3}}; });
  EXPECT_EQ(ATTNRT_INVALID_ARGUMENT, statusOf([&] { model.tokenizeIn(3, ""); }));
  EXPECT_STREQ("the bundle's sources do not tell their language", attnrt_last_error());
}

TEST_F(TokenLists, TheTargetsLanguageIsTheForcedFirstToken) {
  const auto model = load(threeLanguages);
  attnrt_decode_options options = model.decodeOptions();
  options.target_language = 5;
  const auto lists = decode(model, options);
  for (size_t s = 0; s < lists.size(); ++s) {
    Ids wanted = greedy(testSources()[s], {toy::start, 5}, {toy::end}, 11);
    wanted.insert(wanted.begin(), 5);
    EXPECT_EQ(wanted, lists[s][0].ids);
  }
}

TEST_F(TokenLists, TheTargetsLanguageIsTheStartTokenWhereThatIsALanguage) {
  const auto model = load([](auto &tokens) {
    threeLanguages(tokens);
    tokens["start"] = 3;
  });
  attnrt_decode_options options = model.decodeOptions();
  const Ids languages{4, -1, 5, 4, 3, 5};
  options.target_languages = languages.data();
  for (const int32_t beam : {1, 3}) {
    options.beam = beam;
    const auto lists = decode(model, options);
    for (size_t s = 0; s < lists.size(); ++s) {
      Ids history{languages[s] == -1 ? 3 : languages[s]};
      if (beam == 1) {
        EXPECT_EQ(greedy(testSources()[s], history, {toy::end}, 12), lists[s][0].ids);
      }
      for (size_t i = 0; i < lists[s][0].ids.size(); ++i) {
        const int32_t id = lists[s][0].ids[i];
        EXPECT_EQ(toy::nextLogProbabilities(testSources()[s], history)[id], lists[s][0].logProbabilities[i]);
        history.push_back(id);
      }
    }
  }
}

TEST_F(TokenLists, OtherTokensAreNoLanguages) {
  const auto model = load(threeLanguages);
  attnrt_decode_options options = model.decodeOptions();
  options.target_language = 6;
  EXPECT_EQ(ATTNRT_INVALID_ARGUMENT, statusOf([&] { decode(model, options); }));
  options.target_language = 5;
  const Ids first(testSources().size(), 3);
  options.forced_bos_token_ids = first.data();
  EXPECT_EQ(ATTNRT_INVALID_ARGUMENT, statusOf([&] { decode(model, options); }));
}

} // namespace
