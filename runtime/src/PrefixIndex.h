//===- PrefixIndex.h - which of many strings a text begins with --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A sorted list stands for a trie: each byte of the text narrows the range of strings that still agree.

#ifndef ATTNRT_SRC_PREFIXINDEX_H
#define ATTNRT_SRC_PREFIXINDEX_H

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace attnrt {

class PrefixIndex {
public:
  struct Entry {
    std::string key;
    uint32_t value;
  };

  PrefixIndex() = default;
  /// Of equal keys the last one counts. Empty keys are left out.
  explicit PrefixIndex(std::vector<Entry> given) : entries(std::move(given)) {
    std::reverse(entries.begin(), entries.end());
    std::stable_sort(entries.begin(), entries.end(),
                     [](const Entry &a, const Entry &b) { return a.key < b.key; });
    const auto last = std::unique(entries.begin(), entries.end(),
                                  [](const Entry &a, const Entry &b) { return a.key == b.key; });
    entries.erase(last, entries.end());
    if (!entries.empty() && entries.front().key.empty())
      entries.erase(entries.begin());
  }

  /// Calls visit(length, value) for each key that `text` begins with, the shortest first.
  template <typename Visit> void forEachPrefix(std::string_view text, Visit visit) const {
    auto low = entries.begin(), high = entries.end();
    for (size_t depth = 0; depth < text.size() && low != high; ++depth) {
      // Keys of the range agree in `depth` bytes; one that ends there was visited and passed over.
      const auto wanted = static_cast<unsigned char>(text[depth]);
      const auto byteOf = [&](const Entry &entry) { return static_cast<unsigned char>(entry.key[depth]); };
      low = std::partition_point(low, high, [&](const Entry &entry) { return byteOf(entry) < wanted; });
      high = std::partition_point(low, high, [&](const Entry &entry) { return byteOf(entry) == wanted; });
      if (low != high && low->key.size() == depth + 1) {
        visit(depth + 1, low->value);
        ++low;
      }
    }
  }

private:
  std::vector<Entry> entries;
};

} // namespace attnrt

#endif // ATTNRT_SRC_PREFIXINDEX_H
