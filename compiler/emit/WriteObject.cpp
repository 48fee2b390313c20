//===- WriteObject.cpp - LLVM dialect to an object file --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/emit/WriteObject.h"

#include "compiler/emit/FileOutput.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

namespace attnc {
namespace {

void optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder passes(&machine);
  passes.registerModuleAnalyses(modules);
  passes.registerCGSCCAnalyses(components);
  passes.registerFunctionAnalyses(functions);
  passes.registerLoopAnalyses(loops);
  passes.crossRegisterProxies(loops, functions, components, modules);
  passes.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2).run(module, modules);
}

llvm::Error generate(llvm::Module &module, llvm::TargetMachine &machine, llvm::StringRef path) {
  llvm::SmallVector<char> object;
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile))
    return llvm::createStringError("cannot generate objects for " + machine.getTargetTriple().str());
  passes.run(module);
  return writeFile(path, {object.data(), object.size()});
}

} // namespace

llvm::Error writeObject(mlir::ModuleOp lowered, llvm::StringRef tripleName, llvm::StringRef path) {
  llvm::InitializeAllTargetInfos();
  llvm::InitializeAllTargets();
  llvm::InitializeAllTargetMCs();
  llvm::InitializeAllAsmPrinters();
  llvm::Triple triple(tripleName);
  std::string reason;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, reason);
  if (!target)
    return llvm::createStringError(reason);
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      triple, /*CPU=*/"", /*Features=*/"", llvm::TargetOptions(), llvm::Reloc::PIC_));
  mlir::registerBuiltinDialectTranslation(*lowered.getContext());
  mlir::registerLLVMDialectTranslation(*lowered.getContext());
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = mlir::translateModuleToLLVMIR(lowered, context, "entries");
  if (!module)
    return llvm::createStringError("entries do not translate to LLVM IR");
  module->setTargetTriple(triple);
  module->setDataLayout(machine->createDataLayout());
  optimize(*module, *machine);
  return generate(*module, *machine, path);
}

} // namespace attnc
