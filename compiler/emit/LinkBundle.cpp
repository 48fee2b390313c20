//===- LinkBundle.cpp - objects to the bundle's libraries ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/emit/LinkBundle.h"

#include "compiler/emit/ChildProcess.h"
#include "compiler/emit/FileOutput.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ObjCopy/ConfigManager.h"
#include "llvm/ObjCopy/ObjCopy.h"
#include "llvm/Object/ArchiveWriter.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/Program.h"

#include <fcntl.h>
#include <unistd.h>

using llvm::StringRef;

namespace attnc {
namespace {

llvm::Expected<std::string> findLinker() {
  for (StringRef name : {"ld.lld-22", "ld.lld"})
    if (llvm::ErrorOr<std::string> path = llvm::sys::findProgramByName(name))
      return *path;
  return llvm::createStringError(
      "no linker: neither ld.lld-22 nor ld.lld is on the PATH (Debian: apt install lld-22)");
}

/// A folder that the linker may write to. It makes temporary files by a pattern, in which each `%` of the
/// path is replaced as well: where there are any, the folder goes by its descriptor's name.
class LinkerFolder {
public:
  explicit LinkerFolder(const std::string &path) : realPath(path), path(path) {
    if (!StringRef(path).contains('%'))
      return;
    descriptor = open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (descriptor >= 0)
      this->path = "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(descriptor);
  }
  LinkerFolder(const LinkerFolder &) = delete;
  ~LinkerFolder() {
    if (descriptor >= 0)
      close(descriptor);
  }
  std::string file(const std::string &name) const { return path + "/" + name; }
  /// What the linker says, with the folder's own path.
  std::string translated(std::string message) const {
    if (path != realPath)
      for (size_t at = 0; (at = message.find(path, at)) != message.npos; at += realPath.size())
        message.replace(at, path.size(), realPath);
    return message;
  }

private:
  const std::string realPath;
  std::string path;
  int descriptor = -1;
};

/// The errors among a linker's output, or all of it: where it crashes, it prints its stack, too.
std::string errorsOf(StringRef output) {
  std::vector<StringRef> errors;
  for (StringRef line : llvm::split(output, '\n'))
    if (line.contains(": error: "))
      errors.push_back(line);
  return errors.empty() ? output.str() : llvm::join(errors, "\n");
}

/// Writes `output` in `folder`.
llvm::Error runLinker(StringRef linker, std::vector<std::string> arguments, const std::string &folder,
                      const std::string &output) {
  const LinkerFolder to(folder);
  arguments.insert(arguments.end(), {"-o", to.file(output)});
  ChildResult child = runChild(linker, arguments);
  if (child.code == 0)
    return llvm::Error::success();
  if (child.crashed) // its output is mapped, and a disk that is full then ends it by a signal
    return llvm::createStringError("the linker crashed, as it does where the disk is full: " + child.reason);
  return llvm::createStringError("the linker failed: " + child.reason +
                                 to.translated(errorsOf(child.output)));
}

/// Keeps only `exports` global, so that two bundles and a program of its own symbols can be linked together.
llvm::Error localizeSymbols(StringRef from, StringRef to, llvm::ArrayRef<std::string> exports) {
  llvm::Expected<llvm::object::OwningBinary<llvm::object::ObjectFile>> object =
      llvm::object::ObjectFile::createObjectFile(from);
  if (!object)
    return object.takeError();
  llvm::objcopy::ConfigManager config;
  config.Common.InputFilename = from;
  config.Common.OutputFilename = to;
  for (const std::string &symbol : exports) {
    llvm::Expected<llvm::objcopy::NameOrPattern> name = llvm::objcopy::NameOrPattern::create(
        symbol, llvm::objcopy::MatchStyle::Literal, [](llvm::Error error) { return error; });
    if (!name)
      return name.takeError();
    if (llvm::Error error = config.Common.SymbolsToKeepGlobal.addMatcher(std::move(name)))
      return error;
  }
  std::string bytes;
  llvm::raw_string_ostream stream(bytes);
  if (llvm::Error error = llvm::objcopy::executeObjcopyOnBinary(config, *object->getBinary(), stream))
    return error;
  return writeFile(to, bytes);
}

/// What code may ask of the program it is loaded into: C's memory functions, and a sanitizer's where it has
/// one.
bool mayBeUndefined(StringRef symbol) {
  return llvm::is_contained({"memcpy", "memmove", "memset", "memcmp"}, symbol) ||
         symbol.starts_with("__asan_") || symbol.starts_with("__tsan_");
}

llvm::Error checkUndefined(StringRef path) {
  auto object = llvm::object::ObjectFile::createObjectFile(path);
  if (!object)
    return object.takeError();
  std::vector<std::string> missing;
  for (const llvm::object::SymbolRef &symbol : object->getBinary()->symbols()) {
    llvm::Expected<uint32_t> flags = symbol.getFlags();
    llvm::Expected<StringRef> name = symbol.getName();
    if (!flags || !name)
      return llvm::joinErrors(flags.takeError(), name.takeError());
    if ((*flags & llvm::object::SymbolRef::SF_Undefined) && !name->empty() && !mayBeUndefined(*name))
      missing.push_back(name->str());
  }
  return missing.empty() ? llvm::Error::success()
                         : llvm::createStringError("the kernels use functions that a bundle does not have: " +
                                                   llvm::join(missing, ", "));
}

// Not writeArchive(), whose temporary file has such a pattern, too.
llvm::Error writeStaticLibrary(const std::string &object, const std::string &path) {
  llvm::Expected<llvm::NewArchiveMember> member =
      llvm::NewArchiveMember::getFile(object, /*Deterministic=*/true);
  if (!member)
    return member.takeError();
  member->MemberName = llvm::StringRef(object).rsplit('/').second;
  std::vector<llvm::NewArchiveMember> members;
  members.push_back(std::move(*member));
  llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> archive = llvm::writeArchiveToBuffer(
      members, llvm::SymtabWritingMode::NormalSymtab, llvm::object::Archive::K_GNU, /*Deterministic=*/true,
      /*Thin=*/false);
  if (!archive)
    return archive.takeError();
  return writeFile(path, (*archive)->getBuffer());
}

} // namespace

llvm::Error linkBundle(const LinkJob &job) {
  llvm::Expected<std::string> linker = findLinker();
  if (!linker)
    return linker.takeError();
  std::string object = job.scratch + "/" + job.bundle + ".o", script = job.scratch + "/exports";
  std::vector<std::string> join = {"-r"};
  join.insert(join.end(), job.objects.begin(), job.objects.end());
  if (llvm::Error error = runLinker(*linker, join, job.scratch, "joined.o"))
    return error;
  if (llvm::Error error = localizeSymbols(job.scratch + "/joined.o", object, job.exports))
    return error;
  if (llvm::Error error = checkUndefined(object))
    return error;
  if (llvm::Error error =
          writeFile(script, "{ global: " + llvm::join(job.exports, "; ") + "; local: *; };\n"))
    return error;
  std::string library = "lib" + job.bundle + ".so";
  if (llvm::Error error =
          runLinker(*linker,
                    {"-shared", "-soname", library, "--version-script=" + script, "--build-id=none", "-z",
                     "relro", "-z", "now", "-z", "noexecstack", "--hash-style=gnu", object},
                    job.folder, library))
    return error;
  return writeStaticLibrary(object, job.folder + "/lib" + job.bundle + ".a");
}

} // namespace attnc
