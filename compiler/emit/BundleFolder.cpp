//===- BundleFolder.cpp - a folder that appears whole or not at all --------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/emit/BundleFolder.h"

#include "compiler/emit/Interrupts.h"
#include "compiler/emit/ManifestFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <optional>
#include <set>
#include <utility>

namespace fs = llvm::sys::fs;

namespace attnc {
namespace {

llvm::Error failed(const std::string &what, std::error_code code) {
  return llvm::createStringError(code, what + ": " + code.message());
}

/// The folder itself where `path` is a link to it: what is exchanged in the end must not be the link.
llvm::Expected<std::string> followLinks(const std::string &path) {
  if (!fs::is_symlink_file(path) && !fs::exists(path))
    return path;
  llvm::SmallString<256> real, working;
  if (std::error_code code = fs::real_path(path, real))
    return failed("cannot follow " + path, code);
  if (!fs::current_path(working) && real == working)
    return llvm::createStringError(path + " is the working folder; a bundle takes the place of its folder");
  return real.str().str();
}

bool isEmptyFolder(const std::string &path) {
  std::error_code code;
  return fs::directory_iterator(path, code) == fs::directory_iterator() && !code;
}

} // namespace

llvm::Expected<BundleFolder> BundleFolder::create(llvm::StringRef destination) {
  BundleFolder folder;
  folder.destination = destination.rtrim('/').str();
  if (folder.destination.empty())
    return llvm::createStringError("'" + destination + "' is not a bundle");
  if (folder.destination.starts_with('-')) // else the linker takes its files for options
    folder.destination.insert(0, "./");
  llvm::Expected<std::string> followed = followLinks(folder.destination);
  if (!followed)
    return followed.takeError();
  folder.destination = *followed;
  if (fs::exists(folder.destination) && !fs::exists(folder.destination + "/manifest.json") &&
      !isEmptyFolder(folder.destination))
    return llvm::createStringError(folder.destination + " exists and is not a bundle; it is left as it is");
  std::string pattern = folder.destination + ".partial-XXXXXX";
  if (!mkdtemp(pattern.data()))
    return failed("cannot create a folder beside " + folder.destination,
                  std::error_code(errno, std::generic_category()));
  folder.temporary = pattern;
  if (std::error_code code = fs::create_directory(folder.scratch()))
    return failed("cannot create " + folder.scratch(), code);
  return folder;
}

/// The first file in `folder`, by name, that the bundle there does not have.
static std::optional<std::string> findOtherFile(const std::string &folder) {
  const std::set<std::string> own = bundleFiles(folder);
  std::set<std::string> others;
  std::error_code code;
  for (fs::directory_iterator file(folder, code), end; file != end && !code; file.increment(code))
    if (std::string name = llvm::sys::path::filename(file->path()).str(); !own.count(name))
      others.insert(name);
  return others.empty() ? std::nullopt : std::optional(*others.begin());
}

static llvm::Error wouldLose(const std::string &file, const std::string &folder) {
  return llvm::createStringError(folder + " holds '" + file +
                                 "', which is not a file of the bundle there and would be lost; the folder "
                                 "is left as it is");
}

llvm::Error BundleFolder::refuseOtherFiles() {
  refusesOthers = true;
  const std::optional<std::string> other = findOtherFile(destination);
  return other ? wouldLose(*other, destination) : llvm::Error::success();
}

BundleFolder::BundleFolder(BundleFolder &&other) noexcept
    : destination(std::move(other.destination)), temporary(std::move(other.temporary)),
      refusesOthers(other.refusesOthers) {
  other.temporary.clear();
}

BundleFolder::~BundleFolder() {
  if (!temporary.empty())
    fs::remove_directories(temporary);
}

/// Moves a folder to a name, and what has that name to the folder's; returns 0, or sets errno. Both change in
/// one step where the file system can do that (NFS, for one, cannot).
static int exchangeNames(const std::string &folder, const std::string &name) {
  if (renameat2(AT_FDCWD, folder.c_str(), AT_FDCWD, name.c_str(), RENAME_EXCHANGE) == 0)
    return 0;
  std::string aside = folder + ".before";
  if ((errno != EINVAL && errno != ENOSYS) || rename(name.c_str(), aside.c_str()) != 0)
    return -1;
  if (rename(folder.c_str(), name.c_str()) != 0) {
    int reason = errno;
    (void)rename(aside.c_str(), name.c_str());
    errno = reason;
    return -1;
  }
  return rename(aside.c_str(), folder.c_str());
}

/// Of what came to the folder after it was looked at.
llvm::Error BundleFolder::giveBackOtherFiles() {
  const std::optional<std::string> other = findOtherFile(temporary);
  if (!other)
    return llvm::Error::success();
  if (exchangeNames(temporary, destination) == 0)
    return wouldLose(*other, destination);
  const std::string kept = std::exchange(temporary, "");
  return failed("the bundle is at " + destination + "; what was there before, with '" + *other + "', is at " +
                    kept,
                std::error_code(errno, std::generic_category()));
}

llvm::Error BundleFolder::commit() {
  if (wasInterrupted())
    return llvm::createStringError("interrupted");
  fs::remove_directories(scratch());
  if (std::error_code code =
          fs::setPermissions(temporary, fs::perms::owner_all | fs::perms::group_read | fs::perms::group_exe |
                                            fs::perms::others_read | fs::perms::others_exe))
    return failed("cannot set the permissions of " + temporary, code);
  // What was there before is `temporary` then, and goes.
  bool isThere = fs::exists(destination);
  if ((isThere ? exchangeNames(temporary, destination) : rename(temporary.c_str(), destination.c_str())) != 0)
    return failed("cannot move the bundle to " + destination,
                  std::error_code(errno, std::generic_category()));
  if (!isThere)
    temporary.clear();
  else if (refusesOthers)
    return giveBackOtherFiles();
  return llvm::Error::success();
}

} // namespace attnc
