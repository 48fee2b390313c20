//===- SpecText.h - a spec as a person would write it ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Collects keys and prints them as YAML in the order of the reference, defaults left out.

#ifndef ATTNC_HUGGINGFACE_SPECTEXT_H
#define ATTNC_HUGGINGFACE_SPECTEXT_H

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace attnc {

class SpecText {
public:
  /// Sets the key at `path` (`model.norm.place`), which the reference must have. `value` is a word or another
  /// YAML value; the default of the key is left out. `comment` follows on the same line.
  void set(std::string_view path, std::string value, std::string comment = {});
  void set(std::string_view path, const char *value, std::string comment = {}) {
    set(path, std::string(value), std::move(comment));
  }
  void set(std::string_view path, int64_t value, std::string comment = {});
  void set(std::string_view path, double value, std::string comment = {});
  void set(std::string_view path, bool value, std::string comment = {});
  /// The same for a text that may hold anything: a file's name, a pattern.
  void setText(std::string_view path, std::string_view value, std::string comment = {});
  /// Sets the key even where its default is the same.
  void setAlways(std::string_view path, std::string value, std::string comment = {});

  std::string print() const;

private:
  struct Field {
    std::string value, comment;
  };
  std::map<size_t, Field> fields; // by the key's place in the reference
};

} // namespace attnc

#endif // ATTNC_HUGGINGFACE_SPECTEXT_H
