//===- UnigramModel.cpp - the most probable split into pieces ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Kudo 2018: each piece has a log-probability; of all splits the one with the largest sum is chosen, by
// dynamic programming over the places of the word.

#include "PrefixIndex.h"
#include "SubwordModel.h"
#include "Unicode.h"

#include <limits>

namespace attnrt {
namespace {

class UnigramModel final : public SubwordModel {
public:
  UnigramModel(const JsonReader &json, int32_t limit) {
    const std::vector<JsonReader> pieces = json.at("vocab").elements();
    if (pieces.size() > static_cast<size_t>(limit))
      json.at("vocab").reject("has ", pieces.size(), " pieces, but the model's vocabulary ends at ", limit);
    std::vector<PrefixIndex::Entry> entries;
    double least = 0;
    for (size_t id = 0; id < pieces.size(); ++id) {
      const std::vector<JsonReader> piece = pieces[id].elements();
      if (piece.size() != 2)
        pieces[id].reject("must be a piece and its score");
      table.add(piece[0].string(), static_cast<int32_t>(id));
      entries.push_back({piece[0].string(), static_cast<uint32_t>(id)});
      scores.push_back(piece[1].number());
      least = id == 0 ? scores.back() : std::min(least, scores.back());
    }
    index = PrefixIndex(std::move(entries));
    constexpr double penalty = 10; // SentencePiece's
    unknownScore = least - penalty;
    if (json.gives("unk_id"))
      unknown = json.at("unk_id").integer(0, static_cast<int64_t>(pieces.size()) - 1);
    if (json.gives("byte_fallback"))
      fallsBack = json.at("byte_fallback").boolean();
  }

  void encode(const std::string &word, std::vector<int32_t> &tokens) const override {
    std::vector<std::string> pieces = split(word);
    for (const std::string &piece : pieces) {
      const auto known = table.find(piece);
      const auto bytes = known || !fallsBack ? std::nullopt : byteTokens(table, piece);
      if (bytes)
        tokens.insert(tokens.end(), bytes->begin(), bytes->end());
      else
        tokens.push_back(known ? *known : *unknown);
    }
  }

private:
  static constexpr uint32_t nothing = std::numeric_limits<uint32_t>::max();

  /// The best split of the text before one place.
  struct Place {
    double score = 0;
    uint32_t begin = nothing; // of its last piece
    uint32_t piece = 0;
  };

  static void offer(Place &place, double score, size_t begin, uint32_t piece) {
    if (place.begin == nothing || score > place.score)
      place = {score, static_cast<uint32_t>(begin), piece};
  }

  std::vector<Place> findBest(const std::string &word) const {
    check(word.size() < nothing, ATTNRT_OUT_OF_RANGE, "a word has too many bytes");
    std::vector<Place> places(word.size() + 1);
    const std::string_view text = word;
    for (size_t at = 0; at < text.size();) {
      const std::string_view rest = text.substr(at);
      const size_t character = codePointLength(rest);
      const double before = places[at].score;
      bool isCovered = false;
      index.forEachPrefix(rest, [&](size_t length, uint32_t piece) {
        offer(places[at + length], before + scores[piece], at, piece);
        isCovered |= length == character;
      });
      if (!isCovered) {
        check(unknown.has_value(), ATTNRT_INVALID_ARGUMENT, "'", rest.substr(0, character),
              "' is not in the vocabulary, which has no unknown token");
        offer(places[at + character], before + unknownScore, at, *unknown);
      }
      at += character;
    }
    return places;
  }

  /// Unknown characters that follow each other are one piece.
  std::vector<std::string> split(const std::string &word) const {
    const std::vector<Place> places = findBest(word);
    std::vector<std::string> pieces;
    size_t end = word.size();
    for (size_t at = word.size(); at > 0;) {
      const Place &place = places[at];
      const bool isUnknown = unknown && place.piece == static_cast<uint32_t>(*unknown);
      at = place.begin;
      const Place &next = places[at];
      if (isUnknown && at > 0 && next.piece == static_cast<uint32_t>(*unknown))
        continue;
      pieces.push_back(word.substr(at, end - at));
      end = at;
    }
    std::reverse(pieces.begin(), pieces.end());
    return pieces;
  }

  PrefixIndex index; // of the pieces
  std::vector<double> scores;
  double unknownScore = 0;
  std::optional<int32_t> unknown;
  bool fallsBack = false; // to the tokens of bytes
};

} // namespace

std::unique_ptr<SubwordModel> makeUnigramModel(const JsonReader &json, int32_t limit) {
  return std::make_unique<UnigramModel>(json, limit);
}

} // namespace attnrt
