//===- TokenizerJson.cpp - fuzzes a tokenizer.json -------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "tests/fuzz/FuzzTokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  return fuzzTokenizer(attnrt::makeJsonTokenizer, data, size);
}
