//===- KernelCacheTest.cpp - kernels that are not compiled twice -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "Toy.h"

#include "compiler/emit/CompileKernels.h"
#include "compiler/emit/FileOutput.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

#include <algorithm>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/stat.h>

using namespace attnc;

namespace {

const KernelRequest request = {"attn.kernel @twice {}", "x86-64-linux", "", "kernel.twice.x86_64"};

std::string contentOf(const std::string &path) {
  return (*llvm::MemoryBuffer::getFile(path))->getBuffer().str();
}

/// A cache in a folder of its own.
struct TestCache {
  const ScratchFolder folder;
  const std::string path = folder.path + "/some/where";
  const KernelCache cache = llvm::cantFail(KernelCache::open(path));

  /// The one file that was kept.
  std::string file() const {
    std::vector<std::string> files;
    for (const auto &entry : std::filesystem::directory_iterator(path))
      files.push_back(entry.path());
    EXPECT_EQ(1u, files.size());
    return files.at(0);
  }
};

TEST(KernelCache, FindsWhatWasKeptAndNothingElse) {
  const TestCache test;
  EXPECT_FALSE(test.cache.find(request));
  for (const bool isTuned : {true, false}) {
    test.cache.keep(request, {std::string("object\0code", 11), isTuned});
    const std::optional<CompiledKernel> found = llvm::cantFail(KernelCache::open(test.path)).find(request);
    ASSERT_TRUE(found);
    EXPECT_EQ(std::string("object\0code", 11), found->object);
    EXPECT_EQ(isTuned, found->isTuned);
  }
  for (auto part :
       {&KernelRequest::text, &KernelRequest::target, &KernelRequest::schedule, &KernelRequest::symbol}) {
    KernelRequest other = request;
    other.*part = "another";
    EXPECT_FALSE(test.cache.find(other));
  }
  KernelRequest shifted = request; // the same characters in other parts
  shifted.target = "x86-64-linuxk";
  shifted.symbol = request.symbol.drop_front();
  EXPECT_FALSE(test.cache.find(shifted));
}

TEST(KernelCache, DamagedFilesAreNotFound) {
  const TestCache test;
  test.cache.keep(request, {"object", false});
  const std::string file = test.file(), whole = contentOf(file);
  for (size_t length = 0; length < whole.size(); ++length) {
    llvm::cantFail(writeFile(file, whole.substr(0, length)));
    EXPECT_FALSE(test.cache.find(request)) << length << " bytes";
  }
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] ^= 1;
    llvm::cantFail(writeFile(file, damaged));
    EXPECT_FALSE(test.cache.find(request)) << "byte " << at;
  }
  test.cache.keep(request, {"object", false});
  EXPECT_TRUE(test.cache.find(request));
}

TEST(KernelCache, AFolderThatCannotBeIsAnError) {
  const ScratchFolder folder;
  const std::string file = folder.path + "/file";
  llvm::cantFail(writeFile(file, "text"));
  llvm::Expected<KernelCache> cache = KernelCache::open(file);
  EXPECT_EQ("cannot make the folder of the cache, " + file + ": Not a directory",
            llvm::toString(cache.takeError()));
}

TEST(KernelCache, WhatCannotBeKeptIsNotFoundAndLeavesNothing) {
  const TestCache test;
  for (const rlim_t room : {0, 10, 40}) {
    const FullDisk disk(room);
    test.cache.keep(request, {std::string(100, 'a'), false});
    EXPECT_FALSE(test.cache.find(request));
    EXPECT_TRUE(std::filesystem::is_empty(test.path));
  }
  std::filesystem::remove(test.path);
  test.cache.keep(request, {"object", false});
  EXPECT_FALSE(test.cache.find(request));
  EXPECT_FALSE(std::filesystem::exists(test.path));
}

TEST(KernelCache, WhatNobodyAskedForInFourWeeksGoes) {
  const TestCache test;
  KernelRequest other = request;
  other.target = "avx2";
  for (const KernelRequest &each : {request, other})
    test.cache.keep(each, {"object", false});
  const timespec fiveWeeksAgo = {time(nullptr) - 5 * 7 * 24 * 3600, 0},
                 times[] = {fiveWeeksAgo, fiveWeeksAgo};
  for (const auto &file : std::filesystem::directory_iterator(test.path))
    ASSERT_EQ(0, utimensat(AT_FDCWD, file.path().c_str(), times, 0));
  EXPECT_TRUE(test.cache.find(other));
  test.cache.prune();
  EXPECT_FALSE(test.cache.find(request));
  EXPECT_TRUE(test.cache.find(other));
}

/// A program that counts its calls, and gives each kernel the same object and exit code 3 or 0.
struct CountingCompiler {
  explicit CountingCompiler(const std::string &folder, int exitCode)
      : calls(folder + "/calls"), path(folder + "/compiler") {
    std::ofstream(path) << "#!/bin/sh\necho >>" << calls << "\ncp " << TOY_KERNELS << " \"${8}\"\nexit "
                        << exitCode << "\n";
    chmod(path.c_str(), 0755);
  }
  size_t count() const {
    const std::string lines = std::filesystem::exists(calls) ? contentOf(calls) : "";
    return std::count(lines.begin(), lines.end(), '\n');
  }
  const std::string calls, path;
};

TEST(CompileKernels, AKernelInTheCacheIsNotCompiledAgain) {
  for (const int exitCode : {0, TunedExitCode}) {
    const TestCache test;
    const CountingCompiler program(test.folder.path, exitCode);
    ParsedModule parsed(toyText());
    const std::vector<CpuVariant> variants = llvm::cantFail(parseTargets("x86-64,avx2"));
    const KernelCompiler compiler = {
        program.path, {}, [](const KernelObject &, size_t, size_t) {}, &test.cache};
    for (const char *scratch : {"/first", "/second"}) {
      const std::string folder = test.folder.path + scratch;
      std::filesystem::create_directory(folder);
      std::vector<KernelObject> objects =
          llvm::cantFail(compileKernels(*parsed.module, variants, compiler, folder));
      EXPECT_EQ(6u, objects.size());
      EXPECT_EQ(6u, program.count()) << scratch;
      for (const KernelObject &object : objects) {
        EXPECT_EQ(contentOf(TOY_KERNELS), contentOf(object.path));
        EXPECT_EQ(exitCode == TunedExitCode, object.isTuned);
      }
    }
  }
}

} // namespace
