//===- AttnDialect.td - the attn dialect ------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Declares the dialect; its attributes, interfaces and operations stand in the files beside this one.

#ifndef ATTN_DIALECT
#define ATTN_DIALECT

include "mlir/IR/OpBase.td"

def Attn_Dialect : Dialect {
  let name = "attn";
  let cppNamespace = "::attn";
  let summary = "Attention graphs: unfused as the textbook has them, then fused, outlined and planned";
  let description = [{
    Values are ranked tensors whose axes are named by an encoding, `#attn.axes<batch, source, width>`. A dynamic
    axis is a *size*: two dynamic axes of one name have one extent. Axes come in the order batch, head, query,
    key, width.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let dependentDialects = ["::mlir::func::FuncDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
  let extraClassDeclaration = [{ void registerAttributes(); }];
}

#endif // ATTN_DIALECT
