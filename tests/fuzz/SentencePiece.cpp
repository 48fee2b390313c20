//===- SentencePiece.cpp - fuzzes a SentencePiece model --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "tests/fuzz/FuzzTokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  return fuzzTokenizer(attnrt::makeSentencePieceTokenizer, data, size);
}
