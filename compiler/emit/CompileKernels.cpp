//===- CompileKernels.cpp - all kernels of a bundle, in parallel -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/emit/CompileKernels.h"

#include "compiler/emit/FileOutput.h"
#include "dialect/IR/Attn.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"

#include <atomic>
#include <mutex>
#include <thread>

using llvm::StringRef;

namespace attnc {
namespace {

struct Job {
  KernelObject object;
  std::string source; // file with the kernel's text
  std::string target;
};

std::string readFile(const std::string &path) {
  auto file = llvm::MemoryBuffer::getFile(path);
  return file ? (*file)->getBuffer().trim().str() : "";
}

/// Runs one child; empty on success.
std::string runJob(const Job &job, StringRef compiler) {
  std::string log = job.object.path + ".log";
  StringRef arguments[] = {compiler, "compile-kernel", job.source, "--target", job.target, "--symbol",
                           job.object.symbol, "-o", job.object.path};
  std::optional<StringRef> redirects[] = {StringRef(""), StringRef(log), StringRef(log)};
  std::string reason;
  bool notStarted = false;
  int code = llvm::sys::ExecuteAndWait(compiler, arguments, std::nullopt, redirects, /*SecondsToWait=*/0,
                                       /*MemoryLimit=*/0, &reason, &notStarted);
  if (code == 0)
    return "";
  std::string text = readFile(log);
  if (notStarted || code < 0)
    text = reason + (text.empty() ? "" : ": " + text);
  return "kernel '" + job.object.kernel + "' does not compile for " + job.object.variant + ": " +
         (text.empty() ? "exit code " + std::to_string(code) : text);
}

/// The errors of all jobs, in the order of the jobs.
std::vector<std::string> runJobs(llvm::ArrayRef<Job> jobs, StringRef compiler, const KernelProgress &progress) {
  std::atomic<size_t> next = 0;
  std::mutex told;
  std::vector<std::string> errors(jobs.size());
  auto work = [&] {
    for (size_t i; (i = next++) < jobs.size();) {
      {
        std::lock_guard<std::mutex> lock(told);
        progress(jobs[i].object, i + 1, jobs.size());
      }
      errors[i] = runJob(jobs[i], compiler);
    }
  };
  std::vector<std::thread> workers(std::min<size_t>(jobs.size(), std::max(1u, std::thread::hardware_concurrency())));
  for (std::thread &worker : workers)
    worker = std::thread(work);
  for (std::thread &worker : workers)
    worker.join();
  llvm::erase(errors, "");
  return errors;
}

/// `x86-64` as part of a C symbol.
std::string symbolPart(StringRef name) {
  std::string part = name.str();
  std::replace_if(part.begin(), part.end(), [](unsigned char c) { return !std::isalnum(c); }, '_');
  return part;
}

} // namespace

llvm::Expected<std::vector<KernelObject>> compileKernels(mlir::ModuleOp planned, StringRef bundle,
                                                         llvm::ArrayRef<CpuVariant> variants, StringRef compiler,
                                                         StringRef folder, const KernelProgress &progress) {
  std::vector<Job> jobs;
  std::vector<std::pair<std::string, std::string>> sources;
  for (attn::KernelOp kernel : planned.getOps<attn::KernelOp>()) {
    std::string text;
    llvm::raw_string_ostream(text) << kernel << "\n";
    std::string name = kernel.getSymName().str();
    sources.emplace_back(name, (folder + "/" + name + ".mlir").str());
    if (llvm::Error error = writeFile(sources.back().second, text))
      return error;
  }
  for (const CpuVariant &variant : variants)
    for (const auto &[kernel, source] : sources) {
      std::string symbol = (bundle + "_" + kernel + "_" + symbolPart(variant.name)).str();
      jobs.push_back({{kernel, variant.name, symbol, (folder + "/" + symbol + ".o").str()}, source, variant.target});
    }
  std::vector<std::string> errors = runJobs(jobs, compiler, progress);
  if (!errors.empty())
    return llvm::createStringError(llvm::join(errors, "\n"));
  std::vector<KernelObject> objects;
  for (Job &job : jobs)
    objects.push_back(std::move(job.object));
  return objects;
}

} // namespace attnc
