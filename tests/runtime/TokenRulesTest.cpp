//===- TokenRulesTest.cpp - rules for tokens against the oracle ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "runtime/src/TokenRules.h"
#include "OracleFixture.h"

#include <algorithm>
#include <cmath>

namespace {

using toy::Ids;

class TokenRules : public toy::OracleFixture {
protected:
  /// Each rule alone and in the company of others, greedy and with beams, whatever the stopping rule.
  void expectOracleForAll(const std::function<void(attnrt_decode_options &)> &set) {
    for (const int beam : {1, 2, 3})
      for (const attnrt_stopping stopping : {ATTNRT_STOP_EARLY, ATTNRT_STOP_NEVER_EARLY})
        for (const int minimum : {0, 4}) {
          SCOPED_TRACE("beam " + std::to_string(beam) + ", stopping " + std::to_string(stopping) +
                       ", minimum " + std::to_string(minimum));
          attnrt_decode_options options = model.decodeOptions();
          options.beam = options.n_best = beam;
          options.stopping = stopping;
          options.min_length = minimum;
          set(options);
          expectOracle(options);
        }
  }

  static const Ids &testSource() { return toy::testSources()[2]; }

  attnrt_status statusOfDecode(const std::function<void(attnrt_decode_options &)> &set) {
    attnrt_decode_options options = model.decodeOptions();
    set(options);
    auto opened = session(2, 3, 12);
    return statusOf([&] { opened.decode({{Ids{3, 4}}}, options); });
  }
};

TEST_F(TokenRules, RepetitionPenaltiesAboveAndBelowOneEqualTheOracle) {
  for (const float penalty : {0.7f, 1.3f, 4.f})
    expectOracleForAll([&](auto &o) { o.repetition_penalty = penalty; });
}

TEST_F(TokenRules, RepeatedNgramsAreForbidden) {
  for (const int size : {1, 2, 3, 20})
    expectOracleForAll([&](auto &o) { o.no_repeat_ngram_size = size; });
}

// Room for three candidates: steps whose rules touch more tokens than that leaves read the logits of all.
TEST_F(TokenRules, RulesThatLookBackReadAllTokensWhereTheyTouchMany) {
  attnrt_session_options room = model.sessionOptions();
  room.batch = 8, room.beam = 1, room.suppressed = 0;
  for (const int size : {0, 1, 2})
    for (const float penalty : {1.f, 1.3f}) {
      attnrt_decode_options options = model.decodeOptions();
      options.min_length = 4;
      options.no_repeat_ngram_size = size;
      options.repetition_penalty = penalty;
      attnrt::api::Session narrow(model, room);
      const auto lists = narrow.decode(toy::testSources(), options);
      for (size_t s = 0; s < lists.size(); ++s) {
        SCOPED_TRACE(std::to_string(size) + ", " + std::to_string(penalty) + ", source " + std::to_string(s));
        expectLists(toy::oracleBeam(toy::testSources()[s], options), lists[s], options.length_penalty);
      }
    }
}

TEST_F(TokenRules, MoreTokensThanASessionHasRoomForAreForbiddenWhereItReadsAll) {
  const int32_t suppressed[] = {3, 4};
  attnrt_decode_options options = model.decodeOptions();
  options.suppressed_count = 2, options.suppressed = suppressed;
  attnrt_session_options room = model.sessionOptions();
  room.batch = 8, room.beam = 1, room.suppressed = 0;
  const auto lists = attnrt::api::Session(model, room).decode(toy::testSources(), options);
  for (size_t s = 0; s < lists.size(); ++s)
    expectLists(toy::oracleBeam(toy::testSources()[s], options), lists[s], options.length_penalty);
  room.uses = ATTNRT_USE_DECODE;
  attnrt::api::Session narrow(model, room);
  EXPECT_EQ(ATTNRT_OUT_OF_RANGE, statusOf([&] { narrow.decode(toy::testSources(), options); }));
}

TEST_F(TokenRules, RulesThatLookBackNeedNoMoreThanTheirMemory) {
  attnrt_session_options room = model.sessionOptions();
  room.batch = 8, room.beam = 1, room.uses = ATTNRT_USE_SAMPLE;
  attnrt::api::Session opened(model, room);
  attnrt_decode_options options = model.decodeOptions();
  options.no_repeat_ngram_size = 2;
  const auto lists = opened.decode(toy::testSources(), options);
  for (size_t s = 0; s < lists.size(); ++s)
    expectLists(toy::oracleBeam(toy::testSources()[s], options), lists[s], options.length_penalty);
}

TEST_F(TokenRules, BadWordsNeverOccur) {
  const int32_t one[] = {4}, two[] = {5, 3}, three[] = {3, 3, 6}, ending[] = {toy::end},
                late[] = {6, toy::end};
  const attnrt_ids words[] = {{2, two}, {3, three}, {1, ending}, {2, late}, {1, one}};
  for (const size_t count : {4, 5})
    expectOracleForAll([&](auto &o) { o.bad_words_count = count, o.bad_words_ids = words; });
}

TEST_F(TokenRules, TokensMayBeSuppressedAtTheBeginningAlone) {
  const int32_t begin[] = {3, 5, toy::end};
  for (const int32_t first : {-1, 4})
    expectOracleForAll([&](auto &o) {
      o.begin_suppress_count = 3;
      o.begin_suppress_tokens = begin;
      o.forced_bos_token_id = first;
    });
}

TEST_F(TokenRules, ForcedFirstAndLastTokensCountNothing) {
  for (const int32_t last : {-1, toy::end, 5})
    expectOracleForAll([&](auto &o) {
      o.forced_bos_token_id = 5;
      o.forced_eos_token_id = last;
      o.max_length = 5;
    });
}

TEST_F(TokenRules, TheForcedLastTokenPrevailsWhereItIsTheFirst) {
  attnrt_decode_options options = model.decodeOptions();
  options.forced_bos_token_id = 5;
  options.forced_eos_token_id = toy::end;
  options.max_length = 1;
  const auto lists = session(8, 1, 12).decode(toy::testSources(), options);
  for (const auto &list : lists) {
    EXPECT_EQ(list[0].ids, Ids());
    EXPECT_TRUE(list[0].ended);
  }
}

TEST_F(TokenRules, ShortlistsLeaveTheirTokensAndTheEnd) {
  const int32_t ids[] = {6, 3, 3, 4};
  const attnrt_ids list{4, ids};
  for (const int32_t renormalizes : {0, 1})
    expectOracleForAll([&](auto &o) {
      o.shortlist_count = 1;
      o.shortlists = &list;
      o.renormalize_logits = renormalizes;
    });
}

TEST_F(TokenRules, WhatIsLeftCanBeRenormalized) {
  const int32_t suppressed[] = {4};
  expectOracleForAll([&](auto &o) {
    o.suppressed_count = 1;
    o.suppressed = suppressed;
    o.renormalize_logits = 1;
    o.repetition_penalty = 1.5f;
    o.no_repeat_ngram_size = 3;
  });
}

TEST_F(TokenRules, EachSentenceHasItsOwnShortlistAndFirstToken) {
  const int32_t one[] = {3, 5}, other[] = {4, 6};
  const std::vector<attnrt_ids> lists{{2, one}, {0, nullptr}, {2, other}, {2, one}, {2, other}, {0, nullptr}};
  const std::vector<int32_t> first{3, -1, 4, 5, 6, 4};
  attnrt_decode_options options = model.decodeOptions();
  options.beam = options.n_best = 3;
  options.shortlist_count = lists.size();
  options.shortlists = lists.data();
  options.forced_bos_token_ids = first.data();
  const auto together = session(8, 3, 12).decode(toy::testSources(), options);
  auto alone = session(1, 3, 12);
  options.forced_bos_token_ids = nullptr;
  for (size_t s = 0; s < lists.size(); ++s) {
    options.forced_bos_token_id = first[s];
    options.shortlist_count = lists[s].count > 0 ? 1 : 0;
    options.shortlists = &lists[s];
    expectLists(toy::oracleBeam(toy::testSources()[s], options), together[s], options.length_penalty);
    const auto same = alone.decode({{toy::testSources()[s]}}, options)[0];
    for (size_t rank = 0; rank < same.size(); ++rank)
      EXPECT_EQ(same[rank].logProbabilities, together[s][rank].logProbabilities);
  }
}

TEST_F(TokenRules, ReportedLogProbabilitiesStayTheModelsOwn) {
  attnrt_decode_options options = model.decodeOptions();
  options.beam = options.n_best = 3;
  options.repetition_penalty = 2;
  options.renormalize_logits = 1;
  auto opened = session(8, 3, 12);
  const auto lists = opened.decode(toy::testSources(), options);
  for (size_t s = 0; s < lists.size(); ++s)
    for (const auto &hypothesis : lists[s]) {
      std::vector<float> wanted = opened.score({{toy::testSources()[s]}}, {{hypothesis.ids}})[0];
      wanted.resize(hypothesis.logProbabilities.size());
      EXPECT_EQ(wanted, hypothesis.logProbabilities);
    }
}

TEST_F(TokenRules, APrefixComesAfterTheForcedFirstToken) {
  const std::vector<Ids> prefixes{{5, 4}, {}, {3}, {}, {}, {6, 6, 6}};
  const auto views = attnrt::api::view(prefixes);
  attnrt_decode_options options = model.decodeOptions();
  options.prefixes = views.data();
  options.forced_bos_token_id = 6;
  const auto lists = session(8, 1, 12).decode(toy::testSources(), options);
  for (size_t s = 0; s < lists.size(); ++s) {
    Ids wanted{6};
    wanted.insert(wanted.end(), prefixes[s].begin(), prefixes[s].end());
    ASSERT_GE(lists[s][0].ids.size(), wanted.size());
    EXPECT_TRUE(std::equal(wanted.begin(), wanted.end(), lists[s][0].ids.begin()));
    EXPECT_EQ(0, lists[s][0].logProbabilities[0]);
    for (size_t i = 1; i < wanted.size(); ++i)
      EXPECT_EQ(toy::nextLogProbabilities(toy::testSources()[s],
                                          [&] {
                                            Ids history{toy::start};
                                            history.insert(history.end(), wanted.begin(), wanted.begin() + i);
                                            return history;
                                          }())[wanted[i]],
                lists[s][0].logProbabilities[i]);
  }
}

TEST_F(TokenRules, SamplesKeepToTheRules) {
  attnrt_decode_options options = model.decodeOptions();
  options.sample = 1;
  options.n_best = 3;
  options.no_repeat_ngram_size = 1;
  for (const auto &list : session(8, 3, 12).decode(toy::testSources(), options))
    for (const auto &sample : list) {
      Ids ids = sample.ids;
      std::sort(ids.begin(), ids.end());
      EXPECT_EQ(ids.end(), std::adjacent_find(ids.begin(), ids.end()));
      EXPECT_EQ(0, std::count(ids.begin(), ids.end(), toy::start));
    }
}

/// The toy bundle with these defaults besides its own.
class Defaults : public TokenRules {
protected:
  attnrt::api::Model modelWith(const nlohmann::json &decoding) {
    nlohmann::ordered_json changed = toy::manifest();
    changed["decoding"].update(decoding);
    const std::string text = toy::sealed(changed.dump(1));
    folder.write("manifest.json", text);
    char hash[33];
    attnrt::api::check(attnrt_manifest_hash(text.size(), text.data(), hash));
    trusting = toy::withHash(hash);
    return {&trusting, folder.path()};
  }

private:
  attnrt_descriptor trusting{};
};

TEST_F(Defaults, OfTheBundleAreFilledIn) {
  const attnrt::api::Model strict = modelWith({{"suppress_tokens", {4}},
                                               {"begin_suppress_tokens", {3, 5}},
                                               {"bad_words_ids", nlohmann::json::array({{6, 6}, {5}})},
                                               {"forced_bos_token_id", 3},
                                               {"forced_eos_token_id", toy::end},
                                               {"no_repeat_ngram_size", 3},
                                               {"repetition_penalty", 1.5},
                                               {"renormalize_logits", true}});
  const attnrt_decode_options options = strict.decodeOptions();
  const auto got = attnrt::api::Session(strict, strict.sessionOptions()).decode({{testSource()}}, options);
  expectLists(toy::oracleBeam(testSource(), options), got[0], options.length_penalty);

  attnrt_decode_options same = model.decodeOptions();
  const int32_t begin[] = {3, 5}, six[] = {6, 6}, five[] = {5}, four[] = {4};
  const attnrt_ids words[] = {{2, six}, {1, five}};
  same.suppressed_count = 1, same.suppressed = four;
  same.begin_suppress_count = 2, same.begin_suppress_tokens = begin;
  same.bad_words_count = 2, same.bad_words_ids = words;
  same.forced_bos_token_id = 3, same.forced_eos_token_id = toy::end;
  same.no_repeat_ngram_size = 3, same.repetition_penalty = 1.5f, same.renormalize_logits = 1;
  EXPECT_EQ(session(1, 1, 12).decode({{testSource()}}, same)[0][0].ids, got[0][0].ids);
}

TEST_F(Defaults, MaySayHowToSample) {
  const attnrt::api::Model drawing = modelWith({{"n_best", 3},
                                                {"do_sample", true},
                                                {"temperature", 0.5},
                                                {"top_k", 4},
                                                {"top_p", 0.9},
                                                {"min_p", 0.01},
                                                {"typical_p", 0.95},
                                                {"shortlist", {3, 5}}});
  const auto got =
      attnrt::api::Session(drawing, drawing.sessionOptions()) // has room for what the bundle asks
          .decode({{testSource()}}, drawing.decodeOptions());
  ASSERT_EQ(3u, got[0].size());

  attnrt_decode_options same = model.decodeOptions();
  const int32_t list[] = {3, 5};
  const attnrt_ids shortlist{2, list};
  same.shortlist_count = 1, same.shortlists = &shortlist;
  same.n_best = 3, same.sample = 1, same.temperature = 0.5f, same.top_k = 4;
  same.top_p = 0.9f, same.min_p = 0.01f, same.typical_p = 0.95f;
  const auto wanted = session(1, 3, 12).decode({{testSource()}}, same);
  for (size_t rank = 0; rank < 3; ++rank)
    EXPECT_EQ(wanted[0][rank].ids, got[0][rank].ids);
}

TEST_F(Defaults, MayAskForAlternatives) {
  const attnrt::api::Model wide = modelWith({{"beam", 2}, {"n_best", 3}, {"return_alternatives", true}});
  const auto got =
      attnrt::api::Session(wide, wide.sessionOptions()).decode({{testSource()}}, wide.decodeOptions());
  attnrt_decode_options same = model.decodeOptions();
  same.beam = 2, same.n_best = 3, same.return_alternatives = 1;
  const auto wanted = session(1, 6, 12).decode({{testSource()}}, same);
  ASSERT_EQ(wanted[0].size(), got[0].size());
  for (size_t rank = 0; rank < wanted[0].size(); ++rank)
    EXPECT_EQ(wanted[0][rank].ids, got[0][rank].ids);
}

TEST_F(TokenRules, MistakesAreRefused) {
  const int32_t outside[] = {toy::targetVocabulary}, good[] = {3};
  const attnrt_ids word{1, outside}, empty{0, nullptr}, lists[] = {{1, good}, {1, good}};
  EXPECT_EQ(ATTNRT_OK, statusOfDecode([](auto &) {}));
  for (const std::function<void(attnrt_decode_options &)> &set :
       std::vector<std::function<void(attnrt_decode_options &)>>{
           [](auto &o) { o.repetition_penalty = 0; }, [](auto &o) { o.repetition_penalty = NAN; },
           [](auto &o) { o.no_repeat_ngram_size = -1; },
           [&](auto &o) { o.suppressed_count = 1, o.suppressed = outside; },
           [](auto &o) { o.begin_suppress_count = 1; },
           [&](auto &o) { o.begin_suppress_count = 1, o.begin_suppress_tokens = outside; },
           [&](auto &o) { o.bad_words_count = 1, o.bad_words_ids = &word; },
           [&](auto &o) { o.bad_words_count = 1, o.bad_words_ids = &empty; },
           [](auto &o) { o.bad_words_count = 1; },
           [](auto &o) { o.forced_bos_token_id = toy::targetVocabulary; },
           [](auto &o) { o.forced_eos_token_id = -2; },
           [&](auto &o) { o.shortlist_count = 2, o.shortlists = lists; },
           [&](auto &o) { o.shortlist_count = 1, o.shortlists = &word; },
           [](auto &o) { o.shortlist_count = 1; }, [](auto &o) { o.sample = 1, o.min_p = 2; },
           [](auto &o) { o.sample = 1, o.typical_p = 0; }})
    EXPECT_EQ(ATTNRT_INVALID_ARGUMENT, statusOfDecode(set));
}

TEST_F(TokenRules, RulesThatSeeEveryTokenNeedTheirMemory) {
  attnrt_session_options room = model.sessionOptions();
  room.uses = ATTNRT_USE_DECODE;
  attnrt::api::Session opened(model, room);
  attnrt_decode_options options = model.decodeOptions();
  options.no_repeat_ngram_size = 2;
  EXPECT_EQ(ATTNRT_INVALID_ARGUMENT, statusOf([&] { opened.decode({{Ids{3}}}, options); }));
  EXPECT_NE(std::string::npos, std::string(attnrt_last_error()).find("ATTNRT_USE_SAMPLE"))
      << attnrt_last_error();
}

/// Tokens are looked at in blocks, and in ranges between those that are forbidden.
TEST(TokenChooser, TakesTheBestOfManyTokensThatAreAllowed) {
  for (const int32_t vocabulary : {2, 63, 64, 65, 1000})
    for (const size_t wanted : {1, 5, 64, 1000}) {
      SCOPED_TRACE(std::to_string(wanted) + " of " + std::to_string(vocabulary));
      std::vector<float> logits(vocabulary);
      for (int32_t id = 0; id < vocabulary; ++id)
        logits[id] = static_cast<float>(id * 7919 % 1009); // all differ
      logits[vocabulary / 3] = -INFINITY;
      attnrt::TokenRules rules;
      for (const int32_t id : {1, 62, 64, 128, 129, 999})
        if (id < vocabulary)
          rules.suppressed.push_back(id);
      std::vector<std::pair<float, int32_t>> allowed;
      for (int32_t id = 0; id < vocabulary; ++id)
        if (id != vocabulary / 3 && !std::binary_search(rules.suppressed.begin(), rules.suppressed.end(), id))
          allowed.emplace_back(-logits[id], id);
      std::sort(allowed.begin(), allowed.end());
      std::vector<attnrt::Candidate> found;
      attnrt::TokenChooser(rules).choose({}, {}, {logits, 2000, nullptr, vocabulary}, wanted, found);
      std::sort(found.begin(), found.end(), [](auto &a, auto &b) { return a.score > b.score; });
      ASSERT_GE(found.size(), std::min(wanted, allowed.size()));
      ASSERT_LE(found.size(), allowed.size());
      for (size_t i = 0; i < found.size(); ++i)
        EXPECT_EQ(allowed[i].second, found[i].id) << "place " << i;
    }
}

TEST(TokenChooser, RefusesANumberThatIsNone) {
  for (const int32_t place : {0, 63, 64, 700, 999})
    for (const size_t wanted : {1, 1000}) {
      std::vector<float> logits(1000, -1);
      logits[place] = NAN;
      const attnrt::TokenRules rules;
      std::vector<attnrt::Candidate> found;
      EXPECT_THROW(attnrt::TokenChooser(rules).choose({}, {}, {logits, 0, nullptr, 1000}, wanted, found),
                   std::exception)
          << wanted << ", " << place;
    }
}

} // namespace
