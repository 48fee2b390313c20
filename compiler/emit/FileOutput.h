//===- FileOutput.h - files that are whole or an error ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ATTNC_COMPILER_EMIT_FILEOUTPUT_H
#define ATTNC_COMPILER_EMIT_FILEOUTPUT_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

namespace attnc {

/// Writes a file from front to back. Errors are kept and come out of close(), which must be called.
class FileOutput {
public:
  explicit FileOutput(llvm::StringRef path);
  ~FileOutput();
  void write(llvm::StringRef bytes) { stream << bytes; }
  /// Flushes to the disk: a full disk is found here at the latest.
  llvm::Error close();

private:
  std::string path;
  std::error_code opened;
  llvm::raw_fd_ostream stream;
};

/// Writes `bytes` as the whole content of `path`.
llvm::Error writeFile(llvm::StringRef path, llvm::StringRef bytes);

} // namespace attnc

#endif // ATTNC_COMPILER_EMIT_FILEOUTPUT_H
