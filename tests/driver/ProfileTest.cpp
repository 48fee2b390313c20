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
  profile.readLimits = {{1e6, 4e6}, {4e6, 1e6}};
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

/// `bytes` in a second, and hardly any products.
KernelLine readerOf(double calls, double bytes) {
  return {"step", "linear", ProductType::F32, calls, 1000, 1, bytes};
}

TEST(Profile, ProductsAreHeldAgainstReadingWhatAllOfAStepRead) {
  Profile profile = limited();
  const KernelLine once = readerOf(2, 2 * 0.5e6), often = readerOf(12, 12 * 0.5e6); // two steps of six layers
  profile.kernels = {once, often};
  EXPECT_DOUBLE_EQ(profile.shareOfLimit(once), 1e6 / 4e6);
  EXPECT_DOUBLE_EQ(profile.shareOfLimit(often), 6e6 / 4e6); // 3.5e6 in a step
  profile.kernels.front().calls = 1;                        // one step
  EXPECT_DOUBLE_EQ(profile.shareOfLimit(profile.kernels.front()), 1e6 / 1e6);
  EXPECT_DOUBLE_EQ(profile.shareOfLimit(often), 6e6 / 1e6);
}

TEST(Profile, OtherKernelsAreHeldAgainstReadingWhatOneCallReads) {
  Profile profile = limited();
  KernelLine line = readerOf(12, 12 * 0.5e6);
  profile.kernels = {readerOf(1, 1), line};
  line.operations = 0;
  EXPECT_DOUBLE_EQ(profile.shareOfLimit(line), 6e6 / 4e6);
}

TEST(Profile, FewerBytesAreReadAsFastAsMore) {
  Profile profile = limited();
  profile.readLimits = {{1e6, 1e6}, {4e6, 2e6}}; // the first was disturbed
  EXPECT_DOUBLE_EQ(profile.shareOfLimit(readerOf(1, 1e6)), 0.5);
}

TEST(Profile, TableAndPictureHaveOperationsAndBytes) {
  Profile profile = limited();
  profile.kernels = {{"step", "linear", ProductType::F32, 2, 500, 3e9, 12.25e6}};
  std::string table = printProfile(profile);
  EXPECT_NE(table.find("MFLOP         MB   GFLOP/s    GB/s"), std::string::npos) << table;
  EXPECT_NE(table.find("3000.0      12.25       6.0     0.0"), std::string::npos) << table;
  EXPECT_NE(drawProfile(profile).find(">500.00 ms, 3000.00 MFLOP, 12.25 MB, "), std::string::npos);
}

TEST(Profile, SmallNumbersKeepThreeDigits) {
  Profile profile = limited();
  profile.kernels = {{"attend", "linear", ProductType::F32, 1, 0.0012345, 720, 0}};
  EXPECT_NE(drawProfile(profile).find(">0.00123 ms, 0.000720 MFLOP, 0.00 MB, "), std::string::npos);
  EXPECT_NE(printProfile(profile).find(" 0.00123 "), std::string::npos);
}

TEST(Profile, OnlyLimitsThatWereMeasuredArePrinted) {
  Profile profile = limited();
  profile.bf16Limit = 2e9;
  profile.int8Limit = 0;
  std::string text = printProfile(profile);
  EXPECT_NE(text.find(" GFLOP/s, 2.0 of bf16; "), std::string::npos);
  EXPECT_EQ(text.find("int8"), std::string::npos);
}

} // namespace
