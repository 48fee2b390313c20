//===- RunEncoder.cpp - attnc run on an encoder that stands alone -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One sentence a line, or two with a TAB between them: tokens of the second have type 1.

#include "compiler/driver/RunEncoder.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <iostream>
#include <optional>
#include <unistd.h>

namespace attnc {
namespace {

using Json = nlohmann::ordered_json;
using attnrt::api::view;

/// A line of the input; without tokens there is nothing to encode.
struct EncoderLine {
  Ids ids, types;
  size_t second = 0; // where the second sentence begins; 0: there is none
  std::string mistake;
};

/// A masked token and its candidates, best first.
struct Mask {
  size_t position;
  Session::Prediction candidates;
};

class EncoderRunner {
public:
  EncoderRunner(const EncoderRunOptions &options, const Model &model)
      : options(options), model(model), manifest(Json::parse(model.manifest())),
        session(model, makeCapacity()) {
    if (options.vectors == "pooled" && !manifest.value("pooler", false))
      throw CLI::ValidationError("--vectors", "'" + model.name() + "' has no pooler");
    if (options.fillsMasks && manifest["tokens"]["mask"].is_null())
      throw CLI::ValidationError("--fill-mask", "'" + model.name() + "' names no mask token");
    if (const Json &words = manifest["vocabulary"]["source"]; options.fillsMasks && options.nBest > words)
      throw CLI::ValidationError("--n-best", "'" + model.name() + "' has " + words.dump() + " words");
  }

  int run();

private:
  using Batch = std::vector<const EncoderLine *>;

  attnrt_session_options makeCapacity() const;
  std::optional<int32_t> maskToken() const;
  /// How many tokens text gets before it (`source_start`) or after it (`source_end`).
  std::ptrdiff_t countOf(const char *tokens) const;
  Ids tokenize(const std::string &text) const;
  EncoderLine readLine(const std::string &line) const;
  void check(const EncoderLine &line) const;
  void printVectors(const Batch &batch, size_t first);
  void printVector(const EncoderLine &line, size_t number, const float *hidden, const float *pooled) const;
  void printRows(const EncoderLine &line, size_t number, const std::vector<std::vector<float>> &rows) const;
  std::vector<Mask> predict(const EncoderLine &line);
  void printFilled(const EncoderLine &line, size_t number);
  bool print(const Batch &batch, size_t first);
  std::string write(const EncoderLine &line, const Ids &ids) const;
  Session &sessionFor(const Batch &batch);

