//===- DecodeTest.cpp - requests: batches, prefixes, samples, streams ---------===//
// SPDX-License-Identifier: Apache-2.0

#include "ToyFixture.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <thread>

namespace {

using attnrt::api::Hypothesis;
using toy::Ids;
using toy::testSources;

class Decode : public toy::Fixture {};

bool operator==(const Hypothesis &a, const Hypothesis &b) {
  return a.ids == b.ids && a.logProbabilities == b.logProbabilities && a.total == b.total &&
         a.score == b.score && a.ended == b.ended;
}

void expectSame(const std::vector<Hypothesis> &a, const std::vector<Hypothesis> &b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i)
    EXPECT_TRUE(a[i] == b[i]) << "hypothesis " << i;
}

TEST_F(Decode, ResultsAreBitEqualAloneAndTogether) {
  attnrt_decode_options options = model.decodeOptions();
  options.beam = options.n_best = 3;
  const auto together = session(8, 3, 12, 2).decode(testSources(), options);
  auto alone = session(1, 3, 12);
  for (size_t s = 0; s < testSources().size(); ++s)
    expectSame(together[s], alone.decode({{testSources()[s]}}, options)[0]);
}

/// Of 1 to 16 tokens each.
std::vector<Ids> manySources(int count) {
  std::vector<Ids> sources;
  for (int s = 0; s < count; ++s)
    sources.push_back(Ids(1 + s % 16, 3 + s % 8));
  return sources;
}

/// Of 16 tokens each.
std::vector<Ids> equalSources(int count) {
  std::vector<Ids> sources;
  for (int s = 0; s < count; ++s)
    sources.push_back(Ids(16, 3 + s % 8));
  return sources;
}

// Weights of float32: 512 tokens at a time for each thread.
TEST_F(Decode, SomeSentencesAreEncodedAtATime) {
  const std::vector<Ids> sources = manySources(70);
  const auto together = session(70, 1, 12).decode(sources, model.decodeOptions());
  EXPECT_EQ(3, toy::trace().encodes); // 46 fit of up to 10 tokens, but 34 of up to 7 would be padded in vain
  EXPECT_EQ(34 * 7 + 12 * 10 + 24 * 16, toy::trace().encoded);
  auto alone = session(1, 1, 12);
  for (size_t s = 0; s < sources.size(); ++s)
    expectSame(together[s], alone.decode({{sources[s]}}, model.decodeOptions())[0]);
}

TEST_F(Decode, ShortSentencesAreNotEncodedAsLongOnes) {
  std::vector<Ids> sources(12, Ids{3, 4});
  sources[5] = Ids(16, 5);
  attnrt_decode_options options = model.decodeOptions();
  options.beam = options.n_best = 3;
  const auto together = session(12, 3, 12).decode(sources, options);
  EXPECT_EQ(11 * 2 + 16, toy::trace().encoded);
  auto alone = session(1, 3, 12);
  for (size_t s = 0; s < sources.size(); ++s)
    expectSame(together[s], alone.decode({{sources[s]}}, options)[0]);
}

TEST_F(Decode, ThreadsEncodeSentencesSideBySide) {
  const std::vector<Ids> sources = equalSources(70);
  const auto wanted = session(70, 1, 12).decode(sources, model.decodeOptions());
  // As many parts for each thread, of 256 to 512 tokens. Five threads would have 224 each.
  for (const auto &[threads, parts] : std::map<int, int>{{2, 4}, {3, 3}, {4, 4}, {5, 1}}) {
    SCOPED_TRACE(std::to_string(threads) + " threads");
    toy::trace().encodes = 0;
    const auto lists = session(70, 1, 12, threads).decode(sources, model.decodeOptions());
    EXPECT_EQ(parts, toy::trace().encodes);
    for (size_t s = 0; s < sources.size(); ++s)
      expectSame(wanted[s], lists[s]);
  }
}

TEST_F(Decode, AFailureOfOneThreadIsAnErrorWithItsMessage) {
  auto opened = session(70, 1, 12, 2);
  toy::trace().failAtEncode = 2;
  EXPECT_EQ(ATTNRT_KERNEL_FAILED, statusOf([&] { opened.decode(equalSources(70), model.decodeOptions()); }));
  EXPECT_NE(std::string::npos,
            std::string(attnrt_last_error()).find("the toy was told to fail while it encodes"))
      << attnrt_last_error();
  EXPECT_EQ(70u, opened.decode(equalSources(70), model.decodeOptions()).size());
}

