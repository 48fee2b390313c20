//===- LinkBundleTest.cpp - what a bundle's libraries show to the outside --===//
// SPDX-License-Identifier: Apache-2.0

#include "Toy.h"

#include "compiler/emit/LinkBundle.h"
#include "llvm/Object/Archive.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"

#include <gtest/gtest.h>
#include <set>

using namespace llvm::object;

namespace {

class BundleLibraries : public testing::Test {
protected:
  static void SetUpTestSuite() {
    folder = new ScratchFolder;
    for (std::string name : {"first", "second"})
      buildToy(name, folder->path, folder->path);
  }
  static void TearDownTestSuite() { delete folder; }
  static ScratchFolder *folder;

  static std::string path(const std::string &file) { return folder->path + "/" + file; }

  static void sortSymbols(ObjectFile &object, std::set<std::string> &defined,
                          std::set<std::string> &undefined) {
    for (const SymbolRef &symbol : object.symbols()) {
      uint32_t flags = llvm::cantFail(symbol.getFlags());
      std::string name = llvm::cantFail(symbol.getName()).str();
      if ((flags & SymbolRef::SF_Undefined) && !name.empty())
        undefined.insert(name);
      else if (flags & SymbolRef::SF_Global)
        defined.insert(name);
    }
  }
};

ScratchFolder *BundleLibraries::folder;

const std::set<std::string> exported = {"first_descriptor"};

TEST_F(BundleLibraries, SharedLibraryExportsTheDescriptorOnly) {
  auto library = llvm::cantFail(ObjectFile::createObjectFile(path("libfirst.so")));
  std::set<std::string> names;
  for (const ELFSymbolRef &symbol :
       llvm::cast<ELFObjectFileBase>(library.getBinary())->getDynamicSymbolIterators())
    if (!(llvm::cantFail(symbol.getFlags()) & SymbolRef::SF_Undefined))
      names.insert(llvm::cantFail(symbol.getName()).str());
  EXPECT_EQ(names, exported);
}

TEST_F(BundleLibraries, SharedLibraryNeedsNoOther) {
  auto library = llvm::cantFail(ObjectFile::createObjectFile(path("libfirst.so")));
  const auto *elf = llvm::cast<ELF64LEObjectFile>(library.getBinary());
  for (const auto &entry : llvm::cantFail(elf->getELFFile().dynamicEntries()))
    EXPECT_NE(entry.getTag(), llvm::ELF::DT_NEEDED);
}

TEST_F(BundleLibraries, StaticLibraryNeedsNoAllocatorNorRuntime) {
  auto buffer = std::move(*llvm::MemoryBuffer::getFile(path("libfirst.a")));
  auto archive = llvm::cantFail(Archive::create(*buffer));
  std::set<std::string> defined, undefined;
  llvm::Error error = llvm::Error::success();
  for (const Archive::Child &child : archive->children(error))
    sortSymbols(*llvm::cast<ObjectFile>(llvm::cantFail(child.getAsBinary()).get()), defined, undefined);
  llvm::cantFail(std::move(error));
  EXPECT_EQ(defined, exported);
  undefined.erase("memset"); // entries clear their buffers
  EXPECT_EQ(undefined, std::set<std::string>());
}

TEST_F(BundleLibraries, TwoBundlesLinkIntoOneProgram) {
  std::string linker = *llvm::sys::findProgramByName("ld.lld-22");
  std::string first = path("libfirst.a"), second = path("libsecond.a"), program = path("program.so");
  llvm::StringRef arguments[] = {linker, "-shared", "--whole-archive", first, second, "-o", program};
  EXPECT_EQ(llvm::sys::ExecuteAndWait(linker, arguments), 0);
}

TEST_F(BundleLibraries, AreTheSameByteForByteWhenMadeAgain) {
  ScratchFolder again;
  buildToy("first", again.path, again.path);
  for (std::string file : {"/libfirst.so", "/libfirst.a"}) {
    auto one = llvm::MemoryBuffer::getFile(folder->path + file),
         other = llvm::MemoryBuffer::getFile(again.path + file);
    EXPECT_TRUE((*one)->getBuffer() == (*other)->getBuffer()) << file;
  }
}

TEST_F(BundleLibraries, AFunctionThatNobodyHasIsAnError) {
  ScratchFolder scratch;
  attnc::LinkJob job{"lonely", {TOY_KERNELS}, {"toy_linear"}, scratch.path, scratch.path};
  std::string message = llvm::toString(attnc::linkBundle(job));
  EXPECT_NE(message.find("functions that a bundle does not have: halide_do_par_for"), std::string::npos)
      << message;
}

} // namespace
