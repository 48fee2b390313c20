//===- BadSpecsTest.cpp - each mistake gives its error at its line ---------===//
// SPDX-License-Identifier: Apache-2.0
//
// The files in `bad/` say in comments which errors they expect: `# expected-error @below {{part of the
// message}}`, and `expected-note`; `@here` means the comment's own line. Every error must be expected.

#include "tests/spec/SpecTesting.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <regex>

using namespace attnc;

namespace {

struct Expectation {
  Severity severity;
  unsigned line;
  std::string text;
};

/// Comments may follow each other; `@below` means the first line that is not a comment.
std::vector<Expectation> expectationsOf(const std::string &text) {
  static const std::regex pattern(R"(# expected-(error|note) @(below|here) \{\{(.*)\}\})");
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    lines.push_back(line);
  auto isComment = [&](size_t i) { return lines[i].find_first_not_of(' ') == lines[i].find('#'); };
  std::vector<Expectation> expectations;
  for (size_t i = 0; i < lines.size(); ++i) {
    std::smatch match;
    if (!std::regex_search(lines[i], match, pattern))
      continue;
    size_t line = i;
    while (match[2] == "below" && line + 1 < lines.size() && isComment(line))
      ++line;
    expectations.push_back(
        {match[1] == "error" ? Severity::Error : Severity::Note, unsigned(line) + 1, match[3]});
  }
  return expectations;
}

bool matches(const Expectation &expectation, const Diagnostic &diagnostic) {
  return expectation.severity == diagnostic.severity && expectation.line == diagnostic.where.line &&
         diagnostic.message.find(expectation.text) != std::string::npos;
}

class BadSpecs : public ::testing::TestWithParam<std::filesystem::path> {};

std::vector<std::filesystem::path> badSpecs() {
  std::vector<std::filesystem::path> paths;
  for (const auto &entry : std::filesystem::directory_iterator(tests::sourceFolder() / "tests/spec/bad"))
    if (entry.path().extension() == ".yaml")
      paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

TEST_P(BadSpecs, GiveTheExpectedErrors) {
  std::string text = tests::readFile(GetParam());
  std::vector<Expectation> expectations = expectationsOf(text);
  ASSERT_FALSE(expectations.empty());
  Diagnostics diagnostics;
  EXPECT_FALSE(loadSpec(GetParam().string(), {}, diagnostics));
  for (const Expectation &expectation : expectations)
    EXPECT_TRUE(std::any_of(diagnostics.all().begin(), diagnostics.all().end(),
                            [&](const Diagnostic &found) { return matches(expectation, found); }))
        << "line " << expectation.line << " lacks: " << expectation.text << "\n"
        << tests::printed(diagnostics);
  for (const Diagnostic &found : diagnostics.all()) {
    bool isExpected =
        std::any_of(expectations.begin(), expectations.end(),
                    [&](const Expectation &expectation) { return matches(expectation, found); });
    EXPECT_TRUE(isExpected || found.severity == Severity::Note)
        << "line " << found.where.line << ":" << found.where.column << " has too much: " << found.message;
  }
}

INSTANTIATE_TEST_SUITE_P(Files, BadSpecs, ::testing::ValuesIn(badSpecs()), [](const auto &info) {
  std::string name = info.param.stem().string();
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

} // namespace
