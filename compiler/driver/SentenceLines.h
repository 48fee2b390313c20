//===- SentenceLines.h - lines of text or ids, in and out --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What `run` and `score` have in common: one sentence a line, as text or as token ids, and a session that is
// large enough for the lines at hand.

#ifndef ATTNC_COMPILER_DRIVER_SENTENCELINES_H
#define ATTNC_COMPILER_DRIVER_SENTENCELINES_H

#include "compiler/driver/BundleCommand.h"

#include <nlohmann/json_fwd.hpp>

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace attnc {

/// Nine digits give a float back exactly.
std::string formatFloat(double value);

/// A mistake in one of `count` lines of the input, counted from 1.
[[noreturn]] void failAtLines(size_t first, size_t count, const std::string &message);

/// As that, of one line; where lines with mistakes are skipped, it is told on stderr alone.
void tellMistake(size_t line, const std::string &message, bool skipsBadLines);

/// Whether what a session refused is a mistake in some line of its batch.
bool isMistakeOfLine(const attnrt::api::Error &error);

/// What `read` makes of each line, up to the first one with a mistake, unless such lines are skipped. A
/// `Line` has its `mistake`.
template <typename Line, typename Read>
std::vector<Line> readLines(const std::vector<std::string> &texts, bool skipsBadLines, Read read) {
  std::vector<Line> lines;
  for (const std::string &text : texts)
    try {
      lines.push_back(read(text));
    } catch (const std::exception &error) {
      lines.emplace_back().mistake = error.what();
      if (!skipsBadLines)
        break;
    }
  return lines;
}

/// As one line, whatever bytes strings have.
void printJson(const nlohmann::ordered_json &json);

/// Token ids, separated by white space.
Ids parseIds(const std::string &text);

/// Refuses ids that are not below `vocabulary`; `whose` may be " of the source".
void checkIds(const Ids &ids, int32_t vocabulary, const std::string &whose = {});

/// The lines of a file, a pipe or a terminal, without their ends and without a byte order mark before the
/// first.
class LineReader {
public:
  explicit LineReader(int descriptor) : descriptor(descriptor) {}

  /// The next lines: waits for the first one, then takes what is there, at most `limit`. Empty at the end.
  std::vector<std::string> read(size_t limit);

private:
  bool fill();
  bool isReady() const;

  int descriptor;
  std::string buffer;
  size_t count = 0; // lines so far
  bool isFirst = true, hasEnded = false;
};

/// The id of a language; errors name the flag.
int32_t findLanguage(const Model &model, const char *flag, const std::string &code);

/// Text to ids and back as the options say.
class LineCodec {
public:
  /// `sourceLanguage` is a code, or empty: the bundle's.
  LineCodec(const Model &model, bool ids, const std::string &sourceLanguage = {});

  /// Refuses what is longer than the model's positions, and ids beyond its vocabulary.
  Ids read(attnrt_side side, const std::string &line) const;
  /// As a string of JSON may hold it.
  std::string text(const Ids &target) const;
  /// The same as one line: spaces stand for line breaks.
  std::string write(const Ids &target) const;

private:
  const Model &model;
  bool usesIds;
  std::optional<int32_t> sourceLanguage;
  size_t limits[2];      // of each side; the target's has room for the end token
  int32_t vocabulary[2]; // of each side
};

/// One session, opened again with more room when lines need it.
class GrowingSession {
public:
  GrowingSession(const Model &model, const attnrt_session_options &start) : model(model), room(start) {}

  /// Opens it with the room that it starts with: what options ask for in vain is wrong usage, no line's
  /// mistake.
  void open();
  /// A session for sources and targets of these lengths.
  Session &forLengths(size_t source, size_t target);

private:
  const Model &model;
  attnrt_session_options room;
  std::unique_ptr<Session> session;
};

} // namespace attnc

#endif // ATTNC_COMPILER_DRIVER_SENTENCELINES_H
