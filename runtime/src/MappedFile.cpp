//===- MappedFile.cpp - a file as read-only memory --------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "MappedFile.h"
#include "Failure.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace attnrt {
namespace {

/// An open file that closes itself.
struct OpenFile {
  // Not blocking: a FIFO without a writer would hold the caller for ever.
  explicit OpenFile(const std::string &path)
      : descriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    check(descriptor >= 0, ATTNRT_NOT_FOUND, path, ": ", std::strerror(errno));
    struct stat status;
    const bool isFile = fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
    if (!isFile) {
      close(descriptor);
      fail(ATTNRT_NOT_FOUND, path, ": is not a regular file");
    }
    bytes = static_cast<size_t>(status.st_size);
  }
  ~OpenFile() { close(descriptor); }
  OpenFile(const OpenFile &) = delete;
  OpenFile &operator=(const OpenFile &) = delete;

  int descriptor;
  size_t bytes = 0;
};

} // namespace

MappedFile::MappedFile(const std::string &path) {
  const OpenFile file(path);
  if (file.bytes == 0)
    return; // an empty mapping is an error for mmap
  void *mapping = mmap(nullptr, file.bytes, PROT_READ, MAP_PRIVATE, file.descriptor, 0);
  check(mapping != MAP_FAILED, ATTNRT_NOT_FOUND, path, ": cannot be mapped: ", std::strerror(errno));
  madvise(mapping, file.bytes, MADV_HUGEPAGE); // a wish: what is not in memory yet is read into large pages
  begin = static_cast<const char *>(mapping);
  bytes = file.bytes;
}

MappedFile::~MappedFile() {
  if (begin)
    munmap(const_cast<char *>(begin), bytes);
}

std::string readFile(const std::string &path, size_t limit) {
  const OpenFile file(path);
  check(file.bytes <= limit, ATTNRT_BAD_BUNDLE, path, ": is ", file.bytes, " bytes long, more than ", limit);
  std::string content(file.bytes, '\0');
  size_t done = 0;
  while (done < content.size()) {
    const ssize_t got = read(file.descriptor, content.data() + done, content.size() - done);
    if (got < 0 && errno == EINTR)
      continue;
    check(got > 0, ATTNRT_NOT_FOUND, path,
          ": cannot be read: ", got < 0 ? std::strerror(errno) : "it became shorter");
    done += static_cast<size_t>(got);
  }
  return content;
}

} // namespace attnrt
