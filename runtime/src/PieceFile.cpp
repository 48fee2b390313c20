//===- PieceFile.cpp - files of the SentencePiece library --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "PieceFile.h"

#include "CharacterMap.h"
#include "Failure.h"

#include <cstdint>
#include <exception>
#include <new>
#include <optional>
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

/// A field of a message: a number, or bytes (Protocol Buffers' encoding guide, "Message Structure").
struct Field {
  uint64_t number = 0;
  std::string_view bytes;
};

/// Takes the next field off the front of a message; nothing where it is damaged. Pieces have no groups.
std::optional<Field> takeField(std::string_view &message) {
  const uint64_t tag = takeVarint(message);
  size_t size = 0;
  switch (tag & 7) {
  case 0:
    takeVarint(message);
    break;
  case 1:
    size = 8;
    break;
  case 2:
    size = takeVarint(message);
    break;
  case 5:
    size = 4;
    break;
  default:
    return std::nullopt;
  }
  if (size > message.size() || tag >> 32 != 0)
    return std::nullopt;
  const Field field{tag >> 3, message.substr(0, size)};
  message.remove_prefix(size);
  return field;
}

/// Whether the library can walk through the `precompiled_charsmap` (field 2) of rules that prepare a text;
/// none is well.
bool hasWholeMap(std::string_view rules) {
  constexpr uint64_t map = 2;
  while (!rules.empty()) {
    const auto field = takeField(rules);
    if (!field || (field->number == map && !field->bytes.empty() && !isWholeCharacterMap(field->bytes)))
      return false;
  }
  return true;
}

/// Whether the pieces are followed by the rules that prepare a text (`normalizer_spec`, field 3; those for
/// outputs are field 5), and these are safe. A file that is cut between two pieces lacks them; the library
/// takes it all the same.
bool isWhole(std::string_view bytes) {
  constexpr uint64_t normalizer = 3, denormalizer = 5;
  bool isFound = false;
  while (!bytes.empty()) {
    const auto field = takeField(bytes);
    if (!field)
      return false;
    if ((field->number == normalizer || field->number == denormalizer) && !hasWholeMap(field->bytes))
      return false;
    isFound = isFound || field->number == normalizer;
  }
  return isFound;
}

/// The library throws where its tries refuse a piece, an empty one among them.
bool takes(sentencepiece::SentencePieceProcessor &processor, const std::string &content) {
  try {
    return processor.LoadFromSerializedProto(content).ok();
  } catch (const std::bad_alloc &) {
    throw;
  } catch (const std::exception &) {
    return false;
  }
}

} // namespace

void loadPieces(const std::string &path, const std::string &content,
                sentencepiece::SentencePieceProcessor &processor) {
  check(isWhole(content) && takes(processor, content), ATTNRT_BAD_BUNDLE, path,
        ": is not a SentencePiece model, or a damaged one");
}

} // namespace attnrt
