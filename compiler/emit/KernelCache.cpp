//===- KernelCache.cpp - kernels that were compiled before -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A file holds the hash of what follows, a letter that tells whether the kernel is tuned, and the object.

#include "compiler/emit/KernelCache.h"

#include "compiler/emit/ChildProcess.h"
#include "compiler/emit/FileOutput.h"
#include "compiler/emit/Hash.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CachePruning.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

using llvm::StringRef;

namespace attnc {

constexpr size_t HashDigits = 32;
constexpr char TunedLetter = 't', RulesLetter = 'r';

/// Adds a part whose end no other part can take for its beginning.
static void addPart(Hash128 &hash, StringRef part) {
  hash.add(std::to_string(part.size()) + ":");
  hash.add(part);
}

/// Which build of a library is loaded: reading all of libHalide would take longer than a small kernel.
static int addLibrary(dl_phdr_info *library, size_t, void *hash) {
  llvm::sys::fs::file_status status;
  if (llvm::sys::fs::status(library->dlpi_name, status))
    return 0; // the program itself, or the kernel's
  addPart(*static_cast<Hash128 *>(hash), library->dlpi_name);
  addPart(*static_cast<Hash128 *>(hash), std::to_string(status.getSize()));
  addPart(*static_cast<Hash128 *>(hash),
          std::to_string(status.getLastModificationTime().time_since_epoch().count()));
  return 0;
}

static llvm::Expected<std::string> identifyCompiler() {
  auto program = llvm::MemoryBuffer::getFile(thisProgram());
  if (!program)
    return llvm::createStringError(program.getError(), "cannot read %s: %s", thisProgram().c_str(),
                                   program.getError().message().c_str());
  Hash128 hash;
  addPart(hash, (*program)->getBuffer());
  dl_iterate_phdr(addLibrary, &hash);
  for (char **variable = environ; *variable; ++variable)
    if (StringRef(*variable).starts_with("HL_")) // Halide's
      addPart(hash, *variable);
  return hash.digits();
}

KernelCache::KernelCache(StringRef folder, StringRef compiler)
    : folder(folder.str()), compiler(compiler.str()) {}

llvm::Expected<KernelCache> KernelCache::open(StringRef folder) {
  std::error_code error = llvm::sys::fs::create_directories(folder); // which takes a file for a folder
  if (!error && !llvm::sys::fs::is_directory(folder))
    error = std::make_error_code(std::errc::not_a_directory);
  if (error)
    return llvm::createStringError(error, "cannot make the folder of the cache, %s: %s", folder.str().c_str(),
                                   error.message().c_str());
  llvm::Expected<std::string> compiler = identifyCompiler();
  if (!compiler)
    return compiler.takeError();
  return KernelCache(folder, *compiler);
}

std::string KernelCache::pathOf(const KernelRequest &request) const {
  Hash128 hash;
  for (StringRef part : {StringRef(compiler), request.text, request.target, request.schedule, request.symbol})
    addPart(hash, part);
  return folder + "/llvmcache-" + hash.digits(); // the name that llvm::pruneCache looks for
}

std::optional<CompiledKernel> KernelCache::find(const KernelRequest &request) const {
  const std::string path = pathOf(request);
  auto file = llvm::MemoryBuffer::getFile(path);
  if (!file)
    return std::nullopt;
  const timespec accessed[] = {{0, UTIME_NOW}, {0, UTIME_OMIT}};
  (void)utimensat(AT_FDCWD, path.c_str(), accessed, 0); // reading alone counts late, or on some disks never
  const StringRef bytes = (*file)->getBuffer(),
                  content = bytes.drop_front(std::min(bytes.size(), HashDigits));
  if (content.empty() || bytes.take_front(HashDigits) != hash128(content))
    return std::nullopt;
  return CompiledKernel{content.drop_front().str(), content.front() == TunedLetter};
}

void KernelCache::keep(const KernelRequest &request, const CompiledKernel &kernel) const {
  const std::string path = pathOf(request), partial = path + "." + std::to_string(getpid());
  const std::string content = (kernel.isTuned ? TunedLetter : RulesLetter) + kernel.object;
  llvm::Error error = writeFile(partial, hash128(content) + content);
  if (error || llvm::sys::fs::rename(partial, path))
    llvm::sys::fs::remove(partial);
  llvm::consumeError(std::move(error));
}

void KernelCache::prune() const {
  llvm::CachePruningPolicy policy;
  policy.Expiration = std::chrono::hours(4 * 7 * 24);
  policy.MaxSizeBytes = uint64_t(1) << 30;
  policy.MaxSizePercentageOfAvailableSpace = 100;
  llvm::pruneCache(folder, policy);
}

} // namespace attnc
