//===- Memory.h - a session's large blocks -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#ifndef ATTNRT_SRC_MEMORY_H
#define ATTNRT_SRC_MEMORY_H

#include "Failure.h"

#include <cstdint>
#include <sys/mman.h>
#include <utility>

namespace attnrt {

/// Zeroed pages, aligned far beyond 64 bytes. A page costs nothing until it is written, so capacity that is
/// not used is free.
class Memory {
public:
  Memory() = default;
  explicit Memory(int64_t wanted) : bytes(wanted > 0 ? static_cast<size_t>(wanted) : 0) {
    void *mapping = mmap(nullptr, mappedBytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check(mapping != MAP_FAILED, ATTNRT_OUT_OF_MEMORY, "no memory for ", bytes, " bytes");
    begin = static_cast<char *>(mapping);
  }
  ~Memory() {
    if (begin)
      munmap(begin, mappedBytes());
  }
  Memory(Memory &&other) noexcept { *this = std::move(other); }
  Memory &operator=(Memory &&other) noexcept {
    std::swap(begin, other.begin);
    std::swap(bytes, other.bytes);
    return *this;
  }

  char *data() const { return begin; }
  template <typename Element> Element *as() const { return reinterpret_cast<Element *>(begin); }
  size_t size() const { return bytes; }

private:
  size_t mappedBytes() const { return bytes > 0 ? bytes : 1; } // no mapping is empty

  char *begin = nullptr;
  size_t bytes = 0;
};

} // namespace attnrt

#endif // ATTNRT_SRC_MEMORY_H
