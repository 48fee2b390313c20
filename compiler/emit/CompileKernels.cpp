//===- CompileKernels.cpp - all kernels of a bundle, in parallel -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/emit/CompileKernels.h"

#include "compiler/emit/ChildProcess.h"
#include "compiler/emit/FileOutput.h"
#include "compiler/emit/Interrupts.h"
#include "dialect/IR/Attn.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/MemoryBuffer.h"

#include <atomic>
#include <mutex>
#include <system_error>
#include <thread>
#include <unistd.h>

using llvm::StringRef;

namespace attnc {
namespace {

/// A kernel's text, and the file that holds it.
struct Source {
  std::string kernel, text, path;
};

struct Job {
  KernelObject object;
  const Source &source;
  std::string target;
  std::string schedule; // empty: by rules
};

/// Runs one child; empty on success.
std::string compileWithChild(Job &job, StringRef compiler) {
  std::vector<std::string> arguments = {
      "compile-kernel", job.source.path,         "--target", job.target,
      "--symbol",       job.object.symbol,       "-o",       job.object.path,
      "--parent",       std::to_string(getpid())};
  if (!job.schedule.empty())
    arguments.insert(arguments.end(), {"--schedule", job.schedule});
  ChildResult child = runChild(compiler, arguments);
  job.object.isTuned = child.code == TunedExitCode;
  if (child.code == 0 || job.object.isTuned)
    return "";
  constexpr StringRef outOfSpace =
      "IO failure on output stream: "; // LLVM's words when an object cannot be written
  if (size_t found = child.output.find(outOfSpace); found != std::string::npos)
    return "cannot write the objects of kernels: " + child.output.substr(found + outOfSpace.size());
  std::string text = child.output;
  if (child.code < 0)
    text = child.reason + (text.empty() ? "" : ": " + text);
  return "kernel '" + job.object.kernel + "' does not compile for " + job.object.variant + ": " +
         (text.empty() ? "exit code " + std::to_string(child.code) : text);
}

/// Takes the object from the cache, where there is one that has it, or compiles it; empty on success.
std::string runJob(Job &job, const KernelCompiler &compiler) {
  if (!compiler.cache)
    return compileWithChild(job, compiler.program);
  const KernelRequest request = {job.source.text, job.target, job.schedule, job.object.symbol};
  if (std::optional<CompiledKernel> found = compiler.cache->find(request)) {
    job.object.isTuned = found->isTuned;
    return llvm::toString(writeFile(job.object.path, found->object));
  }
  std::string error = compileWithChild(job, compiler.program);
  if (!error.empty())
    return error;
  if (auto object = llvm::MemoryBuffer::getFile(job.object.path))
    compiler.cache->keep(request, {(*object)->getBuffer().str(), job.object.isTuned});
  return "";
}

/// The errors of all jobs, in the order of the jobs. An interrupt keeps further jobs from starting.
std::vector<std::string> runJobs(llvm::MutableArrayRef<Job> jobs, const KernelCompiler &compiler) {
  std::atomic<size_t> next = 0;
  std::mutex reporting;
  std::vector<std::string> errors(jobs.size());
  auto work = [&] {
    for (size_t i; (i = next++) < jobs.size() && !wasInterrupted();) {
      {
        std::lock_guard<std::mutex> lock(reporting);
        compiler.progress(jobs[i].object, i + 1, jobs.size());
      }
      errors[i] = runJob(jobs[i], compiler);
    }
  };
  const size_t threads = std::min<size_t>(jobs.size(), std::max(1u, std::thread::hardware_concurrency()));
  std::vector<std::thread> others;
  others.reserve(threads);
  try {
    while (others.size() + 1 < threads)
      others.emplace_back(work);
  } catch (const std::exception &) { // no more threads: those that there are do all
  }
  work();
  for (std::thread &other : others)
    other.join();
  llvm::erase(errors, "");
  return errors;
}

/// One mistake of a schedule fails many kernels: a few tell enough.
std::string summarize(std::vector<std::string> errors) {
  constexpr size_t shown = 3;
  errors.erase(std::unique(errors.begin(), errors.end()), errors.end());
  size_t more = errors.size() - std::min(errors.size(), shown);
  errors.resize(errors.size() - more);
  std::string text = llvm::join(errors, "\n");
  return more == 0 ? text : text + "\n(" + std::to_string(more) + " more like these)";
}

/// Whether an object asks for a function of emit/shim with bfloats in its name. Schedules choose these by the
/// variant, the widths and where inputs lie: what was compiled tells best what they chose.
llvm::Expected<bool> addsBfloats(const std::string &path) {
  auto object = llvm::object::ObjectFile::createObjectFile(path);
  if (!object)
    return object.takeError();
  for (const llvm::object::SymbolRef &symbol : object->getBinary()->symbols()) {
    llvm::Expected<uint32_t> flags = symbol.getFlags();
    if (!flags)
      return flags.takeError();
    llvm::Expected<StringRef> name = symbol.getName();
    if (!name)
      return name.takeError();
    if ((*flags & llvm::object::SymbolRef::SF_Undefined) && name->starts_with("attnc_") &&
        name->contains("bfloat"))
      return true;
  }
  return false;
}

/// `x86-64` as part of a symbol.
std::string symbolPart(StringRef name) {
  std::string part = name.str();
  std::replace_if(part.begin(), part.end(), [](unsigned char c) { return !std::isalnum(c); }, '_');
  return part;
}

} // namespace

llvm::Expected<std::vector<KernelObject>> compileKernels(mlir::ModuleOp planned,
                                                         llvm::ArrayRef<CpuVariant> variants,
                                                         const KernelCompiler &compiler, StringRef folder) {
  std::vector<Source> sources;
  for (attn::KernelOp kernel : planned.getOps<attn::KernelOp>()) {
    std::string text;
    llvm::raw_string_ostream(text) << kernel << "\n";
    std::string name = kernel.getSymName().str();
    sources.push_back({name, std::move(text), (folder + "/" + name + ".mlir").str()});
    if (llvm::Error error = writeFile(sources.back().path, sources.back().text))
      return error;
  }
  std::vector<Job> jobs;
  for (const CpuVariant &variant : variants)
    for (const Source &source : sources) {
      std::string name = source.kernel + "." + symbolPart(variant.name);
      auto chosen = compiler.schedules.find({variant.name, source.kernel});
      jobs.push_back({{source.kernel, variant.name, "attnrt.kernel." + name, (folder + "/" + name + ".o").str()},
                      source,
                      variant.target,
                      chosen == compiler.schedules.end() ? "" : chosen->second});
    }
  std::vector<std::string> errors = runJobs(jobs, compiler);
  if (wasInterrupted())
    return llvm::createStringError("interrupted");
  if (!errors.empty())
    return llvm::createStringError(summarize(std::move(errors)));
  std::vector<KernelObject> objects;
  for (Job &job : jobs) {
    llvm::Expected<bool> adds = addsBfloats(job.object.path);
    if (!adds)
      return adds.takeError();
    job.object.addsBfloats = *adds;
    objects.push_back(std::move(job.object));
  }
  return objects;
}

} // namespace attnc
