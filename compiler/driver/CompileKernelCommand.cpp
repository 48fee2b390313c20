//===- CompileKernelCommand.cpp - attnc compile-kernel ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Compiles one kernel: what `attnc compile` starts for each. Not shown in the help.

#include "compiler/driver/Commands.h"
#include "compiler/emit/CompileKernel.h"
#include "compiler/emit/CompileKernels.h"
#include "dialect/IR/Attn.h"

#include "mlir/Parser/Parser.h"
#include <CLI/CLI.hpp>

#include <csignal>
#include <iostream>
#include <sys/prctl.h>
#include <unistd.h>

namespace {

struct KernelOptions {
  std::string file, target, schedule, symbol, object;
  pid_t parent = 0; // the process that waits for this one, where there is one
};

/// Ends this process when its parent ends, even by SIGKILL: nobody wants the object any more.
void followParent(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) // it ended before that call
    std::raise(SIGKILL);
}

int compileKernelFile(const KernelOptions &options) {
  if (options.parent)
    followParent(options.parent);
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<attn::AttnDialect, mlir::func::FuncDialect>();
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::parseSourceFile<mlir::ModuleOp>(options.file, &context);
  if (!module)
    return 1;
  auto kernels = module->getOps<attn::KernelOp>();
  if (std::distance(kernels.begin(), kernels.end()) != 1) {
    std::cerr << options.file << ": error: holds no kernel, or several\n";
    return 1;
  }
  std::optional<attnc::ScheduleChoice> schedule = attnc::parseChoice(options.schedule);
  if (!schedule) {
    std::cerr << options.schedule << ": error: is no schedule\n";
    return 1;
  }
  attnc::KernelTarget target{options.target, /*asserts=*/false, *schedule};
  llvm::Expected<bool> isTuned =
      attnc::compileKernel(*kernels.begin(), target, options.symbol, options.object);
  if (!isTuned) {
    std::cerr << llvm::toString(isTuned.takeError()) << "\n";
    return 1;
  }
  return *isTuned ? attnc::TunedExitCode : 0;
}

} // namespace

void addCompileKernelCommand(CLI::App &app, int &exitCode) {
  auto options = std::make_shared<KernelOptions>();
  CLI::App *command = app.add_subcommand("compile-kernel", "Compiles one kernel");
  command->group(""); // hidden
  command->add_option("FILE", options->file)->required();
  command->add_option("--target", options->target)->required();
  command->add_option("--schedule", options->schedule);
  command->add_option("--symbol", options->symbol)->required();
  command->add_option("-o", options->object)->required();
  command->add_option("--parent", options->parent);
  command->callback([options, &exitCode] { exitCode = compileKernelFile(*options); });
}