TEST_F(Decode, NoSourcesGiveNoResults) {
  auto opened = session(8, 3, 12);
  EXPECT_TRUE(opened.decode({}, model.decodeOptions()).empty());
  EXPECT_TRUE(opened.score({}, {}).empty());
  EXPECT_EQ(0, toy::trace().steps);
}

TEST_F(Decode, FinishedRowsLeaveTheBatch) {
  const auto lists = session(8, 1, 12).decode(testSources(), model.decodeOptions());
  int64_t tokens = 0;
  for (const auto &list : lists)
    tokens += static_cast<int64_t>(list[0].logProbabilities.size());
  EXPECT_EQ(tokens, toy::trace().rows); // greedy: a row for each token that came out, and no more
}

TEST_F(Decode, APrefixIsContinuedAndScored) {
  attnrt_decode_options options = model.decodeOptions();
  options.beam = options.n_best = 2;
  const std::vector<Ids> prefixes{{5, 4, 3}, {}, {3}, {4, 4}, {5}, {3, 3, 3, 3}};
  const auto views = attnrt::api::view(prefixes);
  options.prefixes = views.data();
  auto opened = session(8, 2, 12);
  const auto lists = opened.decode(testSources(), options);
  for (size_t s = 0; s < lists.size(); ++s)
    for (const Hypothesis &hypothesis : lists[s]) {
      ASSERT_GE(hypothesis.ids.size(), prefixes[s].size());
      EXPECT_TRUE(std::equal(prefixes[s].begin(), prefixes[s].end(), hypothesis.ids.begin()));
      std::vector<float> wanted = opened.score({{testSources()[s]}}, {{hypothesis.ids}})[0];
      wanted.resize(hypothesis.logProbabilities.size());
      EXPECT_EQ(wanted, hypothesis.logProbabilities);
    }
}

TEST_F(Decode, APrefixOfTheMaximumLengthIsTheOutput) {
  attnrt_decode_options options = model.decodeOptions();
  options.max_length = 3;
  const std::vector<Ids> prefixes{{5, 4, 3}, {5}};
  const auto views = attnrt::api::view(prefixes);
  options.prefixes = views.data();
  const std::vector<Ids> sources(testSources().begin(), testSources().begin() + 2);
  const auto wanted = session(2, 1, 4).score(sources, {{prefixes[0], prefixes[1]}});
  for (const int room : {3, 12}) { // with and without room for an end token
    const auto lists = session(2, 1, room).decode(sources, options);
    EXPECT_EQ(prefixes[0], lists[0][0].ids);
    EXPECT_FALSE(lists[0][0].ended);
    EXPECT_EQ(std::vector<float>(wanted[0].begin(), wanted[0].begin() + 3), lists[0][0].logProbabilities);
    EXPECT_EQ(wanted[1][0], lists[1][0].logProbabilities[0]);
  }
}

TEST_F(Decode, SamplesDependOnSeedAndSentenceAlone) {
  attnrt_decode_options options = model.decodeOptions();
  options.sample = 1;
  options.n_best = 3;
  options.seed = 17;
  const auto together = session(8, 3, 12).decode(testSources(), options);
  auto alone = session(1, 3, 12, 2);
  for (size_t s = 0; s < testSources().size(); ++s) {
    options.first_sentence = s;
    expectSame(together[s], alone.decode({{testSources()[s]}}, options)[0]);
  }
  options.first_sentence = 0;
  options.seed = 18;
  const auto others = session(8, 3, 12).decode(testSources(), options);
  bool differs = false;
  for (size_t s = 0; s < others.size(); ++s)
    differs |= !(others[s][0] == together[s][0]);
  EXPECT_TRUE(differs);
}

/// How often each token is drawn first, over many sentences of one source.
std::map<int32_t, int> drawFirstTokens(const attnrt::api::Model &model, attnrt_decode_options options,
                                       int draws) {
  attnrt_session_options room = model.sessionOptions();
  room.beam = 100;
  attnrt::api::Session session(model, room);
  options.sample = 1;
  options.n_best = 100;
  options.max_length = 1;
  std::map<int32_t, int> counts;
  for (int i = 0; i < draws / 100; ++i) {
    options.first_sentence = i;
    const auto lists = session.decode({{testSources()[0]}}, options);
    for (const Hypothesis &sample : lists[0])
      ++counts[sample.ids.empty() ? toy::end : sample.ids[0]];
  }
  return counts;
}

