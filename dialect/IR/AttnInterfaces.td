//===- AttnInterfaces.td - what a pass may ask of an operation ---------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// How an operation acts along the query axis, and how it says so when the step is derived from decode.

#ifndef ATTN_INTERFACES
#define ATTN_INTERFACES

include "mlir/IR/OpBase.td"

def Attn_QueryAxisInterface : OpInterface<"QueryAxisInterface"> {
  let cppNamespace = "::attn";
  let description = [{
    Says how results at one query position depend on the operands' positions, and builds the operation for one
    new position (the step). An op without the interface acts row by row and is cloned with inferred types.
  }];
  let methods = [
    InterfaceMethod<[{Row by row, causal (earlier positions only), recurrent, or mixing (any position).}],
      "::attn::QueryBehaviour", "getQueryBehaviour">,
    InterfaceMethod<[{
        Builds this op for one new position. Operands of the step are looked up in `step`; caches, positions and
        the ancestor table come from it. Returns failure after a located error.
      }],
      "::llvm::LogicalResult", "buildStep", (ins "::attn::StepBuilder &":$step)>,
  ];
}

#endif // ATTN_INTERFACES
