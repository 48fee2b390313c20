//===- SentenceLines.cpp - lines of text or ids, in and out ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/driver/SentenceLines.h"
#include "attnrt/ranges.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <poll.h>
#include <sstream>
#include <unistd.h>
#include <utility>

namespace attnc {

std::string formatFloat(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

void failAtLines(size_t first, size_t count, const std::string &message) {
  const std::string where =
      count == 1 ? "line " + std::to_string(first)
                 : "lines " + std::to_string(first) + " to " + std::to_string(first + count - 1);
  throw std::runtime_error(where + ": " + message);
}

void tellMistake(size_t line, const std::string &message, bool skipsBadLines) {
  if (!skipsBadLines)
    failAtLines(line, 1, message);
  std::cerr << "attnc: error: line " << line << ": " << message << "\n";
}

bool isMistakeOfLine(const attnrt::api::Error &error) {
  return error.status == ATTNRT_INVALID_ARGUMENT || error.status == ATTNRT_OUT_OF_RANGE;
}

void printJson(const nlohmann::ordered_json &json) {
  std::cout << json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
}

Ids parseIds(const std::string &text) {
  Ids ids;
  std::istringstream words(text);
  std::string word;
  while (words >> word) {
    int32_t id = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), id);
    if (error != std::errc() || end != word.data() + word.size())
      throw std::runtime_error("'" + word + "' is not a token id");
    ids.push_back(id);
  }
  return ids;
}

void checkIds(const Ids &ids, int32_t vocabulary, const std::string &whose) {
  for (size_t i = 0; i < ids.size(); ++i)
    if (ids[i] < 0 || ids[i] >= vocabulary)
      throw std::runtime_error("token " + std::to_string(i) + whose + " is " + std::to_string(ids[i]) +
                               ", but the vocabulary's ids are 0 to " + std::to_string(vocabulary - 1));
}

std::vector<std::string> LineReader::read(size_t limit) {
  constexpr size_t longest = 16u << 20; // what tokenizers take
  std::vector<std::string> lines;
  size_t begin = 0, searched = 0;
  while (lines.size() < limit) {
    const size_t end = buffer.find('\n', std::max(begin, searched));
    if (end == std::string::npos && !hasEnded && (lines.empty() || isReady())) {
      buffer.erase(0, std::exchange(begin, 0));
      searched = buffer.size();
      if (searched > longest && !lines.empty())
        break; // those before it first
      if (searched > longest)
        failAtLines(count + 1, 1, "has more than " + std::to_string(longest) + " bytes");
      hasEnded = !fill();
      continue;
    }
    if (end == std::string::npos && (!hasEnded || begin == buffer.size()))
      break; // the rest of a line is still to come, or there is none
    lines.push_back(buffer.substr(begin, end - begin));
    ++count;
    begin = end == std::string::npos ? buffer.size() : end + 1;
    if (lines.back().ends_with('\r'))
      lines.back().pop_back();
    if (std::exchange(isFirst, false) && lines.back().starts_with("\xEF\xBB\xBF"))
      lines.back().erase(0, 3);
  }
  buffer.erase(0, begin);
  return lines;
}

/// Waits for more; false at the end.
bool LineReader::fill() {
  char chunk[65536];
  ssize_t count;
  do
    count = ::read(descriptor, chunk, sizeof chunk);
  while (count < 0 && errno == EINTR);
  if (count < 0)
    throw std::runtime_error(std::string("the input cannot be read: ") + std::strerror(errno));
  buffer.append(chunk, static_cast<size_t>(count));
  return count > 0;
}

bool LineReader::isReady() const {
  pollfd query{descriptor, POLLIN, 0};
  return poll(&query, 1, 0) > 0;
}

int32_t findLanguage(const Model &model, const char *flag, const std::string &code) {
  try {
    return model.findLanguage(code);
  } catch (const std::exception &error) {
    throw CLI::ValidationError(flag, error.what());
  }
}

LineCodec::LineCodec(const Model &model, bool ids, const std::string &language) : model(model), usesIds(ids) {
  if (!language.empty())
    sourceLanguage = findLanguage(model, "--source-language", language);
  const nlohmann::json manifest = nlohmann::json::parse(model.manifest());
  const auto limit = [&](const char *side) {
    const nlohmann::json &value = manifest.at("limits").at(side);
    return value.is_null() ? SIZE_MAX : value.get<size_t>();
  };
  limits[ATTNRT_SOURCE] = limit("source");
  limits[ATTNRT_TARGET] = limit("target") - 1;
  vocabulary[ATTNRT_SOURCE] = manifest.at("vocabulary").at("source");
  vocabulary[ATTNRT_TARGET] = manifest.at("vocabulary").at("target");
}

Ids LineCodec::read(attnrt_side side, const std::string &line) const {
  const std::string name = side == ATTNRT_SOURCE ? "source" : "target";
  Ids ids = usesIds                                   ? parseIds(line)
            : sourceLanguage && side == ATTNRT_SOURCE ? model.tokenizeIn(*sourceLanguage, line)
                                                      : model.tokenize(side, line);
  if (ids.size() > limits[side])
    throw std::runtime_error("the " + name + " has " + std::to_string(ids.size()) +
                             " tokens, the model takes at most " + std::to_string(limits[side]));
  checkIds(ids, vocabulary[side], " of the " + name);
  return ids;
}

std::string LineCodec::text(const Ids &target) const {
  if (!usesIds)
    return model.detokenize(ATTNRT_TARGET, target);
  std::string text;
  for (const int32_t id : target)
    text += (text.empty() ? "" : " ") + std::to_string(id);
  return text;
}

std::string LineCodec::write(const Ids &target) const {
  std::string line = text(target);
  std::replace_if(line.begin(), line.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return line;
}

void GrowingSession::open() {
  try {
    forLengths(1, 1);
  } catch (const attnrt::api::Error &error) {
    if (error.status != ATTNRT_OUT_OF_RANGE)
      throw;
    throw CLI::ValidationError(error.what());
  }
}

Session &GrowingSession::forLengths(size_t source, size_t target) {
  const bool fits =
      session && source <= static_cast<size_t>(room.source) && target <= static_cast<size_t>(room.target);
  if (fits)
    return *session;
  // Powers of two, so that ever longer lines open few sessions; but not beyond the model's own limits.
  const auto grow = [](int32_t &room, size_t wanted) {
    constexpr auto most = static_cast<size_t>(attnrt::ranges::sessionLength.high);
    if (wanted > static_cast<size_t>(room))
      room = static_cast<int32_t>(std::bit_ceil(std::min(wanted, most)));
  };
  // Kept only if they open: after a line that is too long for any session shorter ones go on.
  attnrt_session_options grown = room, exact = room;
  grow(grown.source, source);
  grow(grown.target, target);
  exact.source = static_cast<int32_t>(std::max<size_t>(room.source, source));
  exact.target = static_cast<int32_t>(std::max<size_t>(room.target, target));
  session.reset();
  try {
    session = std::make_unique<Session>(model, grown);
    room = grown;
  } catch (const attnrt::api::Error &error) {
    if (error.status != ATTNRT_OUT_OF_RANGE)
      throw;
    session = std::make_unique<Session>(model, exact);
    room = exact;
  }
  return *session;
}

} // namespace attnc
