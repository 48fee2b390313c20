//===- FileOutput.cpp - files that are whole or an error -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/emit/FileOutput.h"

namespace attnc {

/// Linux keeps what one call wrote in pages as large as that, up to 2 MiB: a process that maps the file takes
/// the 244 MB of a Transformer-base's weights in 2 ms, where small pages cost it 14.
constexpr size_t BytesOfWrite = 4 << 20;

FileOutput::FileOutput(llvm::StringRef path) : path(path.str()), stream(path, opened) {
  stream.SetBufferSize(BytesOfWrite);
}

// An error that nobody asked for must not end the process, as the stream's own destructor would.
FileOutput::~FileOutput() { stream.clear_error(); }

llvm::Error FileOutput::close() {
  std::error_code failed = opened;
  if (!failed) {
    stream.close();
    failed = stream.error();
    stream.clear_error();
  }
  return failed
             ? llvm::createStringError(failed, "cannot write %s: %s", path.c_str(), failed.message().c_str())
             : llvm::Error::success();
}

llvm::Error writeFile(llvm::StringRef path, llvm::StringRef bytes) {
  FileOutput file(path);
  file.write(bytes);
  return file.close();
}

} // namespace attnc
