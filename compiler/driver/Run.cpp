//===- Run.cpp - attnc run: one sentence a line, decoded ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/driver/Commands.h"
#include "compiler/driver/HeatMap.h"
#include "compiler/driver/SentenceLines.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <memory>
#include <optional>
#include <unistd.h>

namespace attnc {
namespace {

struct RunOptions {
  BundleOptions bundle;
  std::optional<int> beam, nBest, minLength, maxLength;
  std::optional<float> lengthPenalty;
  std::optional<std::string> earlyStopping;
  std::string prefix;
  bool sample = false;
  int topK = 0;
  float topP = 1, temperature = 1;
  uint64_t seed = 0;
  int batch = 0; // 0: one line at a terminal, else 32
  bool scores = false;
  std::string attention;
};

attnrt_stopping parseStopping(const std::string &text) {
  if (text == "never")
    return ATTNRT_STOP_NEVER_EARLY;
  return text == "true" ? ATTNRT_STOP_EARLY : ATTNRT_STOP_LATER;
}

/// The bundle's defaults, changed by what the command line says.
attnrt_decode_options makeDecodeOptions(const Model &model, const RunOptions &options) {
  attnrt_decode_options decoding = model.decodeOptions();
  decoding.n_best = options.nBest.value_or(1);
  decoding.beam = options.beam.value_or(std::max(decoding.beam, decoding.n_best));
  decoding.min_length = options.minLength.value_or(decoding.min_length);
  decoding.max_length = options.maxLength.value_or(std::max(decoding.max_length, decoding.min_length));
  decoding.length_penalty = options.lengthPenalty.value_or(decoding.length_penalty);
  if (options.earlyStopping)
    decoding.stopping = parseStopping(*options.earlyStopping);
  decoding.sample = options.sample;
  decoding.top_k = options.topK;
  decoding.top_p = options.topP;
  decoding.temperature = options.temperature;
  decoding.seed = options.seed;
  return decoding;
}

class Runner {
public:
  explicit Runner(const RunOptions &options)
      : options(options), model(loadBundle(options.bundle)), codec(model, options.bundle.ids),
        decoding(makeDecodeOptions(model, options)), session(model, makeCapacity()) {
    if (!options.prefix.empty())
      prefix = codec.read(ATTNRT_TARGET, options.prefix);
  }

  void run() {
    for (std::vector<std::string> lines; !(lines = readLines(std::cin, batch())).empty();
         lineNumber += lines.size())
      decodeLines(lines);
  }

private:
  size_t batch() const { return options.batch > 0 ? options.batch : isatty(STDIN_FILENO) ? 1 : 32; }

  attnrt_session_options makeCapacity() const {
    attnrt_session_options capacity = model.sessionOptions();
    capacity.batch = static_cast<int32_t>(batch());
    capacity.beam = options.sample ? decoding.n_best : decoding.beam;
    capacity.source = std::min(capacity.source, 64);
    capacity.target = decoding.max_length;
    capacity.threads = options.bundle.threads;
    capacity.uses = options.sample ? ATTNRT_USE_SAMPLE : ATTNRT_USE_DECODE;
    if (!options.prefix.empty())
      capacity.uses |= ATTNRT_USE_SCORE;
    return capacity;
  }

  void decodeLines(const std::vector<std::string> &lines);
  void print(const std::vector<attnrt::api::Hypothesis> &nBest) const;
  void drawAttention(const Ids &source, const Ids &target);

