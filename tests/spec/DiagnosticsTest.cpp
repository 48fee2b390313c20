//===- DiagnosticsTest.cpp - how errors look -------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "tests/spec/SpecTesting.h"

#include "gtest/gtest.h"

using namespace attnc;
using attnc::tests::printed;

namespace {

TEST(PrintedErrors, ShowTheLineWithACaretAndNotesAfterIt) {
  Diagnostics diagnostics;
  std::string text = tests::smallModel();
  text.replace(text.find("width: 8"), 8, "width: 500");
  text.replace(text.find("heads: 2"), 8, "heads: 8");
  EXPECT_FALSE(parseSpec("model.yaml", text, {}, diagnostics));
  EXPECT_EQ(printed(diagnostics),
            "model.yaml:4:10: error: 'width' is 500, which 'heads' (8) does not divide\n"
            "  width: 500\n"
            "         ^\n"
            "model.yaml:5:10: note: 'heads' is set here\n");
}

TEST(PrintedErrors, ComeInTheOrderOfTheFile) {
  Diagnostics diagnostics;
  diagnostics.setSource("a.yaml", "one\ntwo\n");
  diagnostics.error({2, 1}, "second");
  diagnostics.note({1, 1}, "of the second");
  diagnostics.error({1, 2}, "first");
  EXPECT_EQ(printed(diagnostics), "a.yaml:1:2: error: first\none\n ^\n"
                                  "a.yaml:2:1: error: second\ntwo\n^\na.yaml:1:1: note: of the second\n");
}

TEST(PrintedErrors, PutTheCaretUnderCharactersNotBytes) {
  Diagnostics diagnostics;
  diagnostics.setSource("a.yaml", "\xed\x95\x9c: x\n"); // one letter of three bytes
  diagnostics.error({1, 6}, "here");
  EXPECT_EQ(printed(diagnostics), "a.yaml:1:6: error: here\n\xed\x95\x9c: x\n   ^\n");
}

TEST(PrintedErrors, CutLongLines) {
  Diagnostics diagnostics;
  diagnostics.setSource("a.yaml", std::string(5000, 'x'));
  diagnostics.error({1, 2500}, "here");
  EXPECT_LT(printed(diagnostics).size(), 400u);
}

TEST(PrintedErrors, QuoteNoControlCharacters) {
  Diagnostics diagnostics;
  diagnostics.setSource("a.yaml", "a: \x1b[31mred\x7f");
  diagnostics.error({1, 4}, "found '\x1b[31m'");
  EXPECT_EQ(printed(diagnostics), "a.yaml:1:4: error: found '?[31m'\na: ?[31mred?\n   ^\n");
}

TEST(PrintedErrors, QuoteNoBytesThatAreNoText) {
  Diagnostics diagnostics;
  diagnostics.setSource("a.yaml", "a: \xff\xed\x95\x9c\xe2\x82");
  diagnostics.error({1, 4}, "found it");
  EXPECT_EQ(printed(diagnostics), "a.yaml:1:4: error: found it\na: ?\xed\x95\x9c??\n   ^\n");
}

TEST(PrintedErrors, StopAfterAHundred) {
  Diagnostics diagnostics;
  for (unsigned i = 0; i < 1000; ++i)
    diagnostics.error({}, "again");
  EXPECT_EQ(diagnostics.all().size(), 101u);
  EXPECT_TRUE(diagnostics.hasErrors());
}

TEST(PrintedErrors, NameAFileThatIsNotThere) {
  Diagnostics diagnostics;
  EXPECT_FALSE(loadSpec("no-such.yaml", {}, diagnostics));
  EXPECT_EQ(printed(diagnostics), "no-such.yaml: error: cannot read the spec: No such file or directory\n");
}

TEST(PrintedErrors, RefuseAFileWithoutAnEnd) {
  Diagnostics diagnostics;
  EXPECT_FALSE(loadSpec("/dev/zero", {}, diagnostics));
  EXPECT_EQ(printed(diagnostics), "/dev/zero: error: the file has more than 16777216 bytes\n");
}

TEST(PrintedErrors, RefuseAFolder) {
  Diagnostics diagnostics;
  EXPECT_FALSE(loadSpec("/", {}, diagnostics));
  EXPECT_EQ(printed(diagnostics), "/: error: this is a folder, no spec\n");
}

} // namespace
