//===- ProfileTest.cpp - shares of the machine's limit ------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/driver/Profile.h"

#include <gtest/gtest.h>

using namespace attnc;

namespace {

/// 1000 operations a second on floats, 2000 on bfloat16, 4000 on bytes.
Profile limited() {
  Profile profile;
  profile.arithmeticLimit = 1000, profile.bf16Limit = 2000, profile.int8Limit = 4000;
  profile.readLimit = 1e6;
  profile.milliseconds = 1000;
  return profile;
}

/// 1000 operations in a second, whatever the name says.
KernelLine lineOf(ProductType type) { return {"encode", "attention_8x160_bf16", type, 1, 1000, 1000, 8}; }

TEST(Profile, KernelsAreHeldAgainstTheLimitOfWhatTheyMultiply) {
  EXPECT_DOUBLE_EQ(limited().shareOfLimit(lineOf(ProductType::F32)), 1);
  EXPECT_DOUBLE_EQ(limited().shareOfLimit(lineOf(ProductType::Bf16)), 0.5);
  EXPECT_DOUBLE_EQ(limited().shareOfLimit(lineOf(ProductType::Int8)), 0.25);
}

TEST(Profile, LimitsThatWereNotMeasuredAreThatOfFloats) {
  Profile profile = limited();
  profile.bf16Limit = profile.int8Limit = 0;
  for (ProductType type : {ProductType::Bf16, ProductType::Int8}) {
    EXPECT_DOUBLE_EQ(profile.shareOfLimit(lineOf(type)), 1);
    profile.kernels = {lineOf(type)};
    EXPECT_NE(drawProfile(profile).find(" 100% of the limit"), std::string::npos);
  }
}

TEST(Profile, OnlyLimitsThatWereMeasuredArePrinted) {
  Profile profile = limited();
  profile.bf16Limit = 2e9;
  profile.int8Limit = 0;
  std::string text = printProfile(profile);
  EXPECT_NE(text.find(" GFLOP/s, 2.0 of bf16, "), std::string::npos);
  EXPECT_EQ(text.find("int8"), std::string::npos);
}

} // namespace
