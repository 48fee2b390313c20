//===- Compile.cpp - attnc compile -----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A spec to a bundle, or to the text of a phase.

#include "compiler/driver/Commands.h"
#include "compiler/driver/Failure.h"
#include "compiler/driver/Flags.h"
#include "compiler/driver/Frontend.h"
#include "compiler/driver/ProgressLine.h"
#include "compiler/driver/WeightErrors.h"
#include "compiler/emit/ChildProcess.h"
#include "compiler/emit/ConstantWeights.h"
#include "compiler/emit/GoldenVectors.h"
#include "compiler/emit/Interrupts.h"
#include "compiler/emit/LowerEntries.h"
#include "compiler/emit/WriteBundle.h"
#include "compiler/spec/PrintSpec.h"
#include "compiler/spec/Words.h"
#include "compiler/tune/ScheduleFile.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

#include <CLI/CLI.hpp>

using namespace attnc;

namespace {

struct CompileOptions {
  std::string spec, bundle, targets, dtype, weights, schedules, cache, phase;
};

/// The bundle's name: the spec's, or else the folder's.
std::string nameOf(const Spec &spec, const CompileOptions &options) {
  return spec.name->empty() ? llvm::sys::path::filename(llvm::StringRef(options.bundle).rtrim('/')).str()
                            : *spec.name;
}

/// Prints the module as it is after `phase`.
int emitPhase(const CompileOptions &options) {
  Frontend frontend;
  if (options.phase == "spec") {
    if (!frontend.read(options.spec, {options.weights, options.dtype}))
      return 1;
    printSpec(frontend.spec(), std::cout);
    return 0;
  }
  bool isLowered = options.phase == "llvm";
  attn::Phase phase = isLowered ? attn::Phase::Planned : *attn::parsePhase(options.phase);
  if (!frontend.load(options.spec, {options.weights, options.dtype}) || !frontend.run(phase))
    return 1;
  mlir::OwningOpRef<mlir::ModuleOp> lowered;
  if (isLowered && !(lowered = lowerEntries(frontend.module(), bundleName(nameOf(frontend.spec(), options)))))
    return fail("the entries cannot be lowered");
  std::string text;
  llvm::raw_string_ostream stream(text);
  (isLowered ? *lowered : frontend.module()).print(stream);
  std::cout << text;
  return 0;
}

/// `FILE:LINE:COLUMN: ` of what comes from the spec.
std::string placeOf(mlir::Location where, const std::string &file) {
  auto place = where->findInstanceOf<mlir::FileLineColLoc>();
  return place ? llvm::formatv("{0}:{1}:{2}: ", file, place.getLine(), place.getColumn()).str() : file + ": ";
}

void showKernel(const KernelObject &kernel, size_t number, size_t total) {
  showProgress("compiling kernel " + std::to_string(number) + " of " + std::to_string(total) + " (" +
               kernel.kernel + ", " + kernel.variant + ")");
}

/// The whole bundle at its place, or an error and nothing.
llvm::Expected<std::vector<WeightError>> writeAt(const std::string &place, const BundleJob &job) {
  InterruptCatcher catcher;
  llvm::Expected<BundleFolder> folder = BundleFolder::create(place);
  if (!folder)
    return folder.takeError();
  if (llvm::Error others = folder->refuseOtherFiles())
    return others;
  llvm::Expected<std::vector<WeightError>> errors = writeBundle(job, *folder);
  clearProgress();
  if (!errors)
    return errors;
  if (llvm::Error golden = recordGolden(*folder))
    return golden;
  if (llvm::Error commit = folder->commit())
    return commit;
  return errors;
}

/// The cache that the user wants, if any.
llvm::Expected<std::optional<KernelCache>> openCache(const std::string &folder) {
  if (folder.empty())
    return std::nullopt;
  llvm::Expected<KernelCache> cache = KernelCache::open(folder);
  if (!cache)
    return cache.takeError();
  cache->prune();
  return std::move(*cache);
}

/// `; 'avx9' is no target of attnc` for each such name in the file.
std::string unknownTargets(const ScheduleRecords &records) {
  std::string text, last;
  for (const auto &[names, record] : records) {
    if (names.first == last)
      continue;
    last = names.first;
    llvm::Expected<std::vector<CpuVariant>> known = parseTargets(last);
    const bool isName = known && known->size() == 1 && known->front().name == last;
    if (!known)
      llvm::consumeError(known.takeError());
    if (!isName)
      text += "; " + quote(last) + " is no target of attnc";
  }
  return text;
}

/// What the file of schedules has for kernels of `planned`; nothing after errors on stderr.
std::optional<KernelSchedules> findSchedules(const std::string &file, mlir::ModuleOp planned,
                                             llvm::ArrayRef<CpuVariant> variants) {
  KernelSchedules schedules;
  if (file.empty())
    return schedules;
  Diagnostics diagnostics;
  std::optional<ScheduleRecords> records = readSchedules(file, diagnostics);
  diagnostics.print(std::cerr);
  if (!records)
    return std::nullopt;
  size_t kernels = 0;
  for (const CpuVariant &variant : variants)
    for (attn::KernelOp kernel : planned.getOps<attn::KernelOp>()) {
      ++kernels;
      if (auto found = records->find({variant.name, kernel.getSymName().str()}); found != records->end())
        schedules[found->first] = choiceText(found->second.choice);
    }
  std::cout << "schedules: " << schedules.size() << " of " << kernels
            << " kernels of all targets have records in " << file;
  if (const size_t others = records->size() - schedules.size(); others > 0)
    std::cout << "; " << others << (others == 1 ? " record is" : " records are")
              << " for other kernels or targets";
  std::cout << unknownTargets(*records) << "\n";
  return schedules;
}

int compile(const CompileOptions &options) {
  if (llvm::Expected<std::vector<CpuVariant>> named = parseTargets(options.targets); !named)
    throw CLI::ValidationError("--target", llvm::toString(named.takeError()));
  if (!options.phase.empty())
    return emitPhase(options);
  Frontend frontend;
  if (!frontend.load(options.spec, {options.weights, options.dtype}))
    return 1;
  std::set<std::string> normScales = scalingTensors(frontend.module());
  std::vector<std::string> unrounded; // why matrices have not the type that was asked for
  frontend.onRemark = [&](mlir::Location where, const std::string &text) {
    if (text.starts_with("stays f32"))
      unrounded.push_back(placeOf(where, options.spec) + text);
  };
  if (!frontend.run(attn::Phase::Planned))
    return 1;
  const Spec &spec = frontend.spec();
  // The names are known to be right; what none and 'host' mean depends on the types.
  std::vector<CpuVariant> variants = llvm::cantFail(parseTargets(options.targets, frontend.narrowWeights()));
  std::optional<KernelSchedules> schedules = findSchedules(options.schedules, frontend.module(), variants);
  if (!schedules)
    return 1;
  llvm::Expected<std::optional<KernelCache>> cache = openCache(options.cache);
  if (!cache)
    return fail(cache.takeError());
  llvm::Expected<TensorReader> weights = openTensors(spec.weights, normScales);
  if (!weights)
    return fail(weights.takeError());
  BundleJob job{spec,
                frontend.module(),
                bundleName(nameOf(spec, options)),
                std::move(variants),
                std::move(*weights),
                std::move(normScales),
                {thisProgram(), std::move(*schedules), showKernel, *cache ? &**cache : nullptr}};
  llvm::Expected<std::vector<WeightError>> errors = writeAt(options.bundle, job);
  if (!errors)
    return fail(errors.takeError());
  printWeightErrors(*errors, std::cout);
  for (const std::string &text : unrounded)
    std::cout << text << "\n";
  return 0;
}

} // namespace

