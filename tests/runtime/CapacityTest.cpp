//===- CapacityTest.cpp - what a session refuses ------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ToyFixture.h"

#include <cmath>
#include <functional>

namespace {

using toy::Ids;

class Capacity : public toy::Fixture {
protected:
  /// The status of decoding one good source with changed options.
  attnrt_status decodeStatus(const std::function<void(attnrt_decode_options &)> &change) {
    attnrt_decode_options options = model.decodeOptions();
    change(options);
    auto opened = session(2, 3, 12);
    return statusOf([&] { opened.decode({{Ids{3, 4}}}, options); });
  }

  attnrt_status sourceStatus(const std::vector<Ids> &sources) {
    auto opened = session(2, 3, 12);
    return statusOf([&] { opened.decode(sources, model.decodeOptions()); });
  }

  attnrt_status sessionStatus(const std::function<void(attnrt_session_options &)> &change) {
    attnrt_session_options options = model.sessionOptions();
    change(options);
    return statusOf([&] { attnrt::api::Session(model, options); });
  }
};

TEST_F(Capacity, BeyondTheSessionIsOutOfRange) {
  EXPECT_EQ(ATTNRT_OK, decodeStatus([](auto &) {}));
  EXPECT_EQ(ATTNRT_OUT_OF_RANGE, decodeStatus([](auto &o) { o.beam = 4; }));
  EXPECT_EQ(ATTNRT_OUT_OF_RANGE, decodeStatus([](auto &o) { o.max_length = 13; }));
  EXPECT_EQ(ATTNRT_OUT_OF_RANGE, decodeStatus([](auto &o) { o.sample = 1, o.n_best = 4; }));
  EXPECT_EQ(ATTNRT_OUT_OF_RANGE, sourceStatus({{3}, {3}, {3}}));
  EXPECT_EQ(ATTNRT_OUT_OF_RANGE, sourceStatus({Ids(17, 3)}));
  EXPECT_EQ(ATTNRT_OK, sourceStatus({Ids(16, 3)}));
}

TEST_F(Capacity, ContradictoryOptionsAreInvalid) {
  EXPECT_EQ(ATTNRT_INVALID_ARGUMENT, decodeStatus([](auto &o) { o.beam = 0; }));
  EXPECT_EQ(ATTNRT_INVALID_ARGUMENT, decodeStatus([](auto &o) { o.beam = 2, o.n_best = 3; }));
  EXPECT_EQ(ATTNRT_INVALID_ARGUMENT, decodeStatus([](auto &o) { o.min_length = 9, o.max_length = 8; }));
  EXPECT_EQ(ATTNRT_INVALID_ARGUMENT, decodeStatus([](auto &o) { o.length_penalty = NAN; }));
  EXPECT_EQ(ATTNRT_INVALID_ARGUMENT, decodeStatus([](auto &o) { o.sample = 1, o.temperature = 0; }));
  EXPECT_EQ(ATTNRT_INVALID_ARGUMENT, decodeStatus([](auto &o) { o.sample = 1, o.top_p = 1.5f; }));
  EXPECT_EQ(ATTNRT_INVALID_ARGUMENT, decodeStatus([](auto &o) { o.stopping = 9; }));
  EXPECT_EQ(ATTNRT_INVALID_ARGUMENT, decodeStatus([](auto &o) { o.size = sizeof o + 8; }));
}

TEST_F(Capacity, OptionsAreCheckedWithoutASession) {
  const auto messageOf = [&](const std::function<void(attnrt_decode_options &)> &change) -> std::string {
    attnrt_decode_options options = model.decodeOptions();
    change(options);
    const attnrt_status status = attnrt_decode_options_check(model.handle(), 2, &options);
    return status == ATTNRT_OK ? "" : attnrt_last_error();
  };
  EXPECT_EQ("", messageOf([](auto &o) { o.beam = 1024, o.length_penalty = -10, o.patience = 0.001f; }));
  EXPECT_EQ("'length_penalty' is 10.5, which is not in -10 to 10",
            messageOf([](auto &o) { o.length_penalty = 10.5f; }));
  EXPECT_EQ("'patience' is 0, which is not in 0.001 to 1024", messageOf([](auto &o) { o.patience = 0; }));
  EXPECT_EQ("'repetition_penalty' is inf, which is not in 1e-06 to 1000000",
            messageOf([](auto &o) { o.repetition_penalty = INFINITY; }));
  EXPECT_EQ("'top_k' is -1, which is not in 0 to 16777216", messageOf([](auto &o) {
              o.sample = 1;
              o.top_k = -1;
            }));
  EXPECT_EQ("'top_p' is nan, which is not in 1e-06 to 1",
            messageOf([](auto &o) { o.sample = 1, o.top_p = NAN; }));
  EXPECT_EQ("'max_length' is 25, but the model's positions end at 24",
            messageOf([](auto &o) { o.max_length = 25; }));
  const attnrt_ids broken[2] = {{0, nullptr}, {3, nullptr}};
  EXPECT_EQ("'prefixes[1].ids' is null", messageOf([&](auto &o) { o.prefixes = broken; }));
  EXPECT_EQ(ATTNRT_INVALID_ARGUMENT, attnrt_decode_options_check(nullptr, 1, nullptr));
  EXPECT_EQ(ATTNRT_OK, attnrt_decode_options_check(model.handle(), 1, nullptr));
}

TEST_F(Capacity, IdsOutsideTheVocabularyAreInvalid) {
  EXPECT_EQ(ATTNRT_INVALID_ARGUMENT, sourceStatus({{3, toy::sourceVocabulary}}));
  EXPECT_EQ(ATTNRT_INVALID_ARGUMENT, sourceStatus({{3, -1}}));
  EXPECT_EQ(ATTNRT_INVALID_ARGUMENT, sourceStatus({{}}));
  auto opened = session(1, 1, 12);
  EXPECT_EQ(ATTNRT_INVALID_ARGUMENT,
            statusOf([&] { opened.score({{Ids{3}}}, {{Ids{toy::targetVocabulary}}}); }));
  EXPECT_EQ(ATTNRT_OUT_OF_RANGE, statusOf([&] { opened.score({{Ids{3}}}, {{Ids(12, 3)}}); }));
  EXPECT_EQ(ATTNRT_OK, statusOf([&] { opened.score({{Ids{3}}}, {{Ids(11, 3)}}); }));
}

TEST_F(Capacity, NoTextForIdsOutsideTheVocabulary) {
  size_t size = 0;
  for (const int32_t id : {-1, int32_t(toy::targetVocabulary), INT32_MIN, INT32_MAX}) {
    EXPECT_EQ(ATTNRT_INVALID_ARGUMENT,
              attnrt_token_text(model.handle(), ATTNRT_TARGET, id, 0, nullptr, &size));
    const int32_t ids[] = {3, id};
    EXPECT_EQ(ATTNRT_INVALID_ARGUMENT,
              attnrt_detokenize(model.handle(), ATTNRT_TARGET, 2, ids, 0, nullptr, &size));
    EXPECT_EQ("token 1 is " + std::to_string(id) + ", but the vocabulary's ids are 0 to " +
                  std::to_string(toy::targetVocabulary - 1),
              attnrt_last_error());
  }
}

TEST_F(Capacity, NullOptionsAskForNoMoreThanTheSessionHas) {
  const Ids ids{3, 4};
  const attnrt_ids source = {ids.size(), ids.data()};
  ASSERT_GT(model.decodeOptions().max_length, 5);
  attnrt_result *result = nullptr;
  ASSERT_EQ(ATTNRT_OK, attnrt_decode(session(1, 4, 5).handle(), 1, &source, nullptr, &result))
      << attnrt_last_error();
  attnrt_hypothesis best;
  ASSERT_EQ(ATTNRT_OK, attnrt_result_get(result, 0, 0, &best));
  EXPECT_LE(best.ids.count + (best.ended ? 1 : 0), 5u);
  attnrt_result_destroy(result);
}

TEST_F(Capacity, MoreSourcesThanABatchAreNotRead) {
  attnrt_result *result = nullptr;
  const attnrt_ids one = {0, nullptr};
  EXPECT_EQ(ATTNRT_OUT_OF_RANGE,
            attnrt_decode(session(1, 1, 12).handle(), size_t(1) << 62, &one, nullptr, &result));
}

TEST_F(Capacity, ListsOfAbsurdLengthsAreNotRead) {
  const int32_t one[] = {3};
  const attnrt_ids absurd = {SIZE_MAX, one};
  const auto errorOf = [&](const std::function<void(attnrt_decode_options &)> &change) -> std::string {
    attnrt_decode_options options = model.decodeOptions();
    change(options);
    return attnrt_decode_options_check(model.handle(), 1, &options) == ATTNRT_OK ? "" : attnrt_last_error();
  };
  const std::string count = std::to_string(SIZE_MAX), atMost = ", but may have 7 at most";
  EXPECT_EQ("'prefixes' has " + count + " tokens for sentence 0, but 'max_length' leaves room for 12",
            errorOf([&](auto &o) { o.prefixes = &absurd; }));
  EXPECT_EQ("'prefixes' has " + count + " tokens for sentence 0, but 'max_length' leaves room for 11",
            errorOf([&](auto &o) { o.prefixes = &absurd, o.forced_bos_token_id = 3; }));
  EXPECT_EQ("'suppress_tokens' has " + count + " ids" + atMost,
            errorOf([&](auto &o) { o.suppressed = one, o.suppressed_count = SIZE_MAX; }));
  EXPECT_EQ("'begin_suppress_tokens' has 8 ids" + atMost,
            errorOf([&](auto &o) { o.begin_suppress_tokens = one, o.begin_suppress_count = 8; }));
  EXPECT_EQ("'shortlists' has " + count + " ids" + atMost,
            errorOf([&](auto &o) { o.shortlists = &absurd, o.shortlist_count = 1; }));
  EXPECT_EQ("'bad_words_ids' has " + count + " sequences, but may have 1048576 at most",
            errorOf([&](auto &o) { o.bad_words_ids = &absurd, o.bad_words_count = SIZE_MAX; }));
  EXPECT_EQ("'bad_words_ids' has " + count + " tokens in a sequence, but may have 1048576 at most",
            errorOf([&](auto &o) { o.bad_words_ids = &absurd, o.bad_words_count = 1; }));
  EXPECT_EQ(ATTNRT_OUT_OF_RANGE, decodeStatus([&](auto &o) { o.prefixes = &absurd; }));
  EXPECT_EQ(ATTNRT_OUT_OF_RANGE, attnrt_decode_options_check(model.handle(), SIZE_MAX, nullptr));
}

TEST_F(Capacity, ListsMayBeAsLongAsTheVocabulary) {
  const std::vector<int32_t> twice(toy::targetVocabulary, 3);
  EXPECT_EQ(ATTNRT_OK, decodeStatus([&](auto &o) {
              o.suppressed = twice.data();
              o.suppressed_count = twice.size();
            }));
}

TEST_F(Capacity, TargetsOfAbsurdLengthsAreNotRead) {
  const int32_t one[] = {3};
  const attnrt_ids source = {1, one};
  auto opened = session(1, 1, 12);
  float values[16];
  for (const size_t count : {SIZE_MAX, SIZE_MAX - 1, size_t(1) << 62}) {
    const attnrt_ids absurd = {count, one};
    EXPECT_EQ(ATTNRT_OUT_OF_RANGE, attnrt_score(opened.handle(), 1, &source, &absurd, values));
    EXPECT_EQ("target 0 has " + std::to_string(count) +
                  " tokens and the end token, the session has room for 12",
              attnrt_last_error());
    EXPECT_EQ(ATTNRT_OUT_OF_RANGE, attnrt_attend(opened.handle(), source, absurd, values));
    EXPECT_EQ(ATTNRT_OUT_OF_RANGE, attnrt_score(opened.handle(), 1, &absurd, &source, values));
  }
}

TEST_F(Capacity, PrefixesAreCheckedAsWell) {
  const std::vector<Ids> prefixes{{3, 99}}, tooLong{Ids(13, 3)};
  const auto bad = attnrt::api::view(prefixes), longer = attnrt::api::view(tooLong);
  EXPECT_EQ(ATTNRT_INVALID_ARGUMENT, decodeStatus([&](auto &o) { o.prefixes = bad.data(); }));
  EXPECT_EQ(ATTNRT_OUT_OF_RANGE, decodeStatus([&](auto &o) { o.prefixes = longer.data(); }));
}

TEST_F(Capacity, SessionsBeyondTheModelsLimitsAreRefused) {
  EXPECT_EQ(ATTNRT_OK, sessionStatus([](auto &) {}));
  EXPECT_EQ(ATTNRT_OUT_OF_RANGE, sessionStatus([](auto &o) { o.source = 33; }));
  EXPECT_EQ(ATTNRT_OUT_OF_RANGE, sessionStatus([](auto &o) { o.target = 25; }));
  EXPECT_EQ(ATTNRT_OUT_OF_RANGE, sessionStatus([](auto &o) { o.batch = 0; }));
  EXPECT_EQ(ATTNRT_OUT_OF_RANGE, sessionStatus([](auto &o) { o.beam = -1; }));
  EXPECT_EQ(ATTNRT_OUT_OF_RANGE, sessionStatus([](auto &o) { o.threads = 5000; }));
  EXPECT_EQ(ATTNRT_INVALID_ARGUMENT, sessionStatus([](auto &o) { o.uses = 64; }));
  EXPECT_EQ(ATTNRT_OUT_OF_RANGE, sessionStatus([](auto &o) { o.suppressed = -1; }));
  EXPECT_STREQ("a session's 'suppressed' must be from 0 to 65536, but is -1", attnrt_last_error());
}

TEST_F(Capacity, WhatTheSessionWasNotMadeForIsRefused) {
  attnrt_session_options options = model.sessionOptions();
  options.uses = ATTNRT_USE_DECODE;
  attnrt::api::Session opened(model, options);
  EXPECT_EQ(ATTNRT_INVALID_ARGUMENT, statusOf([&] { opened.score({{Ids{3}}}, {{Ids{3}}}); }));
  EXPECT_STREQ("the session was created without ATTNRT_USE_SCORE", attnrt_last_error());
  EXPECT_EQ(ATTNRT_INVALID_ARGUMENT, statusOf([&] { opened.attend({3}, {3}); }));
  EXPECT_EQ(ATTNRT_INVALID_ARGUMENT, sessionStatus([](auto &o) { o.uses = 0; }));
}

/// Before anything is encoded.
TEST_F(Capacity, WhatASearchNeedsIsAskedForFirst) {
  const auto decodeWith = [&](uint32_t uses, const attnrt_ids *prefixes) {
    attnrt_session_options room = model.sessionOptions();
    room.uses = uses;
    attnrt_decode_options options = model.decodeOptions();
    options.prefixes = prefixes;
    attnrt::api::Session opened(model, room);
    return statusOf([&] { opened.decode({{Ids{3, 4}}}, options); });
  };
  const int32_t token = 5;
  const attnrt_ids prefix{1, &token}, none{0, nullptr};
  EXPECT_EQ(ATTNRT_OK, decodeWith(ATTNRT_USE_DECODE, nullptr));
  EXPECT_EQ(ATTNRT_OK, decodeWith(ATTNRT_USE_SAMPLE, nullptr)); // by the logits of all words
  EXPECT_EQ(ATTNRT_OK, decodeWith(ATTNRT_USE_DECODE, &none));
  EXPECT_EQ(ATTNRT_INVALID_ARGUMENT, decodeWith(ATTNRT_USE_DECODE, &prefix));
  EXPECT_STREQ("prefixes need a session with ATTNRT_USE_SCORE", attnrt_last_error());
  EXPECT_EQ(ATTNRT_INVALID_ARGUMENT, decodeWith(ATTNRT_USE_SCORE, nullptr));
  EXPECT_STREQ("decoding needs a session with ATTNRT_USE_DECODE or ATTNRT_USE_SAMPLE", attnrt_last_error());
}

TEST_F(Capacity, LongMessagesAreCutBetweenCharacters) {
  std::string folder = "/";
  while (folder.size() < 6000)
    folder += "\u20ac"; // three bytes
  attnrt_model *loaded = nullptr;
  EXPECT_NE(ATTNRT_OK, attnrt_model_load(folder.c_str(), nullptr, &loaded));
  const std::string message = attnrt_last_error();
  EXPECT_GT(message.size(), 4000u);
  EXPECT_LT(message.size(), 4096u);
  EXPECT_TRUE(message.ends_with("\u20ac"));
}

TEST_F(Capacity, NullPointersAreInvalid) {
  attnrt_result *result = nullptr;
  const attnrt_ids broken{3, nullptr};
  auto opened = session(1, 1, 12);
  EXPECT_EQ(ATTNRT_INVALID_ARGUMENT, attnrt_decode(nullptr, 0, nullptr, nullptr, &result));
  EXPECT_EQ(ATTNRT_INVALID_ARGUMENT, attnrt_decode(opened.handle(), 1, nullptr, nullptr, &result));
  EXPECT_EQ(ATTNRT_INVALID_ARGUMENT, attnrt_decode(opened.handle(), 1, &broken, nullptr, &result));
  EXPECT_EQ(ATTNRT_INVALID_ARGUMENT, attnrt_decode(opened.handle(), 1, &broken, nullptr, nullptr));
  EXPECT_EQ(ATTNRT_INVALID_ARGUMENT, attnrt_model_load(nullptr, nullptr, nullptr));
  size_t size = 0;
  EXPECT_EQ(ATTNRT_INVALID_ARGUMENT, attnrt_token_text(model.handle(), 7, 3, 0, nullptr, &size));
  EXPECT_STREQ("'side' is 7, which is not an attnrt_side", attnrt_last_error());
  EXPECT_EQ(ATTNRT_NOT_FOUND,
            attnrt_model_create(toy::descriptor(), "/no/such/folder", nullptr, (attnrt_model **)&result));
  attnrt_model_destroy(nullptr);
  attnrt_session_destroy(nullptr);
  attnrt_result_destroy(nullptr);
}

TEST(SmallSessions, DefaultLengthsAreCutToTheSession) {
  const toy::Folder folder;
  nlohmann::ordered_json json = toy::manifest();
  json["decoding"]["min_length"] = 9;
  const std::string text = toy::sealed(json.dump(1));
  folder.write("manifest.json", text);
  char hash[33];
  attnrt::api::check(attnrt_manifest_hash(text.size(), text.data(), hash));
  const attnrt_descriptor descriptor = toy::withHash(hash);
  const attnrt::api::Model model(&descriptor, folder.path());
  attnrt_session_options room = model.sessionOptions();
  room.target = 4;
  const attnrt::api::Session session(model, room);
  const int32_t ids[] = {3, 4};
  const attnrt_ids source = {2, ids};
  attnrt_result *result = nullptr;
  ASSERT_EQ(ATTNRT_OK, attnrt_decode(session.handle(), 1, &source, nullptr, &result)) << attnrt_last_error();
  attnrt_hypothesis best;
  EXPECT_EQ(ATTNRT_OK, attnrt_result_get(result, 0, 0, &best));
  EXPECT_EQ(4u, best.ids.count);
  attnrt_result_destroy(result);
}

} // namespace
