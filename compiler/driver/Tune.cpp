//===- Tune.cpp - attnc tune: schedules that are faster than the rules' -------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/driver/Commands.h"
#include "compiler/driver/Failure.h"
#include "compiler/driver/Flags.h"
#include "compiler/driver/Frontend.h"
#include "compiler/driver/Tuner.h"
#include "compiler/emit/CpuVariant.h"

#include "llvm/ADT/StringExtras.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>

namespace attnc {
namespace {

/// As the command line has it.
struct TuneFlags {
  TuneOptions options;
  GraphCallOptions call;
  std::vector<std::string> sizes; // of each call: NAME=N,...
};

/// The kinds of specs differ in what is timed.
void checkFlags(const TuneFlags &flags, const Spec &spec) {
  using enum KindFlag::Rule;
  const TuneOptions &options = flags.options;
  const bool isGraph = !spec.model, decodes = spec.model && hasDecoder(*spec.model);
  const KindFlag::Rule ofModels = isGraph ? Refused : Taken, ofDecoders = decodes ? Taken : Refused,
                       ofGraphs = isGraph ? Taken : Refused;
  checkKindFlags({{"--batch", !options.batches.empty(), ofModels},
                  {"--source-length", options.sourceLength > 0, ofModels},
                  {"--target-length", options.targetLength > 0, ofDecoders},
                  {"--beam", options.beam > 0, ofDecoders},
                  {"--entry", !flags.call.entry.empty(), ofGraphs},
                  {"--sizes", !flags.sizes.empty(), ofGraphs},
                  {"--values", !flags.call.values.empty(), ofGraphs}},
                 options.spec, spec.kind());
}

/// Of one target: kernels are timed where it runs.
void checkTarget(const std::string &target) {
  llvm::Expected<std::vector<CpuVariant>> named = parseTargets(target);
  if (!named)
    throw CLI::ValidationError("--target", llvm::toString(named.takeError()));
  if (named->size() != 1)
    throw CLI::ValidationError("--target", "takes one target: tune once for each");
  if (!runsHere(named->front()))
    throw CLI::ValidationError("--target", "this machine cannot run " + target);
}

int valueOr(int given, int usual) { return given > 0 ? given : usual; }

int tune(TuneFlags flags) {
  TuneOptions &options = flags.options;
  checkTarget(options.target);
  Frontend frontend;
  if (!frontend.load(options.spec, {options.weights, options.dtype}))
    return 1;
  checkFlags(flags, frontend.spec());
  if (options.batches.empty())
    options.batches = {1, 8, 64};
  options.sourceLength = valueOr(options.sourceLength, 32);
  options.targetLength = valueOr(options.targetLength, 32);
  options.beam = valueOr(options.beam, 1);
  options.threads = valueOr(options.threads, attnrt::api::coreCount());
  if (flags.sizes.empty())
    options.calls.push_back(flags.call);
  for (const std::string &sizes : flags.sizes) {
    options.calls.push_back(flags.call);
    for (llvm::StringRef size : llvm::split(sizes, ','))
      if (!size.empty()) // as of `bench`
        options.calls.back().sizes.push_back(size.str());
  }
  if (!frontend.run(attn::Phase::Planned))
    return 1;
  return tuneKernels(frontend, options);
}

} // namespace
} // namespace attnc

void addTuneCommand(CLI::App &app, int &exitCode) {
  auto flags = std::make_shared<attnc::TuneFlags>();
  attnc::TuneOptions *options = &flags->options;
  CLI::App *command = app.add_subcommand(
      "tune", "Search schedules that are faster on this machine than those that rules choose");
  command->add_option("SPEC", options->spec, "The YAML file of a model or a graph")
      ->required()
      ->type_name("FILE");
  command
      ->add_option(
          "-o,--output", options->output,
          "File of schedules to write, for 'attnc compile --schedules'; records there of other kernels "
          "and targets stay")
      ->required()
      ->type_name("FILE");
  command->add_option("--target", options->target, "The CPU to tune for, as 'attnc compile' takes them")
      ->capture_default_str();
  command
      ->add_option("--minutes", options->minutes,
                   "Search for so long; one comparison, and those that confirm it, come in any case")
      ->check(attnc::numberIn({0, 1440}))
      ->capture_default_str();
  command->add_option("--dtype", options->dtype, "Type of the matrices of linears, as in 'attnc compile'")
      ->check(CLI::IsMember({"f32", "bf16", "int8"}));
  command->add_option("--weights", options->weights, "Instead of the spec's weights, as in 'attnc compile'")
      ->check(attnc::weightSource())
      ->type_name("FILE");
  attnc::addCacheFlag(*command, options->cache);
  const auto length = attnc::wholeIn(attnrt::ranges::maxLength);
  command
      ->add_option("--batch", options->batches,
                   "Models: sentences at once in a request; several sizes count alike; 1,8,64 if not given")
      ->check(attnc::wholeIn(attnrt::ranges::batch))
      ->delimiter(',');
  command
      ->add_option("--source-length", options->sourceLength, "Models: tokens of each source; 32 if not given")
      ->check(length);
  command
      ->add_option("--target-length", options->targetLength,
                   "Decoders: tokens of each output, exactly; 32 if not given")
      ->check(length);
  command
      ->add_option("--beam,--num-beams", options->beam, "Decoders: hypotheses per sentence; 1 if not given")
      ->check(attnc::wholeIn(attnrt::ranges::beam));
  command->add_option("--entry", flags->call.entry, "Graphs: the graph to call, if there are several");
  command
      ->add_option("--sizes", flags->sizes,
                   "Graphs: the sizes and strides of a call, as batch=1,query=512; several calls count alike")
      ->type_name("NAME=N,...")
      ->allow_extra_args(false);
  command
      ->add_option("--values", flags->call.values,
                   "Graphs: what all elements of an input of whole numbers are, as lengths=512")
      ->type_name("NAME=N")
      ->delimiter(',');
  command
      ->add_option("--threads", options->threads,
                   "Threads; 0: one per core, or as many as the container may keep busy")
      ->check(attnc::wholeIn(attnrt::ranges::threads));
  command->callback(
      [flags, &exitCode] { exitCode = attnc::runCommand([&] { return attnc::tune(*flags); }); });
}