void addCompileCommand(CLI::App &app, int &exitCode) {
  auto options = std::make_shared<CompileOptions>();
  CLI::App *command = app.add_subcommand("compile", "Compile a spec to a bundle");
  command->add_option("SPEC", options->spec, "The model's YAML file")->required()->type_name("FILE");
  CLI::Option *bundle = command->add_option("-o,--output", options->bundle, "The bundle to write");
  bundle->type_name("FOLDER");
  command->add_option("--target", options->targets,
                      "CPUs to compile for, separated by commas: " + targetNames() +
                          ", host (this machine's best), or Halide targets such as x86-64-linux-avx2-fma; "
                          "default: x86-64,avx2,avx512,zen4,zen5, with int8 avxvnni,cascadelake,vnni,amx as "
                          "well and with bf16 "
                          "amx");
  command
      ->add_option("--dtype", options->dtype,
                   "Type of the matrices of linears, instead of the spec's 'types.default'")
      ->check(CLI::IsMember({"f32", "bf16", "int8"}));
  command
      ->add_option(
          "--weights", options->weights,
          "Instead of the spec's weights: a safetensors file, a folder that holds model.safetensors, or "
          "random:SEED")
      ->check(weightSource())
      ->type_name("FILE");
  CLI::Option *schedules =
      command->add_option("--schedules", options->schedules, "Schedules that 'attnc tune' found")
          ->type_name("FILE");
  addCacheFlag(*command, options->cache);
  CLI::Option *phase =
      command->add_option("--emit", options->phase, "Print a phase instead of writing a bundle");
  phase->excludes(bundle)->excludes(schedules)->check(
      CLI::IsMember({"spec", "attn", "stepped", "fused", "quantised", "outlined", "planned", "llvm"}));
  command->callback([=, &exitCode] {
    if (bundle->empty() && phase->empty())
      throw CLI::RequiredError("-o");
    exitCode = compile(*options);
  });
}
