//===- SafetensorsTest.cpp - weight files that lie are refused -------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/spec/Safetensors.h"
#include "tests/spec/SafetensorsImage.h"

#include "gtest/gtest.h"

#include <cstring>
#include <random>

using namespace attnc;
using attnc::tests::safetensorsImage;

namespace {

std::string errorOf(const std::string &header, size_t dataBytes) {
  std::string error, image = safetensorsImage(header, dataBytes);
  EXPECT_EQ(SafetensorsFile::parse(image, error), nullptr) << header;
  EXPECT_FALSE(error.empty());
  return error;
}

constexpr const char *goodHeader =
    R"({"__metadata__":{"format":"pt"},"b":{"dtype":"F32","shape":[2],"data_offsets":[24,32]},"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}})";

TEST(Safetensors, GivesTheBytesOfEachTensor) {
  std::string error, image = safetensorsImage(goodHeader, 32);
  float last = 7;
  std::memcpy(image.data() + image.size() - 4, &last, 4);
  auto file = SafetensorsFile::parse(image, error);
  ASSERT_TRUE(file) << error;
  EXPECT_EQ(file->tensors().size(), 2u);
  const Tensor *tensor = file->find("b");
  ASSERT_TRUE(tensor);
  EXPECT_EQ(tensor->shape, std::vector<int64_t>{2});
  EXPECT_EQ(tensor->bytes, 8u);
  float value;
  std::memcpy(&value, tensor->data + 4, 4);
  EXPECT_EQ(value, 7);
  EXPECT_EQ(file->find("c"), nullptr);
}

TEST(Safetensors, TruncatedFilesAreErrorsAtEveryLength) {
  std::string image = safetensorsImage(goodHeader, 32);
  for (size_t length = 0; length < image.size(); ++length) {
    std::string error;
    EXPECT_EQ(SafetensorsFile::parse(std::string_view(image).substr(0, length), error), nullptr) << length;
    EXPECT_FALSE(error.empty());
  }
}

TEST(Safetensors, HeaderLongerThanTheFileIsAnError) {
  std::string image(8, '\xff'), error;
  EXPECT_EQ(SafetensorsFile::parse(image, error), nullptr);
  EXPECT_NE(error.find("the header says it has 18446744073709551615 bytes"), std::string::npos) << error;
}

TEST(Safetensors, OverlapsAndHolesAreErrors) {
  EXPECT_EQ(
      errorOf(
          R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})",
          6),
      "tensor 'b' starts at byte 2, but the one before it ends at 4");
  EXPECT_EQ(errorOf(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[1,5]}})", 5),
            "tensor 'a' starts at byte 1, but the one before it ends at 0");
  EXPECT_EQ(errorOf(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", 5),
            "the tensors end at byte 4, but the file has 5");
}

TEST(Safetensors, SizesThatLieAreErrors) {
  EXPECT_NE(errorOf(R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[0,4]}})", 4).find("but has 16 bytes"),
            std::string::npos);
  EXPECT_NE(errorOf(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", 4).find("says bytes 4 to 0"),
            std::string::npos);
  // 2^62 elements of four bytes overflow 64 bits to nothing.
  EXPECT_NE(errorOf(R"({"a":{"dtype":"F32","shape":[4611686018427387904],"data_offsets":[0,0]}})", 0)
                .find("that can be"),
            std::string::npos);
  EXPECT_NE(errorOf(R"({"a":{"dtype":"F32","shape":[2147483648,2147483648],"data_offsets":[0,0]}})", 0)
                .find("that can be"),
            std::string::npos);
  errorOf(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 4);
  errorOf(R"({"a":{"dtype":"F32","shape":[1.0],"data_offsets":[0,4]}})", 4);
}

TEST(Safetensors, HeadersOfAnotherFormAreErrors) {
  for (
      const char *header :
      {"", "[]", "{", "7", "{\"a\":1}", "{\"a\":[]}", "{\"a\":{}}", R"({"a":{"dtype":"F32"}})",
       R"({"a":{"dtype":"X","shape":[],"data_offsets":[0,4]}})",
       R"({"a":{"dtype":4,"shape":[1],"data_offsets":[0,4]}})",
       R"({"a":{"dtype":"F32","shape":[[1]],"data_offsets":[0,4]}})",
       R"({"a":{"dtype":"F32","shape":{"x":1},"data_offsets":[0,4]}})",
       R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0]}})",
       R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4,8]}})",
       R"({"a":{"dtype":"F32","shape":null,"data_offsets":[0,4]}})", R"({"__metadata__":{"x":{"y":{}}}})",
       R"({"__metadata__":"x"})",
       R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})"})
    errorOf(header, 8);
}

TEST(Safetensors, DeepHeadersAreErrors) {
  errorOf(std::string(100'000, '['), 0);
  std::string nested;
  for (unsigned i = 0; i < 100'000; ++i)
    nested += "{\"a\":";
  errorOf(nested, 0);
}

TEST(Safetensors, FlippedBytesNeverGiveTensorsOutsideTheFile) {
  std::mt19937 random(7);
  std::string good = safetensorsImage(goodHeader, 32);
  unsigned refused = 0;
  for (unsigned i = 0; i < 20'000; ++i) {
    std::string image = good, error;
    image[random() % (image.size() - 32)] ^= char(1 << random() % 8);
    auto file = SafetensorsFile::parse(image, error);
    refused += !file;
    if (!file)
      continue;
    for (const auto &[name, tensor] : file->tensors()) {
      EXPECT_GE(reinterpret_cast<const char *>(tensor.data), image.data());
      EXPECT_LE(reinterpret_cast<const char *>(tensor.data) + tensor.bytes, image.data() + image.size());
    }
  }
  EXPECT_GT(refused, 10'000u);
}

TEST(Safetensors, FilesThatAreNoneAreErrors) {
  std::string error;
  EXPECT_EQ(SafetensorsFile::open("no-such-file", error), nullptr);
  EXPECT_EQ(error, "no-such-file: No such file or directory");
  EXPECT_EQ(SafetensorsFile::open("/", error), nullptr);
  EXPECT_EQ(SafetensorsFile::open("/dev/null", error), nullptr);
}

} // namespace
