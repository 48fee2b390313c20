//===- RecordFile.h - the file of tuned schedules, as it is written -----------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ATTNC_COMPILER_DRIVER_RECORDFILE_H
#define ATTNC_COMPILER_DRIVER_RECORDFILE_H

#include "compiler/tune/ScheduleFile.h"

#include "llvm/Support/FileSystem.h"

#include <functional>
#include <optional>
#include <string>

namespace attnc {

/// A file of records that is replaced whole or not at all, and known to be writable before anything is
/// measured. Where it is a link to a file, that is replaced. Failures are exceptions.
class RecordFile {
public:
  explicit RecordFile(const std::string &name);
  RecordFile(const RecordFile &) = delete;
  ~RecordFile();

  /// Of earlier searches, for other models and targets as well; nothing after errors on stderr.
  std::optional<ScheduleRecords> read() const;

  /// Changes what is there by now: of several processes, one after the other. False after errors on stderr.
  bool update(const std::function<void(ScheduleRecords &records)> &change);

private:
  void replace(const ScheduleRecords &records);

  std::string path, partial;
  llvm::sys::fs::perms permissions;
};

} // namespace attnc

#endif // ATTNC_COMPILER_DRIVER_RECORDFILE_H
