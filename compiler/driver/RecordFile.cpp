//===- RecordFile.cpp - the file of tuned schedules, as it is written ---------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/driver/RecordFile.h"

#include "compiler/emit/FileOutput.h"
#include "compiler/emit/Interrupts.h"

#include "llvm/Support/Path.h"

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <sys/file.h>
#include <thread>
#include <unistd.h>

namespace attnc {
namespace {

[[noreturn]] void failWith(const std::string &what, std::error_code code) {
  throw std::runtime_error(what + ": " + code.message());
}

/// Held by one process at a time. It is the folder's: a file's would be gone with the file that is replaced.
/// There is none where the system has none for the folder.
class FolderLock {
public:
  explicit FolderLock(const std::string &file) {
    llvm::SmallString<256> folder = llvm::sys::path::parent_path(file);
    descriptor = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    while (descriptor >= 0 && flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      if (wasInterrupted())
        throw std::runtime_error("interrupted");
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }
  FolderLock(const FolderLock &) = delete;
  ~FolderLock() {
    if (descriptor >= 0)
      close(descriptor);
  }

private:
  int descriptor;
};

} // namespace

RecordFile::RecordFile(const std::string &name) : path(name) {
  llvm::SmallString<256> real;
  if (!llvm::sys::fs::real_path(name, real))
    path = real.str().str();
  else if (llvm::sys::fs::is_symlink_file(name))
    throw std::runtime_error(name + " is a link to nothing");
  llvm::sys::fs::file_status status;
  const bool exists = !llvm::sys::fs::status(path, status);
  if (exists && !llvm::sys::fs::is_regular_file(status))
    throw std::runtime_error(path + " is no file");
  permissions = exists ? status.permissions() : llvm::sys::fs::perms(0666 & ~llvm::sys::fs::getUmask());
  partial = path + ".partial-XXXXXX";
  const int descriptor = mkostemp(partial.data(), O_CLOEXEC);
  if (descriptor < 0)
    failWith("cannot write beside " + path, {errno, std::generic_category()});
  close(descriptor);
}

RecordFile::~RecordFile() { llvm::sys::fs::remove(partial); }

std::optional<ScheduleRecords> RecordFile::read() const {
  uint64_t size = 0;
  if (!llvm::sys::fs::exists(path) || (!llvm::sys::fs::file_size(path, size) && size == 0))
    return ScheduleRecords();
  Diagnostics diagnostics;
  std::optional<ScheduleRecords> records = readSchedules(path, diagnostics);
  diagnostics.print(std::cerr);
  return records;
}

bool RecordFile::update(const std::function<void(ScheduleRecords &records)> &change) {
  const FolderLock lock(path);
  std::optional<ScheduleRecords> records = read();
  if (!records)
    return false;
  change(*records);
  replace(*records);
  return true;
}

void RecordFile::replace(const ScheduleRecords &records) {
  std::ostringstream text;
  writeSchedules(records, text);
  if (llvm::Error error = writeFile(partial, text.str()))
    throw std::runtime_error(llvm::toString(std::move(error)));
  if (std::error_code code = llvm::sys::fs::setPermissions(partial, permissions))
    failWith(partial, code);
  if (std::error_code code = llvm::sys::fs::rename(partial, path))
    failWith(path, code);
}

} // namespace attnc
