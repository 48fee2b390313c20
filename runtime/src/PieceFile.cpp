//===- PieceFile.cpp - files of the SentencePiece library --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "PieceFile.h"

#include "Failure.h"

#include <cstdint>
#include <string_view>

namespace attnrt {
namespace {

/// A number of Protocol Buffers (encoding guide, "Base 128 Varints"), taken off the front of `bytes`.
uint64_t takeVarint(std::string_view &bytes) {
  uint64_t value = 0;
  for (int shift = 0; !bytes.empty() && shift < 64; shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    value |= uint64_t(byte & 0x7f) << shift;
    if (byte < 0x80)
      break;
  }
  return value;
}

/// Whether the pieces are followed by the rules that prepare a text (`normalizer_spec`, field 3). A file that
/// is cut between two pieces lacks them; the library takes it all the same.
bool isWhole(std::string_view bytes) {
  constexpr uint64_t lengthDelimited = 2, normalizer = 3;
  while (!bytes.empty()) {
    const uint64_t tag = takeVarint(bytes);
    if (tag == (normalizer << 3 | lengthDelimited))
      return true;
    const uint64_t length = takeVarint(bytes);
    if ((tag & 7) != lengthDelimited || length > bytes.size())
      return false;
    bytes.remove_prefix(length);
  }
  return false;
}

} // namespace

void loadPieces(const std::string &path, const std::string &content,
                sentencepiece::SentencePieceProcessor &processor) {
  const bool isLoaded = processor.LoadFromSerializedProto(content).ok();
  check(isLoaded && isWhole(content), ATTNRT_BAD_BUNDLE, path,
        ": is not a SentencePiece model, or a damaged one");
}

} // namespace attnrt
