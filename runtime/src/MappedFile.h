//===- MappedFile.h - a file as read-only memory ----------------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ATTNRT_SRC_MAPPEDFILE_H
#define ATTNRT_SRC_MAPPEDFILE_H

#include <string>
#include <string_view>

namespace attnrt {

/// Pages are shared by all who map the file, in this process and others.
class MappedFile {
public:
  explicit MappedFile(const std::string &path);
  ~MappedFile();
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;

  std::string_view content() const { return {begin, bytes}; }

private:
  const char *begin = nullptr;
  size_t bytes = 0;
};

/// The whole of a small file; more than `limit` bytes are a failure.
std::string readFile(const std::string &path, size_t limit);

} // namespace attnrt

#endif // ATTNRT_SRC_MAPPEDFILE_H
