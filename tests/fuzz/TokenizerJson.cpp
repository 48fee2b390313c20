//===- TokenizerJson.cpp - fuzzes a tokenizer.json -------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "tests/fuzz/Roundtrip.h"

#include <cstddef>
#include <cstdint>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  constexpr int32_t vocabulary = 2000;
  const std::string content(reinterpret_cast<const char *>(data), size);
  try {
    roundtrip(*attnrt::makeJsonTokenizer("input", content, {vocabulary, 0}), vocabulary);
  } catch (const attnrt::Failure &) {
  }
  return 0;
}
