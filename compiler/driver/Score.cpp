//===- Score.cpp - attnc score: how probable given outputs are ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/driver/Commands.h"
#include "compiler/driver/Flags.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <memory>
#include <numeric>
#include <unistd.h>

namespace attnc {
namespace {

struct ScoreOptions {
  BundleOptions bundle;
  std::string sourceLanguage; // its code
  bool json = false;
  int batch = 32;
};

/// One line of input.
struct Pair {
  Ids source, target;
  bool isEmpty = false;
};

class Scorer {
public:
  explicit Scorer(const ScoreOptions &options)
      : options(options), model(loadDecoder(options.bundle, "score")),
        codec(model, options.bundle.ids, options.sourceLanguage), session(model, makeCapacity()) {}

  void run() {
    LineReader reader(STDIN_FILENO);
    for (std::vector<std::string> lines; !(lines = reader.read(options.batch)).empty();
         lineNumber += lines.size())
      scoreLines(lines);
  }

private:
  attnrt_session_options makeCapacity() const {
    attnrt_session_options capacity = model.sessionOptions();
    capacity.batch = options.batch;
    capacity.beam = 1;
    capacity.source = std::min(capacity.source, 64);
    capacity.target = std::min(capacity.target, 64);
    capacity.threads = options.bundle.threads;
    capacity.uses = ATTNRT_USE_SCORE;
    return capacity;
  }

  Pair readPair(const std::string &line) const;
  void scoreLines(const std::vector<std::string> &lines);
  std::vector<std::vector<float>> scorePairs(std::span<const Ids> sources, std::span<const Ids> targets);
  void findMistake(std::span<const Ids> sources, std::span<const Ids> targets,
                   std::span<const size_t> numbers);
  void print(const Pair &pair, const std::vector<float> &logProbabilities) const;

  const ScoreOptions &options;
  Model model;
  LineCodec codec;
  GrowingSession session;
  size_t lineNumber = 0;
};

Pair Scorer::readPair(const std::string &line) const {
  if (line.empty())
    return {{}, {}, true};
  const size_t tab = line.find('\t');
  if (tab == std::string::npos)
    throw std::runtime_error("has no TAB between source and target");
  if (line.find('\t', tab + 1) != std::string::npos)
    throw std::runtime_error("has more than one TAB");
  return {codec.read(ATTNRT_SOURCE, line.substr(0, tab)), codec.read(ATTNRT_TARGET, line.substr(tab + 1)),
          false};
}

std::vector<std::vector<float>> Scorer::scorePairs(std::span<const Ids> sources,
                                                   std::span<const Ids> targets) {
  size_t longestSource = 1, longestTarget = 1;
  for (const Ids &source : sources)
    longestSource = std::max(longestSource, source.size());
  for (const Ids &target : targets)
    longestTarget = std::max(longestTarget, target.size() + 1);
  return session.forLengths(longestSource, longestTarget).score(sources, targets);
}

void Scorer::scoreLines(const std::vector<std::string> &lines) {
  std::vector<Pair> pairs;
  std::vector<Ids> sources, targets;
  std::vector<size_t> numbers; // of their lines
  for (size_t i = 0; i < lines.size(); ++i) {
    try {
      pairs.push_back(readPair(lines[i]));
    } catch (const std::exception &error) {
      failAtLines(lineNumber + i + 1, 1, error.what());
    }
    if (pairs.back().isEmpty)
      continue;
    sources.push_back(pairs.back().source);
    targets.push_back(pairs.back().target);
    numbers.push_back(lineNumber + i + 1);
  }
  std::vector<std::vector<float>> scores;
  try {
    if (!sources.empty())
      scores = scorePairs(sources, targets);
  } catch (const std::exception &) {
    findMistake(sources, targets, numbers);
    throw;
  }
  size_t next = 0;
  for (const Pair &pair : pairs) {
    if (pair.isEmpty)
      std::cout << '\n';
    else
      print(pair, scores[next++]);
  }
  std::cout.flush();
}

/// Throws for the first pair that cannot be scored alone.
void Scorer::findMistake(std::span<const Ids> sources, std::span<const Ids> targets,
                         std::span<const size_t> numbers) {
  for (size_t i = 0; i < sources.size(); ++i)
    try {
      scorePairs(sources.subspan(i, 1), targets.subspan(i, 1));
    } catch (const std::exception &error) {
      failAtLines(numbers[i], 1, error.what());
    }
}

std::string formatFloat(double value) {
  char text[32]; // nine digits give a float back exactly
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

void Scorer::print(const Pair &pair, const std::vector<float> &logProbabilities) const {
  const double total = std::accumulate(logProbabilities.begin(), logProbabilities.end(), 0.0);
  if (!options.json) {
    std::cout << formatFloat(total) << '\t';
    for (size_t i = 0; i < logProbabilities.size(); ++i)
      std::cout << (i ? " " : "") << formatFloat(logProbabilities[i]);
    std::cout << '\n';
    return;
  }
  const nlohmann::json ends = nlohmann::json::parse(model.manifest())["tokens"]["end"];
  const int32_t end = ends.is_array() ? ends[0] : ends; // which the entry scores
  nlohmann::ordered_json tokens = nlohmann::ordered_json::array();
  for (size_t i = 0; i < logProbabilities.size(); ++i) {
    const int32_t id = i < pair.target.size() ? pair.target[i] : end;
    tokens.push_back({{"id", id},
                      {"token", model.tokenText(ATTNRT_TARGET, id)},
                      {"log_probability", logProbabilities[i]}});
  }
  const nlohmann::ordered_json line = {{"total", total}, {"tokens", std::move(tokens)}};
  std::cout << line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
}

} // namespace
} // namespace attnc

void addScoreCommand(CLI::App &app, int &exitCode) {
  auto options = std::make_shared<attnc::ScoreOptions>();
  CLI::App *command = app.add_subcommand(
      "score",
      "Log-probabilities of given outputs: source TAB target on each line; total, TAB, one per token out");
  attnc::addBundleFlags(*command, options->bundle, "Options");
  auto *ids = command->add_flag("--ids", options->bundle.ids,
                                "Lines are token ids, the target without start and end token");
  command
      ->add_option("--source-language", options->sourceLanguage,
                   "Code of the language that sources are in, for a model of several")
      ->excludes(ids);
  command->add_flag("--json", options->json, "Print one object a line");
  command->add_option("--batch", options->batch, "Lines scored together (default 32)")
      ->check(attnc::wholeIn({1, 65536}));
  command->callback(
      [options, &exitCode] { exitCode = attnc::runCommand([&] { attnc::Scorer(*options).run(); }); });
}
