//===- Toy.cpp - a bundle's library made by hand ---------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Toy.h"

#include "compiler/emit/FileOutput.h"
#include "compiler/emit/LinkBundle.h"
#include "compiler/emit/LowerEntries.h"
#include "compiler/emit/WriteObject.h"
#include "compiler/emit/shim/EmbeddedFiles.h"
#include "dialect/IR/Attn.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cstdlib>
#include <gtest/gtest.h>

ScratchFolder::ScratchFolder() : path(testing::TempDir() + "attnc-emit-XXXXXX") {
  EXPECT_TRUE(mkdtemp(path.data()));
}

ScratchFolder::~ScratchFolder() { llvm::sys::fs::remove_directories(path); }

ParsedModule::ParsedModule(const std::string &text) : context(mlir::MLIRContext::Threading::DISABLED) {
  context.loadDialect<attn::AttnDialect, mlir::func::FuncDialect>();
  context.getDiagEngine().registerHandler([this](mlir::Diagnostic &found) {
    llvm::raw_string_ostream(errors) << found.getLocation() << ": " << found << "\n";
  });
  module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  EXPECT_TRUE(module) << errors;
}

std::string toyText() { return (*llvm::MemoryBuffer::getFile(TOY_MODULE))->getBuffer().str(); }

void buildToy(const std::string &name, const std::string &folder, const std::string &scratch) {
  ParsedModule parsed(toyText());
  mlir::OwningOpRef<mlir::ModuleOp> lowered = attnc::lowerEntries(*parsed.module, name);
  ASSERT_TRUE(lowered) << parsed.errors;
  attnc::VariantSymbols variant{"x86-64", "", {"toy_linear", "toy_add_heads", "toy_twice"}};
  attnc::addDescriptor(*lowered, *parsed.module, name, variant, "0123456789abcdef0123456789abcdef");
  attnc::LinkJob job{name,
                     {scratch + "/entries.o", scratch + "/carried.a", TOY_KERNELS},
                     {name + "_descriptor"},
                     scratch,
                     folder};
  std::string_view carried = attnc::carriedLibrary();
  ASSERT_EQ(llvm::toString(attnc::writeFile(job.objects[1], {carried.data(), carried.size()})), "");
  ASSERT_EQ(llvm::toString(attnc::writeObject(*lowered, "x86_64-unknown-linux-gnu", job.objects[0])), "");
  ASSERT_EQ(llvm::toString(attnc::linkBundle(job)), "");
}