TEST_F(Decode, SamplesFollowTheTemperedDistribution) {
  constexpr int draws = 20000;
  for (const float temperature : {0.5f, 1.f, 3.f}) {
    attnrt_decode_options options = model.decodeOptions();
    options.temperature = temperature;
    const auto counts = drawFirstTokens(model, options, draws);
    const auto logs = toy::nextLogProbabilities(testSources()[0], {toy::start});
    double sum = 0;
    for (const float value : logs)
      sum += std::exp(value / temperature);
    for (int32_t v = 0; v < toy::targetVocabulary; ++v) {
      const double wanted = std::exp(logs[v] / temperature) / sum;
      const double got = counts.contains(v) ? counts.at(v) / double(draws) : 0;
      // Five standard deviations of a frequency over `draws` draws, and the seed is fixed.
      EXPECT_NEAR(wanted, got, 5 * std::sqrt(wanted * (1 - wanted) / draws) + 1e-9) << "token " << v;
    }
  }
}

TEST_F(Decode, TopKAndTopPKeepTheMostProbableTokens) {
  const auto logs = toy::nextLogProbabilities(testSources()[0], {toy::start});
  std::vector<int32_t> order{0, 1, 2, 3, 4, 5, 6};
  std::sort(order.begin(), order.end(), [&](int a, int b) { return logs[a] > logs[b]; });
  attnrt_decode_options options = model.decodeOptions();
  options.temperature = 5;
  options.top_k = 3;
  for (const auto &[token, count] : drawFirstTokens(model, options, 2000))
    EXPECT_NE(order.begin() + 3, std::find(order.begin(), order.begin() + 3, token));
  options.temperature = 1;
  options.top_k = 0;
  options.top_p = 0.5f * std::exp(logs[order[0]]); // less than the best token alone
  EXPECT_EQ(1u, drawFirstTokens(model, options, 2000).count(order[0]));
  EXPECT_EQ(1u, drawFirstTokens(model, options, 2000).size());
}

/// What the token callback is told.
struct Stream {
  std::map<std::pair<size_t, size_t>, Ids> ids;
  int stopAfter = 1 << 30;
  static int onToken(void *user, size_t sentence, size_t rank, int32_t id) {
    auto &self = *static_cast<Stream *>(user);
    self.ids[{sentence, rank}].push_back(id);
    return --self.stopAfter <= 0;
  }
};

TEST_F(Decode, TheStreamIsWhatTheResultHas) {
  for (const bool sample : {false, true})
    for (const int count : {1, 3})
      for (const int longest : {5, 12}) {
        attnrt_decode_options options = model.decodeOptions();
        Stream stream;
        options.sample = sample;
        options.min_length = 3; // steps list more candidates than one
        options.beam = options.n_best = count;
        options.max_length = longest;
        options.on_token = Stream::onToken;
        options.user = &stream;
        const std::vector<std::vector<int32_t>> prefixes(testSources().size(), {5, 4});
        const std::vector<attnrt_ids> views = attnrt::api::view(prefixes);
        options.prefixes = views.data();
        const auto lists = session(8, 3, 12).decode(testSources(), options);
        for (size_t s = 0; s < lists.size(); ++s)
          for (size_t rank = 0; rank < lists[s].size(); ++rank)
            EXPECT_EQ(lists[s][rank].ids, (stream.ids[{s, rank}]))
                << "sample " << sample << ", count " << count << ", longest " << longest;
        for (const auto &[place, ids] : stream.ids)
          EXPECT_LT(place.second, lists[place.first].size());
      }
}

