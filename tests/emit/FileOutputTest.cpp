//===- FileOutputTest.cpp - disks that are full in the middle --------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Toy.h"

#include "compiler/emit/FileOutput.h"

#include <filesystem>
#include <gtest/gtest.h>

using namespace attnc;

namespace {

/// Writes 9 MiB, which are three blocks, and gives what is wrong.
std::string writeBlocks(const std::string &path) {
  const std::string part(3 << 20, 'a');
  FileOutput file(path);
  for (int i = 0; i < 3; ++i)
    file.write(part);
  return llvm::toString(file.close());
}

std::string writeWithRoomFor(rlim_t room, const std::string &path) {
  const FullDisk disk(room);
  return writeBlocks(path);
}

TEST(FileOutput, AWriteThatFailsIsAnErrorWhereverItIs) {
  const ScratchFolder folder;
  const std::string path = folder.path + "/file";
  for (const rlim_t room : {0, 1, 4 << 20, 5 << 20, (9 << 20) - 1})
    EXPECT_EQ("cannot write " + path + ": File too large", writeWithRoomFor(room, path)) << room;
  EXPECT_EQ("", writeBlocks(path));
  EXPECT_EQ(9u << 20, std::filesystem::file_size(path));
}

} // namespace
