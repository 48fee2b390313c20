//===- ReferenceTest.cpp - the YAML reference tells the truth --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// docs/yaml-reference.md has one table row for each key that the reader knows, with its type, default and
// constraint, and no others; its examples, and those of pages on architectures, are specs that are read.

#include "compiler/spec/Keys.h"
#include "tests/spec/SpecTesting.h"

#include "gtest/gtest.h"

#include <map>
#include <regex>

using namespace attnc;

namespace {

std::string reference() { return tests::readFile(tests::sourceFolder() / "docs/yaml-reference.md"); }

/// Rows `| `key` | type | default | constraint | meaning |`: the first four cells by key.
std::map<std::string, std::string> rowsOf(const std::string &text) {
  static const std::regex pattern(R"(\| `([A-Za-z0-9_.]+)` \| ([^|]*) \| ([^|]*) \| ([^|]*) \| [^|]+ \|)");
  std::map<std::string, std::string> rows;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    std::smatch match;
    if (!std::regex_match(line, match, pattern))
      continue;
    bool isNew =
        rows.try_emplace(match[1], match.str(2) + " | " + match.str(3) + " | " + match.str(4)).second;
    EXPECT_TRUE(isNew) << match[1] << " has two rows";
  }
  return rows;
}

std::string expectedRow(const KeyRule &rule) {
  std::string fallback = rule.fallback.empty() ? "required" : "`" + std::string(rule.fallback) + "`";
  return typeText(rule) + " | " + fallback + " | " + constraintText(rule);
}

TEST(Reference, HasEveryKeyAsTheReaderKnowsIt) {
  std::map<std::string, std::string> rows = rowsOf(reference());
  for (const KeyRule &rule : keyRules()) {
    auto row = rows.find(std::string(rule.path));
    if (row == rows.end())
      ADD_FAILURE() << "no row: | `" << rule.path << "` | " << expectedRow(rule) << " |";
    else
      EXPECT_EQ(row->second, expectedRow(rule)) << rule.path;
  }
}

TEST(Reference, HasNoKeyThatTheReaderLacks) {
  for (const auto &[path, row] : rowsOf(reference())) {
    bool isKnown = false;
    for (const KeyRule &rule : keyRules())
      isKnown |= rule.path == path;
    EXPECT_TRUE(isKnown) << path;
  }
}

TEST(Reference, HasExamplesThatAreRead) {
  static const std::regex pattern("```yaml\n([^`]*)```");
  std::string text = reference() + tests::readFile(tests::sourceFolder() / "docs/architectures/recurrent.md");
  unsigned count = 0;
  for (std::sregex_iterator example(text.begin(), text.end(), pattern), end; example != end; ++example) {
    Diagnostics diagnostics;
    EXPECT_TRUE(parseSpec("example.yaml", (*example)[1], {"random:1"}, diagnostics))
        << tests::printed(diagnostics);
    ++count;
  }
  EXPECT_GE(count, 2u);
}

/// Each message quoted in the table of errors comes up in a spec of tests/spec/bad, or in a test of
/// importing.
TEST(Reference, QuotesErrorsThatAreTested) {
  std::string tested = tests::readFile(tests::sourceFolder() / "tests/spec/ImportTest.cpp");
  for (const auto &entry : std::filesystem::directory_iterator(tests::sourceFolder() / "tests/spec/bad"))
    if (entry.is_regular_file())
      tested += tests::readFile(entry.path());
  static const std::regex pattern(R"(\| `error: ([^`]*)` \|)");
  std::string text = reference();
  unsigned count = 0;
  for (std::sregex_iterator error(text.begin(), text.end(), pattern), end; error != end; ++error) {
    EXPECT_NE(tested.find((*error)[1]), std::string::npos) << (*error)[1];
    ++count;
  }
  EXPECT_GE(count, 20u);
}

} // namespace