TEST_F(Decode, AForcedEndIsNotInTheStream) {
  for (const bool sample : {false, true}) {
    attnrt_decode_options options = model.decodeOptions();
    Stream stream;
    options.sample = sample;
    options.n_best = sample ? 2 : 1;
    options.max_length = 2;
    options.on_token = Stream::onToken;
    options.user = &stream;
    const std::vector<std::vector<int32_t>> prefixes{{5, toy::end}};
    const std::vector<attnrt_ids> views = attnrt::api::view(prefixes);
    options.prefixes = views.data();
    const auto lists = session(1, 2, 12).decode({{testSources()[0]}}, options);
    ASSERT_EQ(static_cast<size_t>(options.n_best), lists[0].size());
    for (size_t rank = 0; rank < lists[0].size(); ++rank) {
      EXPECT_TRUE(lists[0][rank].ended);
      EXPECT_EQ(Ids{5}, lists[0][rank].ids);
      EXPECT_EQ(Ids{5}, (stream.ids[{0, rank}])) << "sample " << sample;
    }
  }
}

TEST_F(Decode, TheCallbackCanCancel) {
  attnrt_decode_options options = model.decodeOptions();
  Stream stream;
  stream.stopAfter = 3;
  options.on_token = Stream::onToken;
  options.user = &stream;
  auto opened = session(8, 1, 12);
  EXPECT_EQ(ATTNRT_CANCELLED, statusOf([&] { opened.decode(testSources(), options); }));
  options.on_token = nullptr;
  EXPECT_EQ(testSources().size(),
            opened.decode(testSources(), options).size()); // the session goes on working
}

TEST_F(Decode, ACallbackThatThrowsCancels) {
  attnrt_decode_options options = model.decodeOptions();
  options.on_token = [](void *, size_t, size_t, int32_t) -> int { throw 1; };
  auto opened = session(8, 1, 12);
  EXPECT_EQ(ATTNRT_CANCELLED, statusOf([&] { opened.decode(testSources(), options); }));
  EXPECT_STREQ("the token callback threw an exception", attnrt_last_error());
}

TEST_F(Decode, ATriggeredCancelEndsTheDecode) {
  attnrt::api::Cancel cancel;
  attnrt_decode_options options = model.decodeOptions();
  options.cancel = cancel.handle();
  auto opened = session(8, 1, 12);
  EXPECT_EQ(testSources().size(), opened.decode(testSources(), options).size());
  std::thread([&] { cancel.trigger(); }).join();
  EXPECT_EQ(ATTNRT_CANCELLED, statusOf([&] { opened.decode(testSources(), options); }));
}

TEST_F(Decode, AFailedTaskIsAnErrorWithItsMessage) {
  auto opened = session(8, 2, 12, 2);
  toy::trace().failAtStep = 1;
  EXPECT_EQ(ATTNRT_KERNEL_FAILED, statusOf([&] { opened.decode(testSources(), model.decodeOptions()); }));
  EXPECT_NE(std::string::npos, std::string(attnrt_last_error()).find("the toy was told to fail"))
      << attnrt_last_error();
}

TEST_F(Decode, NumbersThatAreNoneAreAnError) {
  auto opened = session(8, 2, 12);
  // The best of 7 tokens has a log-probability from -1.95 to 0.
  for (const float shift : {NAN, -INFINITY, INFINITY, -83.f, 5.f}) {
    toy::trace().shift = shift;
    EXPECT_EQ(ATTNRT_KERNEL_FAILED, statusOf([&] { opened.decode(testSources(), model.decodeOptions()); }))
        << shift;
  }
}

// Kernels leave places without an id where fewer tokens have any probability.
TEST_F(Decode, ListsOfCandidatesMayEndEarly) {
  attnrt_decode_options options = model.decodeOptions();
  options.beam = options.n_best = 3;
  auto opened = session(8, 3, 12);
  toy::trace().listed = 1; // each hypothesis has one continuation
  const auto lists = opened.decode(testSources(), options);
  toy::trace().listed = toy::targetVocabulary;
  options.beam = options.n_best = 1;
  const auto greedy = opened.decode(testSources(), options);
  for (size_t s = 0; s < lists.size(); ++s)
    expectSame(greedy[s], lists[s]);
  toy::trace().listed = 0;
  EXPECT_EQ(ATTNRT_KERNEL_FAILED, statusOf([&] { opened.decode(testSources(), options); }));
}

TEST_F(Decode, AttentionHasARowForEachTokenAndTheEnd) {
  const auto attention = session(1, 1, 12).attend({3, 4, 2}, {5});
  EXPECT_EQ((std::vector<float>{1, 0, 0, 0, 1, 0}), attention);
}

} // namespace
