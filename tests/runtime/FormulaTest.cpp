//===- FormulaTest.cpp - sizes as the manifest states them --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "runtime/src/Formula.h"
#include "runtime/src/Failure.h"

#include <gtest/gtest.h>

namespace {

using attnrt::Formula;

const std::vector<std::string> names{"batch", "source"};

TEST(Formula, SumsOfProductsAreEvaluated) {
  const std::vector<int64_t> sizes{3, 5};
  EXPECT_EQ(64 + 2048 * 15, Formula("64 + 2048 * batch * source", names).evaluate(sizes));
  EXPECT_EQ(45, Formula("batch*batch*source", names).evaluate(sizes));
  EXPECT_EQ(0, Formula("0", names).evaluate(sizes));
}

TEST(Formula, OverflowIsNoValue) {
  const std::vector<int64_t> sizes{int64_t(1) << 40, int64_t(1) << 40};
  EXPECT_EQ(std::nullopt, Formula("batch * source", names).evaluate(sizes));
  EXPECT_EQ(std::nullopt, Formula("9223372036854775807 + batch", names).evaluate(sizes));
}

TEST(Formula, AnythingElseIsRefused) {
  for (const char *text : {"", "*", "1 +", "+ 1", "1 2", "batch source", "-1", "1 - 1", "(1)", "2batch",
                           "0x10", "heads", "99999999999999999999", "9223372036854775807 * 2", "1;"})
    EXPECT_THROW(Formula(text, names), attnrt::Failure) << text;
}

} // namespace
