//===- attnc-opt.cpp - runs single passes on attn IR --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// mlir-opt for the attn dialect: each pass alone, or all of them up to a phase (`--attn-fused`).

#include "dialect/IR/Attn.h"
#include "dialect/Transforms/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<attn::AttnDialect, mlir::func::FuncDialect>();
  registry.insert<mlir::LLVM::LLVMDialect>(); // reads what `attnc compile --emit=llvm` prints
  attn::registerAttnPasses();
  attn::registerAttnPipelines();
  mlir::registerCanonicalizerPass(); // shows the folds
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "attnc-opt: the passes of attnc\n", registry));
}