  const RunOptions &options;
  Model model;
  LineCodec codec;
  attnrt_decode_options decoding;
  GrowingSession session;
  Ids prefix;
  size_t lineNumber = 0;
  uint64_t sentenceNumber = 0; // of those decoded, whatever the batches: samples depend on it
  bool hasDrawn = false;
};

/// Lines without tokens are not decoded and stay empty lines.
void Runner::decodeLines(const std::vector<std::string> &lines) {
  std::vector<Ids> sources;
  std::vector<bool> isEmpty;
  size_t longest = 1;
  for (size_t i = 0; i < lines.size(); ++i) {
    try {
      Ids ids = lines[i].empty() ? Ids() : codec.read(ATTNRT_SOURCE, lines[i]);
      isEmpty.push_back(ids.empty());
      longest = std::max(longest, ids.size());
      if (!ids.empty())
        sources.push_back(std::move(ids));
    } catch (const std::exception &error) {
      failAtLines(lineNumber + i + 1, 1, error.what());
    }
  }
  std::vector<std::vector<attnrt::api::Hypothesis>> results;
  if (!sources.empty()) {
    const std::vector<attnrt_ids> prefixes(sources.size(), {prefix.size(), prefix.data()});
    decoding.prefixes = prefix.empty() ? nullptr : prefixes.data();
    decoding.first_sentence = sentenceNumber;
    sentenceNumber += sources.size();
    try {
      results = session.forLengths(longest, decoding.max_length).decode(sources, decoding);
    } catch (const std::exception &error) {
      failAtLines(lineNumber + 1, lines.size(), error.what());
    }
  }
  size_t next = 0;
  for (const bool empty : isEmpty) {
    print(empty ? std::vector<attnrt::api::Hypothesis>() : results[next]);
    if (!empty && !hasDrawn && !options.attention.empty())
      drawAttention(sources[next], results[next].empty() ? Ids() : results[next].front().ids);
    next += empty ? 0 : 1;
  }
  std::cout.flush();
}

void Runner::print(const std::vector<attnrt::api::Hypothesis> &nBest) const {
  for (size_t rank = 0; rank < static_cast<size_t>(decoding.n_best); ++rank) {
    if (rank < nBest.size()) {
      std::cout << codec.write(nBest[rank].ids);
      char score[32]; // nine digits give a float back exactly
      std::snprintf(score, sizeof score, "\t%.9g", static_cast<double>(nBest[rank].score));
      if (options.scores)
        std::cout << score;
    }
    std::cout << '\n';
  }
}

/// The picture of the first sentence: target tokens down, source tokens across.
void Runner::drawAttention(const Ids &source, const Ids &target) {
  hasDrawn = true;
  attnrt_session_options capacity = model.sessionOptions();
  capacity.source = static_cast<int32_t>(source.size());
  capacity.target = static_cast<int32_t>(target.size() + 1);
  capacity.beam = 1;
  capacity.uses = ATTNRT_USE_ATTEND;
  capacity.threads = options.bundle.threads;
  HeatMap map;
  map.values = Session(model, capacity).attend(source, target);
  for (const int32_t id : source)
    map.columns.push_back(model.tokenText(ATTNRT_SOURCE, id));
  for (const int32_t id : target)
    map.rows.push_back(model.tokenText(ATTNRT_TARGET, id));
  map.rows.push_back("(end)");
  writeHeatMap(map, options.attention);
}

void addDecodingOptions(CLI::App &command, RunOptions &options) {
  command.add_option("--beam", options.beam, "Hypotheses followed at once; 1 is greedy")
      ->check(CLI::Range(1, 1024));
  command.add_option("--n-best", options.nBest, "Outputs (or samples) per line")->check(CLI::Range(1, 1024));
  command.add_option("--length-penalty", options.lengthPenalty, "Scores are sum / length ^ this");
  command.add_option("--min-length", options.minLength, "Tokens before the end token is allowed")
      ->check(CLI::NonNegativeNumber);
  command.add_option("--max-length", options.maxLength, "Tokens at most, the end token counted")
      ->check(CLI::PositiveNumber);
  command
      .add_option("--early-stopping", options.earlyStopping, "When a beam search ends: true, false or never")
      ->check(CLI::IsMember({"true", "false", "never"}));
  command.add_option("--prefix", options.prefix, "What every output begins with");
  command.add_flag("--sample", options.sample, "Draw tokens instead of searching");
  command.add_option("--top-k", options.topK, "Draw from the k most probable tokens; 0: all")
      ->check(CLI::NonNegativeNumber);
  command.add_option("--top-p", options.topP,
                     "Draw from the fewest tokens that have this probability together");
  command.add_option("--temperature", options.temperature,
                     "Above 1 flattens, below 1 sharpens the distribution");
  command.add_option("--seed", options.seed,
                     "Of the samples: seed and place among the lines fix a line's samples");
}

} // namespace
} // namespace attnc

void addRunCommand(CLI::App &app, int &exitCode) {
  auto options = std::make_shared<attnc::RunOptions>();
  CLI::App *command =
      app.add_subcommand("run", "Decode: one sentence a line from stdin, one line each to stdout");
  command->add_option("bundle", options->bundle.folder, "Folder written by 'attnc compile'")->required();
  attnc::addDecodingOptions(*command, *options);
  command->add_option("--batch", options->batch, "Lines decoded together (default 32, at a terminal 1)")
      ->check(CLI::Range(1, 65536));
  command->add_option("--threads", options->bundle.threads, "Threads; 0: one per core")
      ->check(CLI::Range(0, 1024));
  command->add_option("--variant", options->bundle.variant,
                      "Kernels to use; the best this machine can run if not given");
  command->add_flag("--scores", options->scores, "Append TAB and the score");
  command->add_flag("--ids", options->bundle.ids, "Lines are token ids, in and out");
  command->add_option("--attention", options->attention,
                      "Draw the first line's cross-attention into this SVG file");
  command->callback(
      [options, &exitCode] { exitCode = attnc::runCommand([&] { attnc::Runner(*options).run(); }); });
}
