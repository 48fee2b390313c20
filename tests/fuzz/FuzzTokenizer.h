//===- FuzzTokenizer.h - uses a tokenizer whose files are not trusted --------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ATTNC_TESTS_FUZZ_FUZZTOKENIZER_H
#define ATTNC_TESTS_FUZZ_FUZZTOKENIZER_H

#include "runtime/src/Failure.h"
#include "runtime/src/Tokenizer.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

/// Splits some texts and puts them together again: ids must be of the vocabulary.
inline void roundtrip(const attnrt::Tokenizer &tokenizer, int32_t vocabulary) {
  for (const char *text : {"", " ", "Hello  world, caf\xc3\xa9 \xe1\x84\x92\xe1\x85\xa1 12.5\n<s>",
                           "\xff\xc3", "aaaaaaaaaaaaaaaa"})
    try {
      const std::vector<int32_t> ids = tokenizer.encode(text);
      for (const int32_t id : ids)
        if (id < 0 || id >= vocabulary)
          abort();
      (void)tokenizer.decode(ids);
    } catch (const attnrt::Failure &) {
    }
  for (const int32_t id : {-1, 0, 1, vocabulary - 1, vocabulary})
    (void)tokenizer.tokenText(id);
}

/// The input is a file that `make` makes a tokenizer of.
inline int fuzzTokenizer(std::unique_ptr<attnrt::Tokenizer> (*make)(const std::string &path,
                                                                    const std::string &content,
                                                                    const attnrt::Vocabulary &vocabulary),
                         const uint8_t *data, size_t size) {
  constexpr int32_t vocabulary = 2000;
  const std::string content(reinterpret_cast<const char *>(data), size);
  try {
    roundtrip(*make("input", content, {vocabulary, 0}), vocabulary);
  } catch (const attnrt::Failure &) {
  }
  return 0;
}

#endif // ATTNC_TESTS_FUZZ_FUZZTOKENIZER_H
