//===- BinaryInterface.cpp - C structures as LLVM types --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "compiler/emit/BinaryInterface.h"

using namespace mlir;

namespace attnc {

InterfaceTypes::InterfaceTypes(MLIRContext *context) {
  pointer = LLVM::LLVMPointerType::get(context);
  int8 = IntegerType::get(context, 8);
  int16 = IntegerType::get(context, 16);
  int32 = IntegerType::get(context, 32);
  int64 = IntegerType::get(context, 64);
  auto structure = [&](ArrayRef<Type> fields) { return LLVM::LLVMStructType::getLiteral(context, fields); };
  invocation = structure(SmallVector<Type>(7, pointer));
  kernelContext = structure({pointer, pointer, pointer});
  axis = structure({int32, int32, int32, int32});
  LLVM::LLVMStructType element = structure({int8, int8, int16}); // halide_type_t: code, bits, lanes
  buffer = structure({int64, pointer, pointer, int64, element, int32, pointer, pointer});
  entry = structure({pointer, pointer, pointer});
  variant = structure({pointer, pointer, pointer});
  descriptor = structure({int32, int32, int32, int32, pointer, pointer, pointer, pointer, pointer});
}

} // namespace attnc
