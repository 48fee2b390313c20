//===- BatchesTest.cpp - sequences of similar length together ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "attnrt/attnrt.hpp"

#include <gtest/gtest.h>

#include <random>

namespace {

using Batches = std::vector<std::vector<size_t>>;

TEST(Batches, KeepTheOrderWithoutALimitOfTokens) {
  const std::vector<size_t> lengths{5, 1, 3, 2, 4};
  EXPECT_EQ((Batches{{0, 1}, {2, 3}, {4}}), attnrt::api::makeBatches(lengths, 2, 0));
}

TEST(Batches, PutSimilarLengthsTogether) {
  const std::vector<size_t> lengths{5, 1, 3, 2, 4};
  EXPECT_EQ((Batches{{1, 3, 2}, {4, 0}}), attnrt::api::makeBatches(lengths, 8, 10));
}

TEST(Batches, HaveOneSequenceThatIsTooLong) {
  const std::vector<size_t> lengths{100, 2};
  EXPECT_EQ((Batches{{1}, {0}}), attnrt::api::makeBatches(lengths, 8, 10));
}

TEST(Batches, HoldEachSequenceOnceAndKeepTheirLimits) {
  std::mt19937 random(3);
  for (const size_t count : {1, 7, 64, 513}) {
    std::vector<size_t> lengths(count), seen(count);
    for (size_t &length : lengths)
      length = 1 + random() % 60;
    for (const std::vector<size_t> &batch : attnrt::api::makeBatches(lengths, 16, 120)) {
      size_t longest = 0;
      for (const size_t i : batch) {
        ++seen[i];
        longest = std::max(longest, lengths[i]);
      }
      EXPECT_LE(batch.size(), 16u);
      EXPECT_LE(batch.size() * longest, 120u);
    }
    EXPECT_EQ(std::vector<size_t>(count, 1), seen);
  }
}

TEST(Batches, OfNothingAreNoneAndNullsAreRefused) {
  EXPECT_TRUE(attnrt::api::makeBatches({}, 8, 0).empty());
  size_t number = 1, order = 0, end = 0;
  EXPECT_EQ(ATTNRT_INVALID_ARGUMENT, attnrt_make_batches(1, nullptr, 1, 0, &order, &end, &number));
  EXPECT_STREQ("'lengths' is null", attnrt_last_error());
  EXPECT_EQ(ATTNRT_INVALID_ARGUMENT, attnrt_make_batches(1, &number, 0, 0, &order, &end, &number));
  EXPECT_EQ(ATTNRT_INVALID_ARGUMENT, attnrt_make_batches(0, nullptr, 1, 0, nullptr, nullptr, nullptr));
}

} // namespace
