//===- HostileTextTest.cpp - no text crashes the reader --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "tests/spec/MutateText.h"
#include "tests/spec/SpecTesting.h"

#include "gtest/gtest.h"

#include <ctime>

using namespace attnc;
using attnc::tests::printed;
using attnc::tests::smallModel;

namespace {

/// The errors for a text that must be refused.
std::string errorsOf(const std::string &text) {
  Diagnostics diagnostics;
  EXPECT_FALSE(parseSpec("a.yaml", text, {}, diagnostics));
  EXPECT_TRUE(diagnostics.hasErrors());
  return printed(diagnostics);
}

std::string repeated(const std::string &text, unsigned count) {
  std::string result;
  for (unsigned i = 0; i < count; ++i)
    result += text;
  return result;
}

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST(HostileText, DeepNestingIsAnError) {
  constexpr unsigned depth = 100'000;
  EXPECT_HAS(errorsOf("model: " + repeated("[", depth)), "nested deeper than 32");
  EXPECT_HAS(errorsOf("model: " + repeated("{", depth)), "nested deeper than 32");
  EXPECT_HAS(errorsOf("model: " + repeated("[", depth) + repeated("]", depth)), "nested deeper than 32");
  EXPECT_HAS(errorsOf("model: " + repeated("{a: ", depth)), "nested deeper than 32");
  EXPECT_HAS(errorsOf(repeated("- ", depth)), "nested deeper than 32");
  EXPECT_HAS(errorsOf(repeated("? ", depth)), "a.yaml:1:");
  EXPECT_HAS(errorsOf("model: [" + repeated("{", depth)), "nested deeper than 32");
  std::string staircase;
  for (unsigned i = 0; i < 2000; ++i)
    staircase += std::string(i, ' ') + "a:\n";
  EXPECT_HAS(errorsOf(staircase), "nested deeper than 32");
}

TEST(HostileText, AnchorsAndAliasesAreErrors) {
  EXPECT_HAS(errorsOf("a: &x [1]\nb: [*x, *x]\n"), "a.yaml:1:4: error: anchors ('&') are not supported");
  EXPECT_HAS(errorsOf("a: *x\n"), "a.yaml:1:4: error:");
  EXPECT_HAS(errorsOf("<<: &x {a: 1}\n"), "anchors ('&') are not supported");
}

TEST(HostileText, TagsAreErrors) { EXPECT_HAS(errorsOf("a: !!binary aGk=\n"), "tags are not supported"); }

TEST(HostileText, EmptyTextsAreErrors) {
  for (const char *text : {"", "\n\n", "# only a comment\n", "---\n", "~\n"})
    EXPECT_HAS(errorsOf(text), "a.yaml:1:1: error: the file is empty");
}

TEST(HostileText, OtherTopsThanMappingsAreErrors) {
  EXPECT_HAS(errorsOf("[1, 2]\n"), "the file is a mapping, found a list");
  EXPECT_HAS(errorsOf("hello\n"), "the file is a mapping, found 'hello'");
}

TEST(HostileText, SecondDocumentsAreErrors) {
  EXPECT_HAS(errorsOf(smallModel() + "---\na: 1\n"), "a second one starts here");
}

TEST(HostileText, BinaryFilesAreErrors) {
  EXPECT_HAS(errorsOf(std::string("name: \0 x\n", 10)),
             "a.yaml:1:7: error: the file cannot hold control characters: byte 0 (NUL) at offset 6");
  EXPECT_HAS(errorsOf("name: x\nother: \xff\xfe\n"), "a.yaml:2:8: error: this is not UTF-8 text: byte 255");
  EXPECT_HAS(errorsOf("\xfe\xff\0m"), "this is not UTF-8 text");
  EXPECT_HAS(errorsOf("name: \xc0\x80\n"), "this is not UTF-8 text");
  EXPECT_HAS(errorsOf("name: \xed\x95"), "this is not UTF-8 text");
  EXPECT_HAS(errorsOf("name: \xed\xa0\x80\n"), "this is not UTF-8 text");     // a surrogate
  EXPECT_HAS(errorsOf("name: \xf4\x90\x80\x80\n"), "this is not UTF-8 text"); // past U+10FFFF
}

TEST(HostileText, MoreTokensToForbidThanASessionCanHaveAreAnError) {
  std::string ids = "3";
  for (int i = 1; i < 65537; ++i)
    ids += ", 3";
  EXPECT_HAS(errorsOf(smallModel("{random: 1}", "  decoding: {suppress_tokens: [" + ids + "]}\n")),
             "'bad_words_ids' have 65537 entries together; the most is 65536");
}

TEST(HostileText, BracketsThatAreNeverClosedAreNamed) {
  EXPECT_HAS(errorsOf("model: [[[\n"), "a.yaml:1:9: error: '[' is never closed");
  EXPECT_HAS(errorsOf("{name: \"b}\n"), "a.yaml:1:1: error: '{' is never closed");
}

TEST(HostileText, KeysMustBeWords) {
  EXPECT_HAS(errorsOf("? [a]\n: 1\n"), "a key must be a word of up to 1,024 characters, found a list");
  EXPECT_HAS(errorsOf("{a: 1}: 2\n"), "a key must be a word");
  EXPECT_HAS(errorsOf("a: {" + std::string(2000, 'y') + ": 1}\n"),
             "a.yaml:1:5: error: a key must be a word of up to 1,024");
  EXPECT_HAS(errorsOf("~: 2\n"), "a key must be a word of up to 1,024 characters, found nothing");
}

TEST(HostileText, ControlCharactersDoNotReachTheTerminal) {
  std::string errors = errorsOf("\"\\e[31m\": 1\nmodel: 1\n");
  EXPECT_EQ(errors.find('\x1b'), std::string::npos);
  EXPECT_HAS(errors, "'\\x1b[31m' is not a key");
}

TEST(HostileText, SyntaxErrorsHaveAPlace) {
  EXPECT_HAS(errorsOf("model: {width: 8\nheads: 2\n"), "error: this is not YAML:");
}

TEST(HostileText, LongKeysAndManyErrorsAreCut) {
  std::string text = "model:\n";
  for (unsigned i = 0; i < 2000; ++i)
    text += "  key" + std::to_string(i) + std::string(1000, 'x') + ": 1\n";
  EXPECT_LT(errorsOf(text).size(), 100'000u);
}

TEST(HostileText, LongCyclesAreReportedOnce) {
  constexpr unsigned length = 20'000;
  std::string text = "graph:\n  inputs: {x: {shape: [batch, query, width: 4]}}\n  ops:\n    a0: {add: [x, a" +
                     std::to_string(length - 1) + "]}\n";
  for (unsigned i = 1; i < length; ++i)
    text += "    a" + std::to_string(i) + ": {scale: a" + std::to_string(i - 1) + ", by: 2}\n";
  EXPECT_HAS(errorsOf(text + "  outputs: a7\n"), "'a0' depends on itself");
}

TEST(HostileText, ManyDanglingNamesAreRefusedQuickly) {
  std::string text = "graph:\n  inputs: {x: {shape: [batch, query, width: 4]}}\n  ops:\n";
  for (unsigned i = 0; i < 20'000; ++i)
    text += "    v" + std::to_string(i) + ": {scale: missing" + std::to_string(i) + ", by: 2}\n";
  std::clock_t begin = std::clock(); // of this process, whatever else runs
  EXPECT_HAS(errorsOf(text + "  outputs: v7\n"), "'missing0' is not an input, weight or op");
  // A guess for every name takes over a minute, for the hundred that are shown under a second.
  EXPECT_LT((std::clock() - begin) / CLOCKS_PER_SEC, 20);
}

TEST(HostileText, MutatedSpecsAreReadOrRefusedWithAnError) {
  std::mt19937 random(20261121);
  std::vector<std::string> seeds = {
      smallModel("{random: 1}", "  norm: {place: pre, epsilon: 1e-6}\n  positions: {kind: learned}\n")};
  for (const std::filesystem::path &path : tests::ownSpecs())
    seeds.push_back(tests::readFile(path));
  unsigned read = 0, refused = 0;
  for (unsigned i = 0; i < 3000; ++i) {
    Diagnostics diagnostics;
    std::optional<Spec> spec =
        parseSpec("a.yaml", tests::mutated(seeds[i % seeds.size()], random), {"random:1"}, diagnostics);
    EXPECT_NE(spec.has_value(), diagnostics.hasErrors());
    printed(diagnostics);
    ++(spec ? read : refused);
  }
  // Some changes fall into comments or names: both ends must have been reached.
  EXPECT_GT(read, 50u);
  EXPECT_GT(refused, 500u);
}

} // namespace
