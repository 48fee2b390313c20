//===- Located.h - a value and where the spec gives it ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Every field of a spec keeps its line and column, so that later phases can speak of the YAML.

#ifndef ATTNC_SPEC_LOCATED_H
#define ATTNC_SPEC_LOCATED_H

#include <utility>

namespace attnc {

/// A place in the spec, counted from 1 (columns in bytes); line 0 is not a place.
struct Location {
  unsigned line = 0;
  unsigned column = 0;

  bool operator==(const Location &) const = default;
};

/// A field of a spec. A default stands where the mapping that could give it begins.
template <typename T> struct Located {
  T value{};
  Location where;
  bool valid = false; // false after an error was reported: checks pass over it
  bool given = false; // the file says it, no default

  const T &operator*() const { return value; }
  const T *operator->() const { return &value; }
};

} // namespace attnc

#endif // ATTNC_SPEC_LOCATED_H
