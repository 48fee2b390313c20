//===- LowerDescriptor.cpp - the bundle's descriptor as data ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Builds `const attnrt_descriptor BUNDLE_descriptor` and the tables it points to.

#include "attnrt/bundle.h"
#include "compiler/emit/BinaryInterface.h"
#include "compiler/emit/LowerEntries.h"
#include "compiler/emit/PlannedModule.h"

using namespace mlir;

namespace attnc {
namespace {

class DescriptorWriter {
public:
  DescriptorWriter(ModuleOp lowered, StringRef bundle)
      : builder(OpBuilder::atBlockEnd(lowered.getBody())), types(builder.getContext()), loc(lowered.getLoc()),
        bundle(bundle) {}

  void write(const PlannedModule &planned, ArrayRef<VariantSymbols> variants, StringRef manifestHash) {
    std::vector<std::string> variantTables;
    for (const VariantSymbols &variant : variants)
      variantTables.push_back(kernelTable(variant));
    LLVM::LLVMArrayType entryArray = LLVM::LLVMArrayType::get(types.entry, planned.entries.size());
    LLVM::LLVMArrayType variantArray = LLVM::LLVMArrayType::get(types.variant, variants.size());
    for (const PlannedEntry &entry : planned.entries)
      text(entry.name);
    for (const VariantSymbols &variant : variants) {
      text(variant.name);
      text(variant.features);
    }
    std::string entries = table("entries", entryArray, [&](Value array) {
      for (auto [i, entry] : llvm::enumerate(planned.entries)) {
        array = fill(array, i,
                     {text(entry.name), symbol("run." + entry.name), symbol("arena_bytes." + entry.name)});
      }
      return array;
    });
    std::string variantList = table("variants", variantArray, [&](Value array) {
      for (auto [i, variant] : llvm::enumerate(variants))
        array = fill(array, i, {text(variant.name), text(variant.features), variantTables[i]});
      return array;
    });
    text(bundle.str());
    text(manifestHash.str());
    descriptor({ATTNRT_ABI_VERSION, static_cast<int64_t>(planned.entries.size()),
                static_cast<int64_t>(variants.size()), static_cast<int64_t>(planned.kernels.size())},
               {text(bundle.str()), entries, variantList, symbol("state_bytes"), text(manifestHash.str())});
  }

private:
  OpBuilder builder;
  InterfaceTypes types;
  mlir::Location loc;
  StringRef bundle;
  std::map<std::string, std::string> texts; // from content to symbol

  std::string symbol(const std::string &name) { return localSymbol(bundle, name); }

  /// Symbol of a C string. The first call with a content creates it, so it must not be inside a table.
  std::string text(const std::string &content) {
    auto [known, isNew] = texts.try_emplace(content, symbol("text." + std::to_string(texts.size())));
    if (isNew) {
      std::string bytes = content + '\0';
      LLVM::GlobalOp::create(builder, loc, LLVM::LLVMArrayType::get(types.int8, bytes.size()),
                             /*isConstant=*/true, LLVM::Linkage::Internal, known->second,
                             builder.getStringAttr(bytes));
    }
    return known->second;
  }

  /// A constant whose initializer `fill` builds from an undefined value.
  template <typename Fill>
  std::string constant(const std::string &name, Type type, LLVM::Linkage linkage, Fill fill) {
    auto global = LLVM::GlobalOp::create(builder, loc, type, /*isConstant=*/true, linkage, name, Attribute());
    OpBuilder::InsertionGuard guard(builder);
    builder.createBlock(&global.getInitializerRegion());
    Value value = fill(LLVM::UndefOp::create(builder, loc, type));
    LLVM::ReturnOp::create(builder, loc, value);
    return name;
  }
  template <typename Fill> std::string table(const std::string &name, Type type, Fill fill) {
    return constant(symbol(name), type, LLVM::Linkage::Internal, fill);
  }

  Value addressOf(const std::string &name) {
    return LLVM::AddressOfOp::create(builder, loc, types.pointer, name);
  }
  Value insert(Value into, Value value, ArrayRef<int64_t> where) {
    return LLVM::InsertValueOp::create(builder, loc, into, value, where);
  }
  Value fill(Value array, int64_t index, ArrayRef<std::string> pointers) {
    for (auto [field, name] : llvm::enumerate(pointers))
      array = insert(array, addressOf(name), {index, static_cast<int64_t>(field)});
    return array;
  }

  /// Table of a variant's kernels, which are in objects of their own.
  std::string kernelTable(const VariantSymbols &variant) {
    std::vector<Type> buffers; // the table holds addresses only, so the parameters do not matter
    auto type = LLVM::LLVMFunctionType::get(types.int32, buffers);
    for (const std::string &kernel : variant.kernels)
      LLVM::LLVMFuncOp::create(builder, loc, kernel, type);
    auto array = LLVM::LLVMArrayType::get(types.pointer, variant.kernels.size());
    std::string name = "kernels." + std::to_string(tables++);
    return table(name, array, [&](Value value) {
      for (auto [i, kernel] : llvm::enumerate(variant.kernels))
        value = insert(value, addressOf(kernel), static_cast<int64_t>(i));
      return value;
    });
  }
  int tables = 0;

  void descriptor(ArrayRef<int64_t> numbers, ArrayRef<std::string> pointers) {
    constant((bundle + "_descriptor").str(), types.descriptor, LLVM::Linkage::External, [&](Value value) {
      for (auto [i, number] : llvm::enumerate(numbers))
        value = insert(value,
                       LLVM::ConstantOp::create(builder, loc, types.int32, builder.getI32IntegerAttr(number)),
                       static_cast<int64_t>(i));
      for (auto [i, name] : llvm::enumerate(pointers))
        value = insert(value, addressOf(name), static_cast<int64_t>(numbers.size() + i));
      return value;
    });
  }
};

} // namespace

void addDescriptor(ModuleOp lowered, ModuleOp planned, StringRef bundle, ArrayRef<VariantSymbols> variants,
                   StringRef manifestHash) {
  FailureOr<PlannedModule> read = readPlannedModule(planned);
  assert(succeeded(read) && "lowerEntries has read it before");
  DescriptorWriter(lowered, bundle).write(*read, variants, manifestHash);
}

} // namespace attnc
