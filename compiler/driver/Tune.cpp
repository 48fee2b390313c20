//===- Tune.cpp - attnc tune: schedules that are faster than the rules' -------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/driver/Commands.h"
#include "compiler/driver/Failure.h"
#include "compiler/driver/Flags.h"
#include "compiler/driver/Frontend.h"
#include "compiler/driver/Tuner.h"
#include "compiler/emit/CpuVariant.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>
#include <thread>

namespace attnc {
namespace {

/// Whether the spec is one of a model that can have these requests; mistakes are told on stderr.
bool checkModel(const TuneOptions &options) {
  Frontend frontend;
  if (!frontend.read(options.spec, {options.weights, options.dtype}))
    return false;
  const std::optional<ModelSpec> &model = frontend.spec().model;
  if (!model)
    fail(options.spec + " is a graph: what is timed are requests, which models have");
  else if (*model->kind == ModelKind::Encoder)
    for (const auto &[flag, value] :
         {std::pair("--target-length", options.targetLength), {"--beam", options.beam}})
      if (value > 0)
        throw CLI::ValidationError(std::string(flag) + " has no meaning for " + options.spec +
                                   ", whose kind is encoder");
  return model.has_value();
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

int tune(TuneOptions options) {
  checkTarget(options.target);
  if (!checkModel(options))
    return 1;
  if (options.threads == 0)
    options.threads = int(std::max(1u, std::thread::hardware_concurrency()));
  if (options.targetLength == 0)
    options.targetLength = 32;
  options.beam = std::max(options.beam, 1);
  return tuneModel(options);
}

} // namespace
} // namespace attnc

void addTuneCommand(CLI::App &app, int &exitCode) {
  auto options = std::make_shared<attnc::TuneOptions>();
  CLI::App *command = app.add_subcommand(
      "tune", "Search schedules that are faster on this machine than those that rules choose");
  command->add_option("SPEC", options->spec, "The model's YAML file")->required()->type_name("FILE");
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
  const auto length = attnc::wholeIn(attnrt::ranges::maxLength);
  command
      ->add_option("--batch", options->batches, "Sentences at once in a request; several sizes count alike")
      ->check(attnc::wholeIn(attnrt::ranges::batch))
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--source-length", options->sourceLength, "Tokens of each source")
      ->check(length)
      ->capture_default_str();
  command
      ->add_option("--target-length", options->targetLength,
                   "Decoders: tokens of each output, exactly; 32 if not given")
      ->check(length);
  command
      ->add_option("--beam,--num-beams", options->beam, "Decoders: hypotheses per sentence; 1 if not given")
      ->check(attnc::wholeIn(attnrt::ranges::beam));
  command->add_option("--threads", options->threads, "Threads; 0: one per core")
      ->check(attnc::wholeIn(attnrt::ranges::threads));
  command->callback([options, &exitCode] {
    int found = 0;
    const int failed = attnc::runCommand([&] { found = attnc::tune(*options); });
    exitCode = failed ? failed : found;
  });
}
