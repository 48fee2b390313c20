//===- Run.cpp - attnc run: one sentence a line, decoded ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/driver/Commands.h"
#include "compiler/driver/DecodingFlags.h"
#include "compiler/driver/Flags.h"
#include "compiler/driver/HeatMap.h"
#include "compiler/driver/OutputPrinter.h"
#include "compiler/driver/Picture.h"
#include "compiler/driver/RunEncoder.h"
#include "compiler/driver/SentenceLines.h"

#include <algorithm>
#include <iostream>
#include <memory>
#include <set>
#include <unistd.h>

namespace attnc {
namespace {

using HypothesisList = std::vector<attnrt::api::Hypothesis>;

struct RunOptions {
  BundleOptions bundle;
  DecodingFlags decoding;
  OutputFormat format;
  std::string prefix;
  std::string sourceLanguage; // its code
  int batch = 0;              // 0: one line at a terminal, else 32; with batchTokens 256
  int batchTokens = 0;        // 0: lines are not sorted
  bool skipsBadLines = false;
  std::string attention;
  std::string vectors = "mean"; // this and the next: of encoders that stand alone
  bool fillsMasks = false;
};

/// A line of the input; without tokens there is nothing to decode.
struct Sentence {
  Ids source;
  HypothesisList outputs;
  std::string mistake;
};

class Runner {
public:
  Runner(const RunOptions &options, const Model &model)
      : options(options), model(model), codec(model, options.bundle.ids, options.sourceLanguage),
        decoding(model, options.decoding), session(model, makeCapacity()),
        printer(model, codec, options.format, decoding->n_best) {
    readPrefix();
    checkOptions();
    checkPicture(options.attention);
    session.open();
  }

  /// The exit code.
  int run();

private:
  void readPrefix();
  void checkOptions();
  size_t batch() const;
  size_t linesAtOnce() const;
  attnrt_session_options makeCapacity();
  std::vector<Sentence> read(const std::vector<std::string> &lines) const;
  std::vector<std::vector<size_t>> makeBatches(const std::vector<Sentence> &sentences) const;
  void decodeBatch(const std::vector<size_t> &batch, std::vector<Sentence> &sentences);
  std::vector<HypothesisList> decodeSources(const std::vector<Ids> &sources);
  bool print(const std::vector<Sentence> &sentences);
  void drawAttention(const Ids &source, const attnrt::api::Hypothesis &output);

