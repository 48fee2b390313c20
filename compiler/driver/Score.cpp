//===- Score.cpp - attnc score: how probable given outputs are ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/driver/Commands.h"
#include "compiler/driver/Flags.h"
#include "compiler/driver/SentenceLines.h"

#include <nlohmann/json.hpp>

#include <algorithm>
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
  bool skipsBadLines = false;
  int batch = 32;
};

/// One line of input.
struct Pair {
  Ids source, target;
  bool isEmpty = false;
  std::string mistake;
  std::vector<float> logProbabilities; // of the target's tokens and of the end token
};

class Scorer {
public:
  explicit Scorer(const ScoreOptions &options)
      : options(options), model(loadDecoder(options.bundle, "score")),
        codec(model, options.bundle.ids, options.sourceLanguage), session(model, makeCapacity()) {}

  /// The exit code.
  int run();

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
  void scorePairs(const std::vector<Pair *> &batch);
  bool print(const std::vector<Pair> &pairs);
  void printPair(const Pair &pair) const;

  const ScoreOptions &options;
  Model model;
  LineCodec codec;
  GrowingSession session;
  size_t lineNumber = 0;
};

int Scorer::run() {
  session.open();
  LineReader reader(STDIN_FILENO);
  bool isGood = true;
  for (std::vector<std::string> lines; !(lines = reader.read(options.batch)).empty();
       lineNumber += lines.size()) {
    std::vector<Pair> pairs = readLines<Pair>(lines, options.skipsBadLines,
                                              [&](const std::string &line) { return readPair(line); });
    std::vector<Pair *> batch;
    for (Pair &pair : pairs)
      if (!pair.isEmpty && pair.mistake.empty())
        batch.push_back(&pair);
    scorePairs(batch);
    isGood &= print(pairs);
  }
  return isGood ? 0 : 1;
}

Pair Scorer::readPair(const std::string &line) const {
  Pair pair;
  pair.isEmpty = line.empty();
  if (pair.isEmpty)
    return pair;
  const size_t tab = line.find('\t');
  if (tab == std::string::npos)
    throw std::runtime_error("has no TAB between source and target");
  if (line.find('\t', tab + 1) != std::string::npos)
    throw std::runtime_error("has more than one TAB");
  pair.source = codec.read(ATTNRT_SOURCE, line.substr(0, tab));
  pair.target = codec.read(ATTNRT_TARGET, line.substr(tab + 1));
  return pair;
}

/// Where a batch fails, its pairs are scored one by one: to find out which of them it is.
void Scorer::scorePairs(const std::vector<Pair *> &batch) {
  if (batch.empty())
    return;
  size_t longestSource = 1, longestTarget = 1;
  std::vector<Ids> sources, targets;
  for (const Pair *pair : batch) {
    longestSource = std::max(longestSource, sources.emplace_back(pair->source).size());
    longestTarget = std::max(longestTarget, targets.emplace_back(pair->target).size() + 1);
  }
  try {
    std::vector<std::vector<float>> scores =
        session.forLengths(longestSource, longestTarget).score(sources, targets);
    for (size_t i = 0; i < batch.size(); ++i)
      batch[i]->logProbabilities = std::move(scores[i]);
    return;
  } catch (const attnrt::api::Error &error) {
    const bool isPairs = error.status == ATTNRT_INVALID_ARGUMENT || error.status == ATTNRT_OUT_OF_RANGE;
    if (!isPairs)
      throw;
    if (batch.size() == 1) {
      batch[0]->mistake = error.what();
      return;
    }
  }
  for (Pair *pair : batch)
    scorePairs({pair});
}

/// Stops at the first mistake, or tells of each and returns false.
bool Scorer::print(const std::vector<Pair> &pairs) {
  bool isGood = true;
  for (size_t i = 0; i < pairs.size(); ++i) {
    const std::string &mistake = pairs[i].mistake;
    const size_t number = lineNumber + i + 1;
    if (!mistake.empty()) {
      tellMistake(number, mistake, options.skipsBadLines);
      isGood = false;
    }
    if (pairs[i].isEmpty || !mistake.empty())
      std::cout << '\n';
    else
      printPair(pairs[i]);
  }
  std::cout.flush();
  return isGood;
}

void Scorer::printPair(const Pair &pair) const {
  const std::vector<float> &logProbabilities = pair.logProbabilities;
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
  printJson({{"total", total}, {"tokens", std::move(tokens)}});
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
  command->add_flag("--skip-bad-lines", options->skipsBadLines,
                    "Go on after a line with a mistake, with an empty output; exit with 1 in the end");
  command->add_option("--batch", options->batch, "Lines scored together (default 32)")
      ->check(attnc::wholeIn(attnrt::ranges::batch));
  command->callback(
      [options, &exitCode] { exitCode = attnc::runCommand([&] { return attnc::Scorer(*options).run(); }); });
}
