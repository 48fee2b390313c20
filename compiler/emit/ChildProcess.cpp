//===- ChildProcess.cpp - a program run to its end -------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/emit/ChildProcess.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"

#include <sys/mman.h>
#include <unistd.h>

using llvm::StringRef;

namespace attnc {

std::string thisProgram() {
  static int address; // anything inside this program tells where it is
  return llvm::sys::fs::getMainExecutable("attnc", &address);
}

ChildResult runChild(StringRef program, llvm::ArrayRef<std::string> arguments) {
  ChildResult result;
  int memory = memfd_create("attnc-child", MFD_CLOEXEC);
  std::string output = "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(memory);
  if (memory < 0)
    output = ""; // the null device: an exit code is better than nothing
  std::vector<StringRef> words = {program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::optional<StringRef> redirects[] = {StringRef(""), StringRef(output), StringRef(output)};
  result.code = llvm::sys::ExecuteAndWait(program, words, std::nullopt, redirects, /*SecondsToWait=*/0,
                                          /*MemoryLimit=*/0, &result.reason);
  result.crashed = result.code == -2; // as ExecuteAndWait documents
  if (memory < 0)
    return result;
  if (auto text = llvm::MemoryBuffer::getFile(output, /*IsText=*/false, /*RequiresNullTerminator=*/false,
                                              /*IsVolatile=*/true))
    result.output = (*text)->getBuffer().trim().str();
  close(memory);
  return result;
}

} // namespace attnc