  const RunOptions &options;
  const Model &model;
  LineCodec codec;
  DecodingOptions decoding;
  GrowingSession session;
  OutputPrinter printer;
  Ids prefix;
  size_t lineNumber = 0;
  uint64_t sentenceNumber = 0; // of those decoded, whatever the batches: samples depend on it
  bool hasDrawn = false;
};

void Runner::readPrefix() {
  try {
    prefix = codec.read(ATTNRT_TARGET, options.prefix);
  } catch (const std::exception &error) {
    throw CLI::ValidationError("--prefix", error.what());
  }
}

/// What is wrong with all lines is said once, before any of them.
void Runner::checkOptions() {
  const attnrt_ids view{prefix.size(), prefix.data()};
  attnrt_decode_options all = *decoding;
  all.prefixes = prefix.empty() ? nullptr : &view;
  try {
    model.checkOptions(all);
  } catch (const attnrt::api::Error &error) {
    throw CLI::ValidationError(error.what());
  }
  if (options.batchTokens > 0 && decoding->sample)
    throw CLI::ValidationError(
        "--batch-tokens is not for samples, which depend on their place among the lines");
}

size_t Runner::batch() const {
  if (options.batch > 0)
    return options.batch;
  if (options.batchTokens > 0)
    return 256;
  return isatty(STDIN_FILENO) ? 1 : 32;
}

/// Sorting by length needs many lines to choose from.
size_t Runner::linesAtOnce() const { return options.batchTokens > 0 ? 16 * batch() : batch(); }

attnrt_session_options Runner::makeCapacity() {
  decoding->return_attention = options.format.alignments || !options.attention.empty();
  attnrt_session_options capacity = model.sessionOptions();
  decoding.reserve(capacity);
  capacity.batch = static_cast<int32_t>(batch());
  capacity.source = std::min(capacity.source, 64);
  capacity.threads = options.bundle.threads;
  if (!options.prefix.empty())
    capacity.uses |= ATTNRT_USE_SCORE;
  return capacity;
}

int Runner::run() {
  LineReader reader(STDIN_FILENO);
  bool isGood = true;
  for (std::vector<std::string> lines; !(lines = reader.read(linesAtOnce())).empty();
       lineNumber += lines.size()) {
    std::vector<Sentence> sentences = read(lines);
    for (const std::vector<size_t> &batch : makeBatches(sentences))
      decodeBatch(batch, sentences);
    isGood &= print(sentences);
  }
  if (!options.attention.empty() && !hasDrawn)
    throw std::runtime_error("--attention " + options.attention + ": there was no line to draw");
  return isGood ? 0 : 1;
}

std::vector<Sentence> Runner::read(const std::vector<std::string> &lines) const {
  return readLines<Sentence>(lines, options.skipsBadLines, [&](const std::string &line) {
    return Sentence{line.empty() ? Ids() : codec.read(ATTNRT_SOURCE, line), {}, {}};
  });
}

/// Which sentences are decoded together: neighbours, or those of similar length.
std::vector<std::vector<size_t>> Runner::makeBatches(const std::vector<Sentence> &sentences) const {
  std::vector<size_t> numbers, lengths;
  for (size_t i = 0; i < sentences.size(); ++i)
    if (!sentences[i].source.empty()) {
      numbers.push_back(i);
      lengths.push_back(sentences[i].source.size());
    }
  std::vector<std::vector<size_t>> batches =
      attnrt::api::makeBatches(lengths, batch(), static_cast<size_t>(options.batchTokens));
  for (std::vector<size_t> &batch : batches)
    for (size_t &i : batch)
      i = numbers[i];
  return batches;
}

std::vector<HypothesisList> Runner::decodeSources(const std::vector<Ids> &sources) {
  size_t longest = 1;
  for (const Ids &source : sources)
    longest = std::max(longest, source.size());
  const std::vector<attnrt_ids> prefixes(sources.size(), {prefix.size(), prefix.data()});
  decoding->prefixes = prefix.empty() ? nullptr : prefixes.data();
  decoding->first_sentence = sentenceNumber;
  return session.forLengths(longest, decoding->max_length).decode(sources, *decoding);
}

/// Where a batch fails, its sentences are decoded one by one: to find out which of them it is.
void Runner::decodeBatch(const std::vector<size_t> &batch, std::vector<Sentence> &sentences) {
  std::vector<Ids> sources;
  for (const size_t i : batch)
    sources.push_back(sentences[i].source);
  try {
    std::vector<HypothesisList> results = decodeSources(sources);
    for (size_t i = 0; i < batch.size(); ++i)
      sentences[batch[i]].outputs = std::move(results[i]);
    sentenceNumber += batch.size();
    return;
  } catch (const attnrt::api::Error &error) {
    if (!isMistakeOfLine(error))
      throw;
    if (batch.size() == 1) {
      sentences[batch[0]].mistake = error.what();
      return;
    }
  }
  for (const size_t i : batch)
    decodeBatch({i}, sentences);
}

/// Whether the first output chose any token, be it the end.
static bool hasTokens(const std::vector<attnrt::api::Hypothesis> &outputs) {
  return !outputs.empty() && (outputs.front().ended || !outputs.front().ids.empty());
}

/// Stops at the first mistake, or tells of each and returns false.
bool Runner::print(const std::vector<Sentence> &sentences) {
  bool isGood = true;
  for (size_t i = 0; i < sentences.size(); ++i) {
    const Sentence &sentence = sentences[i];
    const size_t number = lineNumber + i + 1;
    if (!sentence.mistake.empty()) {
      tellMistake(number, sentence.mistake, options.skipsBadLines);
      isGood = false;
    }
    printer.print(number, sentence.outputs);
    if (!options.attention.empty() && !hasDrawn && hasTokens(sentence.outputs))
      drawAttention(sentence.source, sentence.outputs.front());
  }
  std::cout.flush();
  return isGood;
}

/// The picture of the first sentence that has one: target tokens down, source tokens across. There is a row
/// for each token that was chosen: the end only where the output has ended.
void Runner::drawAttention(const Ids &source, const attnrt::api::Hypothesis &output) {
  hasDrawn = true;
  HeatMap map;
  for (const int32_t id : source)
    map.columns.push_back(model.tokenText(ATTNRT_SOURCE, id));
  for (const int32_t id : output.ids)
    map.rows.push_back(model.tokenText(ATTNRT_TARGET, id));
  if (output.ended)
    map.rows.push_back("(end)");
  map.values = output.attention;
  writePicture(options.attention, drawHeatMap(map));
  decoding->return_attention = options.format.alignments;
}

void addLineFlags(CLI::App &command, RunOptions &options) {
  const char *group = "Lines";
  command.add_option("--prefix", options.prefix, "What every output begins with")->group(group);
  auto *ids = command
                  .add_flag("--ids", options.bundle.ids,
                            "Lines are token ids, in and out. Nothing is added to a source: it ends with the "
                            "model's source_end where there is one, with its last token otherwise")
                  ->group(group);
  command
      .add_option("--source-language", options.sourceLanguage,
                  "Code of the language that lines are in, for a model of several")
      ->excludes(ids)
      ->group(group);
  command.add_flag("--scores", options.format.scores, "Append TAB and the score")->group(group);
  command
      .add_flag("--alignments", options.format.alignments,
                "Append TAB and source-target pairs of positions: where each output token looked most")
      ->group(group);
  command.add_flag("--json", options.format.json, "Print one object for each line")->group(group);
  command
      .add_flag("--skip-bad-lines", options.skipsBadLines,
                "Go on after a line with a mistake, with an empty output; exit with 1 in the end")
      ->group(group);
  command
      .add_option("--attention", options.attention,
                  "Draw the first line's cross-attention into this SVG file")
      ->type_name("FILE")
      ->group(group);
}

void addMachineFlags(CLI::App &command, RunOptions &options) {
  const char *group = "Machine";
  addBundleFlags(command, options.bundle, group);
  command
      .add_option("--batch", options.batch,
                  "Lines decoded together, at most (default 32, at a terminal 1, by tokens 256)")
      ->check(wholeIn(attnrt::ranges::batch))
      ->group(group);
  command
      .add_option("--batch-tokens", options.batchTokens,
                  "Source tokens decoded together, at most, padding counted: lines of similar length are put "
                  "together, outputs keep the order of the lines")
      ->check(wholeIn(attnrt::ranges::sessionLength))
      ->group(group);
}

void addEncoderFlags(CLI::App &command, RunOptions &options) {
  const char *group = "Encoders (bundles that do not decode)";
  command
      .add_option("--vectors", options.vectors,
                  "What to print of each line: the mean of its tokens' rows (default), the first token's, "
                  "the pooler's, or all tokens' rows with TABs between them")
      ->check(CLI::IsMember({"mean", "first", "pooled", "tokens"}))
      ->group(group);
  command
      .add_flag("--fill-mask", options.fillsMasks,
                "Print each line with its mask tokens replaced by the most probable tokens")
      ->excludes("--vectors")
      ->group(group);
}

/// An option that would have no effect is a mistake.
void refuseOptions(const CLI::App &command, const std::set<std::string> &names, bool areAllowed,
                   const std::string &why) {
  for (const CLI::Option *option : command.get_options())
    if (option->count() > 0 && option->nonpositional() && names.contains(option->get_name()) != areAllowed)
      throw CLI::ValidationError(option->get_name() + " has no meaning for " + why);
}

int runOnEncoder(const CLI::App &command, const RunOptions &options, const Model &model) {
  std::set<std::string> known = {"--vectors", "--fill-mask", "--ids",     "--json",
                                 "--batch",   "--threads",   "--variant", "--skip-bad-lines"};
  if (options.fillsMasks)
    known.insert({"--n-best", "--scores"});
  else
    refuseOptions(command, {"--n-best", "--scores"}, /*areAllowed=*/false, "an encoder without --fill-mask");
  refuseOptions(command, known, /*areAllowed=*/true,
                "'" + model.name() + "', an encoder that does not decode");
  EncoderRunOptions encoder{options.bundle, options.vectors, options.fillsMasks};
  encoder.nBest = options.decoding.nBest.value_or(1);
  encoder.scores = options.format.scores;
  encoder.json = options.format.json;
  encoder.skipsBadLines = options.skipsBadLines;
  encoder.batch = options.batch > 0 ? options.batch : isatty(STDIN_FILENO) ? 1 : 32;
  return runEncoder(encoder, model);
}

int run(const CLI::App &command, const RunOptions &options) {
  const Model model = loadBundle(options.bundle);
  if (model.width() > 0)
    return runOnEncoder(command, options, model);
  refuseGraph(model);
  refuseOptions(command, {"--vectors", "--fill-mask"}, /*areAllowed=*/false,
                "'" + model.name() + "': it is not an encoder that stands alone");
  return Runner(options, model).run();
}

} // namespace
} // namespace attnc

void addRunCommand(CLI::App &app, int &exitCode) {
  auto options = std::make_shared<attnc::RunOptions>();
  CLI::App *command =
      app.add_subcommand("run", "Decode: one sentence a line from stdin, one line each to stdout");
  command->footer("What is not given is the bundle's default. docs/decoding.md explains each rule.");
  attnc::addLineFlags(*command, *options);
  attnc::addDecodingFlags(*command, options->decoding);
  attnc::addEncoderFlags(*command, *options);
  attnc::addMachineFlags(*command, *options);
  command->callback([command, options, &exitCode] {
    exitCode = attnc::runCommand([&] { return attnc::run(*command, *options); });
  });
}
