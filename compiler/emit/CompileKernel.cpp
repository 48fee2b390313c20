//===- CompileKernel.cpp - a kernel's region to an object file --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Target features, the border to Halide's exceptions, and the shape of the function that is written.

#include "compiler/emit/CompileKernel.h"

#include "compiler/emit/CpuVariant.h"
#include "compiler/schedules/KernelPipeline.h"
#include "compiler/schedules/cpu/HoistGuards.h"
#include "compiler/schedules/cpu/JoinLoops.h"
#include "compiler/schedules/cpu/PrefetchPanels.h"
#include "compiler/schedules/cpu/StackScratch.h"

#include "llvm/ADT/ScopeExit.h"

#include <algorithm>

namespace attnc {

namespace {
/// Halide only warns of a call that can never succeed; here that is an error.
class WarningCollector : public Halide::CompileTimeErrorReporter {
public:
  void warning(const char *message) override {
    if (llvm::StringRef(message).contains("guaranteed to fail"))
      failure = message;
  }
  [[noreturn]] void error(const char *message) override { throw Halide::CompileError(message); }

  std::string failure;
};
} // namespace

static llvm::Expected<Halide::Target> parseTarget(const KernelTarget &target) {
  std::string halide = halidesTarget(target.name);
  if (!Halide::Target::validate_target_string(halide))
    return llvm::createStringError("'%s' is not a Halide target", halide.c_str());
  Halide::Target parsed(halide);
  parsed.set_features(
      {Halide::Target::UserContext, Halide::Target::NoRuntime, Halide::Target::NoBoundsQuery});
  parsed.set_feature(Halide::Target::NoAsserts, !target.asserts);
  // Where attnc itself is built with a sanitizer, so are the kernels it compiles.
#if defined(__SANITIZE_ADDRESS__)
  parsed.set_feature(Halide::Target::ASAN);
#elif defined(__SANITIZE_THREAD__)
  parsed.set_feature(Halide::Target::TSAN);
#endif
  return parsed;
}

// The first output's buffer becomes another name for the second's.
static Halide::Module shareFirstOutput(const Halide::Module &module, const KernelPipeline &pipeline) {
  std::string first = pipeline.outputs[0].name(), second = pipeline.outputs[1].name();
  Halide::Module result(module.name(), module.target());
  result.set_any_strict_float(module.any_strict_float());
  for (Halide::Internal::LoweredFunc function : module.functions()) {
    auto isFirst = [&](const Halide::Internal::LoweredArgument &argument) { return argument.name == first; };
    auto found = std::find_if(function.args.begin(), function.args.end(), isFirst);
    if (found != function.args.end() && function.linkage != Halide::LinkageType::Internal) {
      function.args.erase(found);
      Halide::Expr shared =
          Halide::Internal::Variable::make(Halide::type_of<halide_buffer_t *>(), second + ".buffer");
      function.body = Halide::Internal::LetStmt::make(first + ".buffer", shared, function.body);
    }
    result.append(function);
  }
  return result;
}

static llvm::Error writeObject(const KernelPipeline &pipeline, const Halide::Target &target,
                               const std::string &name, const std::string &path) {
  Halide::Pipeline whole(pipeline.outputs);
  whole.add_custom_lowering_pass(makeHoistGuards().release());
  whole.add_custom_lowering_pass(makePrefetchPanels().release());
  whole.add_custom_lowering_pass(makeJoinLoops().release());
  whole.add_custom_lowering_pass(makeStackScratch().release());
  Halide::Module module =
      whole.compile_to_module(pipeline.arguments, name, target, Halide::LinkageType::External);
  if (pipeline.firstSharesSecond)
    module = shareFirstOutput(module, pipeline);
  module.compile({{Halide::OutputFileType::object, path}});
  return llvm::Error::success();
}

static llvm::Expected<KernelPipeline> buildFor(attn::KernelOp kernel, const KernelTarget &target,
                                               const Halide::Target &parsed) {
  bool hasVnni = halidesTarget(target.name) != target.name;
  return buildKernelPipeline(kernel, describeCpu(parsed, hasVnni), target.schedule);
}

/// What `work` gives, or what Halide says of it.
static llvm::Expected<bool>
callHalide(const KernelTarget &target,
           llvm::function_ref<llvm::Expected<bool>(const Halide::Target &parsed)> work) {
  WarningCollector warnings;
  Halide::set_custom_compile_time_error_reporter(&warnings);
  llvm::scope_exit restore([] { Halide::set_custom_compile_time_error_reporter(nullptr); });
  try {
    llvm::Expected<Halide::Target> parsed = parseTarget(target);
    if (!parsed)
      return parsed.takeError();
    llvm::Expected<bool> result = work(*parsed);
    if (result && !warnings.failure.empty())
      return llvm::createStringError(warnings.failure);
    return result;
  } catch (const Halide::Error &error) {
    return llvm::createStringError(error.what());
  }
}

llvm::Expected<bool> isTuned(attn::KernelOp kernel, const KernelTarget &target) {
  return callHalide(target, [&](const Halide::Target &parsed) -> llvm::Expected<bool> {
    llvm::Expected<KernelPipeline> pipeline = buildFor(kernel, target, parsed);
    if (!pipeline)
      return pipeline.takeError();
    return pipeline->isTuned;
  });
}

llvm::Expected<bool> compileKernel(attn::KernelOp kernel, const KernelTarget &target, const std::string &name,
                                   const std::string &path) {
  return callHalide(target, [&](const Halide::Target &parsed) -> llvm::Expected<bool> {
    llvm::Expected<KernelPipeline> pipeline = buildFor(kernel, target, parsed);
    if (!pipeline)
      return pipeline.takeError();
    if (llvm::Error error = writeObject(*pipeline, parsed, name, path))
      return error;
    return pipeline->isTuned;
  });
}

} // namespace attnc