  const EncoderRunOptions &options;
  const Model &model;
  Json manifest;
  GrowingSession session;
  size_t lineNumber = 0;
};

attnrt_session_options EncoderRunner::makeCapacity() const {
  attnrt_session_options capacity = model.sessionOptions();
  capacity.batch = static_cast<int32_t>(options.batch);
  capacity.source = std::min(capacity.source, 64);
  capacity.threads = options.bundle.threads;
  return capacity;
}

std::optional<int32_t> EncoderRunner::maskToken() const {
  const Json &id = manifest["tokens"]["mask"];
  return id.is_null() ? std::nullopt : std::optional(id.get<int32_t>());
}

std::ptrdiff_t EncoderRunner::countOf(const char *tokens) const {
  return static_cast<std::ptrdiff_t>(manifest["tokens"][tokens].size());
}

Ids EncoderRunner::tokenize(const std::string &text) const {
  return options.bundle.ids ? parseIds(text) : model.tokenize(ATTNRT_SOURCE, text);
}

EncoderLine EncoderRunner::readLine(const std::string &text) const {
  const size_t tab = text.find('\t');
  EncoderLine line;
  line.ids = tokenize(text.substr(0, tab));
  line.types.assign(line.ids.size(), 0);
  if (tab == std::string::npos)
    return line;
  if (manifest["token_types"] < 2)
    throw std::runtime_error("has a second sentence after a TAB, but the model has no second token type");
  Ids second = tokenize(text.substr(tab + 1));
  if (!options.bundle.ids) // the start tokens are for both
    second.erase(second.begin(), second.begin() + countOf("source_start"));
  line.second = line.ids.size();
  line.ids.insert(line.ids.end(), second.begin(), second.end());
  line.types.resize(line.ids.size(), 1);
  return line;
}

/// What the session would refuse, with every other line of the batch.
void EncoderRunner::check(const EncoderLine &line) const {
  const Json &limit = manifest["limits"]["source"];
  if (!limit.is_null() && line.ids.size() > limit.get<size_t>())
    throw std::runtime_error("has " + std::to_string(line.ids.size()) + " tokens, the model takes at most " +
                             std::to_string(limit.get<size_t>()));
  checkIds(line.ids, manifest["vocabulary"]["source"].get<int32_t>());
  if (options.fillsMasks && !line.ids.empty() && std::ranges::find(line.ids, *maskToken()) == line.ids.end())
    throw std::runtime_error("has no mask token (" + std::to_string(*maskToken()) + ")");
}

Session &EncoderRunner::sessionFor(const Batch &batch) {
  size_t longest = 1;
  for (const EncoderLine *line : batch)
    longest = std::max(longest, line->ids.size());
  return session.forLengths(longest, 0);
}

/// One row is a vector; several are separated by TABs.
void EncoderRunner::printRows(const EncoderLine &line, size_t number,
                              const std::vector<std::vector<float>> &rows) const {
  if (options.json) {
    Json json = {{"line", number}, {"ids", line.ids}};
    if (options.vectors == "tokens")
      json["vectors"] = rows;
    else
      json["vector"] = rows.front();
    return printJson(json);
  }
  for (size_t row = 0; row < rows.size(); ++row)
    for (size_t i = 0; i < rows[row].size(); ++i)
      std::cout << (i ? " " : row ? "\t" : "") << formatFloat(rows[row][i]);
  std::cout << '\n';
}

void EncoderRunner::printVector(const EncoderLine &line, size_t number, const float *hidden,
                                const float *pooled) const {
  const size_t width = model.width();
  if (pooled)
    return printRows(line, number, {{pooled, pooled + width}});
  std::vector<std::vector<float>> rows;
  for (size_t i = 0; i < line.ids.size(); ++i)
    rows.emplace_back(hidden + i * width, hidden + (i + 1) * width);
  if (options.vectors == "mean") {
    std::vector<float> mean(width);
    for (size_t i = 0; i < width; ++i) {
      double sum = 0;
      for (const std::vector<float> &row : rows)
        sum += row[i];
      mean[i] = static_cast<float>(sum / static_cast<double>(rows.size()));
    }
    rows = {mean};
  } else if (options.vectors == "first") {
    rows.resize(1);
  }
  printRows(line, number, rows);
}

void EncoderRunner::printVectors(const Batch &batch, size_t first) {
  std::vector<Ids> sources, types;
  for (const EncoderLine *line : batch)
    if (!line->ids.empty()) {
      sources.push_back(line->ids);
      types.push_back(line->types);
    }
  if (manifest["token_types"] == 0)
    types.clear();
  const bool isPooled = options.vectors == "pooled";
  std::vector<std::vector<float>> hidden;
  std::vector<float> pooled;
  if (!sources.empty() && isPooled)
    pooled = sessionFor(batch).pool(sources, types);
  else if (!sources.empty())
    hidden = sessionFor(batch).encode(sources, types);
  size_t next = 0;
  for (size_t i = 0; i < batch.size(); ++i) {
    if (batch[i]->ids.empty()) {
      options.json ? printJson({{"line", first + i}, {"ids", Ids()}}) : void(std::cout << '\n');
      continue;
    }
    printVector(*batch[i], first + i, isPooled ? nullptr : hidden[next].data(),
                isPooled ? &pooled[next * model.width()] : nullptr);
    ++next;
  }
}

std::vector<Mask> EncoderRunner::predict(const EncoderLine &line) {
  std::vector<attnrt_place> places;
  for (size_t i = 0; i < line.ids.size(); ++i)
    if (line.ids[i] == *maskToken())
      places.push_back({0, i});
  const std::vector<Ids> sources = {line.ids}, types = {line.types};
  const auto predictions = sessionFor({&line}).predict(
      sources, places, options.nBest, manifest["token_types"] == 0 ? std::span<const Ids>() : types);
  std::vector<Mask> masks;
  for (size_t i = 0; i < places.size(); ++i)
    masks.push_back({places[i].position, predictions[i]});
  return masks;
}

/// Ids as they came, or text without the start and end tokens.
std::string EncoderRunner::write(const EncoderLine &line, const Ids &ids) const {
  const auto part = [&](size_t begin, size_t end) {
    Ids kept(ids.begin() + static_cast<std::ptrdiff_t>(begin),
             ids.begin() + static_cast<std::ptrdiff_t>(end));
    std::string text;
    if (options.bundle.ids) {
      for (const int32_t id : kept)
        text += (text.empty() ? "" : " ") + std::to_string(id);
      return text;
    }
    if (begin == 0)
      kept.erase(kept.begin(), kept.begin() + countOf("source_start"));
    kept.erase(kept.end() - countOf("source_end"), kept.end());
    text = model.detokenize(ATTNRT_SOURCE, kept);
    std::ranges::replace_if(text, [](char c) { return c == '\n' || c == '\r'; }, ' ');
    return text;
  };
  return line.second ? part(0, line.second) + '\t' + part(line.second, ids.size()) : part(0, ids.size());
}

/// The n-th line has the n-th best token in each mask.
void EncoderRunner::printFilled(const EncoderLine &line, size_t number) {
  if (line.ids.empty() && !options.json) {
    std::cout << std::string(options.nBest, '\n');
    return;
  }
  const std::vector<Mask> masks = line.ids.empty() ? std::vector<Mask>() : predict(line);
  Json json = {{"line", number}, {"outputs", Json::array()}};
  for (size_t rank = 0; !masks.empty() && rank < static_cast<size_t>(options.nBest); ++rank) {
    Ids ids = line.ids;
    double score = 0;
    Json tokens = Json::array();
    for (const Mask &mask : masks) {
      const int32_t id = ids[mask.position] = mask.candidates.ids[rank];
      const float logProbability = mask.candidates.logProbabilities[rank];
      score += logProbability;
      tokens.push_back({{"position", mask.position},
                        {"id", id},
                        {"token", model.tokenText(ATTNRT_SOURCE, id)},
                        {"log_probability", logProbability}});
    }
    if (options.json)
      json["outputs"].push_back({{"text", write(line, ids)}, {"ids", ids}, {"masks", std::move(tokens)}});
    else
      std::cout << write(line, ids) << (options.scores ? "\t" + formatFloat(score) : "") << '\n';
  }
  if (options.json)
    printJson(json);
}

/// Line `first` and those after it; whether all were good. Where a batch fails, its lines are printed one by
/// one: to find out which of them it is.
bool EncoderRunner::print(const Batch &batch, size_t first) {
  bool isGood = true;
  if (!options.fillsMasks || batch.size() == 1) {
    try {
      options.fillsMasks ? printFilled(*batch[0], first) : printVectors(batch, first);
      std::cout.flush();
      return true;
    } catch (const attnrt::api::Error &error) {
      if (!isMistakeOfLine(error))
        throw;
      if (batch.size() == 1) {
        tellMistake(first, error.what(), options.skipsBadLines);
        const EncoderLine none;
        print({&none}, first);
        return false;
      }
    }
  }
  for (size_t i = 0; i < batch.size(); ++i)
    isGood &= print({batch[i]}, first + i);
  return isGood;
}

int EncoderRunner::run() {
  session.open();
  LineReader reader(STDIN_FILENO);
  bool isGood = true;
  for (std::vector<std::string> texts; !(texts = reader.read(options.batch)).empty();
       lineNumber += texts.size()) {
    const std::vector<EncoderLine> lines =
        readLines<EncoderLine>(texts, options.skipsBadLines, [&](const std::string &text) {
          EncoderLine line = text.empty() ? EncoderLine() : readLine(text);
          check(line);
          return line;
        });
    Batch batch;
    for (const EncoderLine &line : lines) {
      if (!line.mistake.empty()) {
        isGood = false;
        if (!options.skipsBadLines)
          break; // it is the last one
        tellMistake(lineNumber + batch.size() + 1, line.mistake, /*skipsBadLines=*/true);
      }
      batch.push_back(&line);
    }
    isGood &= print(batch, lineNumber + 1);
    if (batch.size() < lines.size())
      failAtLines(lineNumber + lines.size(), 1, lines.back().mistake);
  }
  return isGood ? 0 : 1;
}

} // namespace

int runEncoder(const EncoderRunOptions &options, const Model &model) {
  return EncoderRunner(options, model).run();
}

} // namespace attnc
