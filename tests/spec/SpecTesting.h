//===- SpecTesting.h - what the tests of specs share -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Specs as text, files of the project, and errors as text.

#ifndef ATTNC_TESTS_SPEC_SPECTESTING_H
#define ATTNC_TESTS_SPEC_SPECTESTING_H

#include "compiler/spec/ReadSpec.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace attnc::tests {

/// A model of two small layers with `more` keys in its `model:`.
inline std::string smallModel(const std::string &weights = "{random: 1}", const std::string &more = "") {
  return "weights: " + weights +
         "\nmodel:\n"
         "  kind: encoder_decoder\n"
         "  width: 8\n"
         "  heads: 2\n"
         "  encoder: {layers: 1}\n"
         "  decoder: {layers: 1}\n"
         "  feed_forward: {width: 16}\n"
         "  vocabulary: {source: 20, target: 30}\n"
         "  tokens: {start: 1, end: 2}\n" +
         more;
}

inline std::string readFile(const std::filesystem::path &path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

inline std::filesystem::path sourceFolder() { return ATTNC_SOURCE_DIR; }

/// The project's own specs.
inline std::vector<std::filesystem::path> ownSpecs() {
  std::vector<std::filesystem::path> paths;
  for (const char *folder : {"tests/end-to-end/specs", "examples/textbook", "examples/one-kernel"})
    for (const auto &entry : std::filesystem::directory_iterator(sourceFolder() / folder))
      if (entry.path().extension() == ".yaml")
        paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

/// Everything that `diagnostics` prints.
inline std::string printed(const Diagnostics &diagnostics) {
  std::ostringstream out;
  diagnostics.print(out);
  return out.str();
}

/// A folder that is removed at the end of the test.
class TemporaryFolder {
public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "attnc-spec-XXXXXX").string();
    folder = ::mkdtemp(name.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(folder); }

  /// Writes a file into the folder and returns its path.
  std::string write(const std::string &name, const std::string &content) const {
    std::ofstream(folder / name, std::ios::binary) << content;
    return (folder / name).string();
  }
  std::string path() const { return folder.string(); }

private:
  std::filesystem::path folder;
};

} // namespace attnc::tests

#endif // ATTNC_TESTS_SPEC_SPECTESTING_H
