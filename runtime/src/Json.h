//===- Json.h - reading JSON that may be hostile -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A JSON value that knows its path, so that every complaint names its place: "entries[2].arena: must be a
// string".

#ifndef ATTNRT_SRC_JSON_H
#define ATTNRT_SRC_JSON_H

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attnrt {

/// Parses `text`, called `what` in messages. Nesting deeper than a bundle needs is a failure.
nlohmann::json parseJson(std::string_view text, const std::string &what);

class JsonReader {
public:
  JsonReader(const nlohmann::json &value, std::string path) : value(value), path(std::move(path)) {}

  bool has(const char *key) const { return value.is_object() && value.contains(key); }
  /// Whether a member is there and not null.
  bool gives(const char *key) const { return has(key) && !value[key].is_null(); }
  /// A member that must be there.
  JsonReader at(const char *key) const;
  /// What messages call a member.
  std::string placeOf(const std::string &key) const { return path + "." + key; }
  /// The elements of an array.
  std::vector<JsonReader> elements() const;

  bool isNull() const { return value.is_null(); }
  bool isEmptyObject() const { return value.is_object() && value.empty(); }
  std::string string() const;
  bool boolean() const;
  double number() const;
  /// A whole number in [low, high].
  int64_t integer(int64_t low, int64_t high) const;
  std::optional<int64_t> integerOrNull(int64_t low, int64_t high) const;
  /// 32 lower-case hexadecimal digits.
  std::string hash() const;
  /// A file name without any folder in it.
  std::string fileName() const;

  /// Throws: `path` and then the message.
  template <typename... Parts> [[noreturn]] void reject(const Parts &...why) const;
  /// The same for what may be right, but not here: ATTNRT_UNSUPPORTED.
  template <typename... Parts> [[noreturn]] void refuse(const Parts &...why) const;

  const nlohmann::json &value;

private:
  std::string path;
};

} // namespace attnrt

#include "Failure.h"

template <typename... Parts> void attnrt::JsonReader::reject(const Parts &...why) const {
  fail(ATTNRT_BAD_BUNDLE, path, ": ", why...);
}

template <typename... Parts> void attnrt::JsonReader::refuse(const Parts &...why) const {
  fail(ATTNRT_UNSUPPORTED, path, ": ", why...);
}

#endif // ATTNRT_SRC_JSON_H
